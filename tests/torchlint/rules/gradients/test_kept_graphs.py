"""106: a sum of what came out of modules keeps graphs where one of these may learn."""

from types import SimpleNamespace

import pytest

from torchlint.dryrun.values import Opaque
from torchlint.rules.gradients.loss_keeps_graph import _may_learn

BANK, MODEL = Opaque("julius.SplitBands", "call"), Opaque("model", "param")


@pytest.mark.parametrize(("trained", "called", "may"), [
    ((MODEL,), BANK, False),
    ((BANK, MODEL), BANK, True),
    ((MODEL,), MODEL, True),
    ((MODEL,), Opaque("make_bank", "call"), True),
    ((), BANK, True),
], ids=["what nobody trains", "what is trained", "the model", "what the project makes", "no optimizer in view"])
def test_a_graph_begins_where_something_may_learn(trained, called, may):
    made = [SimpleNamespace(modules=trained)] if trained else []
    view = SimpleNamespace(of=lambda kind: made, related_modules=lambda one, other: one is other)
    assert _may_learn(view, SimpleNamespace(subject=called)) is may
