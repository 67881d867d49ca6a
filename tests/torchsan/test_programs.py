"""Whole programs under a watch: sound ones are silent, broken ones are found on the marked lines."""

from __future__ import annotations

import re

import pytest

from tests.torchsan.conftest import FIXTURES
from torchsan.report import wording

SOUND = sorted((FIXTURES / "sound").glob("*.py"))
BROKEN = sorted((FIXTURES / "broken").glob("*.py"))
_SOON = 3  # a finding of the third step of a program says 3 where it is told after that step
# A thing without a name in the program is called by its noun: "optimizer".
_NOUNS = {"loader", "loss", "model", "name", "optimizer", "sampler", "scaler", "scheduler"}
_PROMISED = {
    101, 102, 103, 104, 105, 106, 109, 110, 111, 112, 116, 117, 118, 119, 120, 121, 122, 123, 126, 127, 128, 129, 130,
    131, 135, 136, 137, 201, 202, 203, 204, 207, 208, 209, 301, 302, 303, 306, 307, 309, 310, 311, 312, 313, 401, 406,
    407,
    409, 410, 411, 413, 416, 422, 423, 501, 502, 505, 510, 511, 514, 516, 518, 520, 521, 522, 523, 525, 603, 606, 608,
    609, 610, 611, 612, 615, 616, 701, 702, 703, 704, 705, 707, 711, 712, 713, 801, 815, 904,
}


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_sound_programs_are_silent(run, path, level):
    ran = run(path, level=level)
    assert ran.error is None
    assert not ran.findings, ran.san.report()


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_broken_programs_are_found(run, path, level, monkeypatch):
    filled = wording.fill
    lacking = []
    monkeypatch.setattr(
        wording, "fill", lambda text, roles: lacking.append(_lacks(text, roles)) or filled(text, roles)
    )
    asked = {"select": "504"} if path.stem == "forward_by_name" else {}  # off unless it is asked for
    ran = run(path, level=level, **asked)
    assert set().union(*lacking) <= _NOUNS, "a message that says so little of its page's roles"
    assert ran.marked, "the program marks no line"
    assert ran.lines == ran.marked, ran.san.report()
    # Within two steps of the first effect: a program says in EFFECT how many steps come before that, if any do.
    first = re.search(r"^EFFECT = (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert max(finding.step for finding in ran.findings) <= (int(first[1]) if first else 0) + _SOON


def _lacks(text, roles):
    return {name for name in wording.fields(text) if roles.get(name) is None}


def test_every_check_has_a_broken_program():
    """The numbers that torchsan promises, each in a program that it is found in."""
    marks = {int(n) for p in BROKEN for m in re.findall(r"# <- ([\d, ]+)", p.read_text()) for n in m.split(",")}
    assert _PROMISED <= marks | {121, 413, 422}, "non-finite values have tests of their own"
