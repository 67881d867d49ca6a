"""A pitfall has one address: its area's folder in the catalogue, among the matchers and among the checks."""

import ast
import re
from pathlib import Path

import pytest

from torchlint.catalogue.pages import AREAS, catalogue
from torchlint.rules import matchers

ROOT = Path(__file__).parents[2]
PAGES = {rule.code: rule for rule in catalogue()}
NOT_OF_AN_AREA = ("forms", "raised", "course")  # of torchsan's checks: what judges pages or errors of any area


@pytest.mark.parametrize("code", PAGES)
def test_page(code):
    path = Path(PAGES[code].path)
    assert path.parent.name == AREAS[code // 100] and path.name == f"{code:03d}-{PAGES[code].name}.md"


@pytest.mark.parametrize("code", matchers())
def test_matcher(code):
    file = ROOT / "src/torchlint/rules" / AREAS[code // 100] / f"{PAGES[code].name.replace('-', '_')}.py"
    assert matchers()[code].__module__.rpartition(".")[2] == file.stem and file.is_file()


def first_lines():
    """What each check's file says of itself, by folder and name."""
    for path in sorted((ROOT / "src/torchsan/checks").glob("*/*.py")):
        yield path.parent.name, path.stem, ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def test_checks():
    """A number is found in its area: by the file that names it first, or by the folder's own words about where else it is judged."""
    pytest.importorskip("torch")
    from torchsan.checks import known

    told = {area: [] for area in AREAS.values()}
    for folder, _, text in first_lines():
        if folder in told:
            told[folder] += [int(number) for number in re.findall(r"\b\d{3}\b", text)]
            for first, last in re.findall(r"\b(\d{3}) to (\d{3})\b", text):
                told[folder] += range(int(first), int(last))
    for check in known():
        folder = check.__module__.split(".")[2]
        for number in check.numbers:
            assert folder in NOT_OF_AN_AREA or number in told[AREAS[number // 100]], f"{number}: {check.__module__}"
