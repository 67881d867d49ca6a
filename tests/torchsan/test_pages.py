"""The `run` blocks of the rule pages, strictly: what is found stands on the marked line, and a good block is silent
under every check. (`test_pages_live.py` holds the pages to their own numbers.)"""

from __future__ import annotations

import re

import pytest

from torchlint.catalogue.pages import catalogue
from torchsan.checks import known

LIVE = {number for cls in known() for number in cls.numbers}
BLOCKS = [
    pytest.param(rule, example, id=f"{rule.code}-{example.line}-{'bad' if example.bad else 'good'}")
    for rule in catalogue()
    for example in rule.examples()
    if example.runs
]


HOSTED = re.compile(r"^(?:from|import) (accelerate|transformers|peft|trl|datasets)\b", re.MULTILINE)


@pytest.mark.parametrize(("rule", "example"), BLOCKS)
def test_run_block(run, rule, example):
    for library in HOSTED.findall(example.code):
        pytest.importorskip(library)
    ran = run(example.code)
    if example.good:
        assert ran.error is None
        assert not ran.findings, ran.san.report()
    elif rule.code in LIVE:
        found = {(number, row) for number, row in ran.lines if number == rule.code}
        assert found == {mark for mark in ran.marked if mark[0] == rule.code}, ran.san.report()
