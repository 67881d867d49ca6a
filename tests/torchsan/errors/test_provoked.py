"""The tables of provoked errors: each is raised for real, or by torch's recorded words where it takes a GPU or other processes."""

from __future__ import annotations

import sys

import pytest

from tests.torchsan.errors import provoked

TABLES = sorted(provoked.HERE.glob("*.txt"))
CASES = {f"{table.stem}: {case.program}": case for table in TABLES for case in provoked.cases(table)}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the operands are those of the expression, whose place Python tells since 3.11")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name, tmp_path):
    case = CASES[name]
    assert provoked.told(case.program, tmp_path) == case.expected


def test_nearly_all_have_a_note():
    silent = [name for name, case in CASES.items() if case.expected == ["nothing"]]
    assert len(CASES) >= 250 and len(silent) <= len(CASES) // 20, silent
