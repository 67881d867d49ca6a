"""901 of torch.load without `weights_only`, by the releases that a project admits."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, RULES, found
from torchlint.engine import Engine

LOADS = IMPORTS + "def go(net, path):\n    net.load_state_dict(torch.load(path))\n"


@pytest.mark.parametrize(("lowest", "newest", "told"), [
    ((0, 4), (0, 4), False),
    ((1, 12), (1, 12), False),
    ((1, 12), (2, 1), True),
    ((1, 13), (1, 13), True),
    ((1, 2), (2, 13), True),
    ((2, 6), (2, 13), False),
])
def test_what_has_no_such_argument_is_not_told_to_give_it(lowest, newest, told):
    judge = Engine(RULES, torch_version=lowest, newest=[("torch", newest)] if newest else [])
    assert [number for _, number in found(LOADS, judge=judge)] == ([901] if told else [])
