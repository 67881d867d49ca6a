"""The codes of TorchFix: in comments, in selections."""

import pytest

from torchlint.catalogue import torchfix
from torchlint.catalogue.pages import catalogue
from torchlint.run.runner import Runner
from torchlint.settings.config import Config
from torchlint.settings.selection import SelectorError, active, rules_of

LOAD = "import torch\nnet = torch.load('a.pt').eval()"


@pytest.mark.parametrize(("comment", "count"), [("TOR102", 0), ("TOR1", 0), ("tor102", 0), ("TOR101", 1), ("TOR999", 1)])
def test_noqa(tmp_path, comment, count):
    known = catalogue()
    runner = Runner(Config(tmp_path), active(known, ["TL901"]), known)
    outcome = runner.run_text("a.py", f"{LOAD}  # noqa: {comment}\n".encode())
    assert [finding.code for finding in outcome.findings] == ["TL901"] * count


def test_selection():
    known = catalogue()
    assert [rule.code for rule in active(known, ["TOR102"])] == [901]
    assert 901 not in [rule.code for rule in active(known, ["TL9"], ["TOR102"])]
    assert rules_of("TOR901", known)[0] == frozenset()
    with pytest.raises(SelectorError):
        rules_of("TORCH", known)


def test_what_is_named_is_known():
    """A code stands for rules that there are."""
    assert {number for numbers in torchfix.RULES.values() for number in numbers} <= catalogue().rules.keys()
