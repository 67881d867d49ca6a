"""941 and 943 of transformers, by the release that the project asks for."""

import pytest

from tests.torchlint.dryrun.support import RULES
from torchlint.engine import Engine

OLD = "from transformers import AdamW\n"
KEYWORD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', evaluation_strategy='epoch')\n"


def told(text, **releases):
    judge = Engine(RULES, releases=[(name, tuple(map(int, release.split(".")))) for name, release in releases.items()])
    return {finding.number: finding.message for finding in judge.check("/nowhere/a.py", text).findings}


@pytest.mark.parametrize(("lowest", "number", "text"), [
    ("5.0", 941, OLD), ("4.57", 941, OLD), ("5.0", 943, KEYWORD), ("5.0", 941, "import transformers\nt = transformers.AdamW([], lr=1)\n"),
])
def test_the_project_asks_for_a_later_release(lowest, number, text):
    assert f"the project asks for transformers {lowest} at least" in told(text, transformers=lowest)[number]


@pytest.mark.parametrize("text", [OLD, KEYWORD])
def test_the_project_may_run_on_an_older_one(text):
    assert not told(text, transformers="4.40") and not told(text) and not told(text, accelerate="5.0")


def test_what_asks_first():
    text = "try:\n    from transformers import AdamW\nexcept ImportError:\n    from torch.optim import AdamW\n"
    assert not told(text, transformers="5.0")


def test_a_keyword_of_the_same_file_came_later():
    text = OLD + "from transformers import TrainingArguments\nargs = TrainingArguments('out', use_cache=True)\n"
    assert "`use_cache` in this file came with 5." in told(text)[941]
    assert "use `torch.optim.AdamW`" in told(text)[941]


def test_what_is_told_by_name_is_told_once():
    text = OLD + "def main(model):\n    return AdamW(model.parameters())\n"
    judge = Engine(RULES, releases=[("transformers", (5, 0))])
    assert [finding.location.row for finding in judge.check("/nowhere/a.py", text).findings if finding.number == 941] == [1]
