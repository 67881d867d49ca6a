"""The rule pages test themselves: bad blocks are flagged on their marked lines and nowhere else, good blocks nowhere."""

from collections import Counter
from functools import lru_cache

import msgspec
import pytest

from torchlint.catalogue import pages as catalogues
from torchlint.catalogue.pages import COMPILED, DEFAULT_GROUPS, catalogue, compiled, pages_folder
from torchlint.engine import Engine

FILENAME = "example.py"

PAGES = list(catalogue())
BLOCKS = [(page, block) for page in PAGES for block in page.examples()]


def page_id(page):
    return f"{page.code}-{page.name}"


def block_id(page, block):
    return f"{page_id(page)}-line{block.line}-{'bad' if block.bad else 'good' if block.good else 'unmarked'}"


@lru_cache(maxsize=None)
def engine(code):
    """An engine with the rules of the default groups and the one of the page."""
    return Engine([rule for rule in catalogue() if rule.group in DEFAULT_GROUPS or rule.code == code])


def found(page, block):
    """How often each (row, number) is found in a block."""
    judged = engine(page.code).check(FILENAME, block.code)
    assert {finding.location.filename for finding in judged.findings} <= {FILENAME}
    return Counter((finding.location.row, finding.number) for finding in judged.findings)


def test_there_are_pages():
    assert PAGES


def test_pages_in_one_file(tmp_path, monkeypatch):
    """A built package has them so, too; where that file is broken, the pages themselves count."""
    monkeypatch.setattr(catalogues, "pages_folder", lambda: tmp_path)
    (tmp_path / COMPILED).write_bytes(compiled(pages_folder()))
    rules = list(catalogue.__wrapped__())
    moved = [msgspec.structs.replace(page, path=page.path.replace(str(pages_folder()), str(tmp_path))) for page in PAGES]
    assert rules == moved and rules[0].path.startswith(str(tmp_path))
    page = tmp_path / "gradients" / "page.md"
    page.parent.mkdir()
    page.write_bytes(open(PAGES[0].path, "rb").read())
    for broken in (b"", b"x", (tmp_path / COMPILED).read_bytes()[:-100], msgspec.msgpack.encode([{"code": 1}])):
        (tmp_path / COMPILED).write_bytes(broken)
        assert [rule.code for rule in catalogue.__wrapped__()] == [PAGES[0].code]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_page_has_both_kinds_of_block(page):
    blocks = list(page.examples())
    assert any(block.bad for block in blocks), "no bad block"
    assert any(block.good for block in blocks), "no good block"
    for block in blocks:
        assert block.bad != block.good, f"line {block.line}: a python block is either bad or good"


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[block_id(*item) for item in BLOCKS])
def test_block(page, block):
    compile(block.code, FILENAME, "exec")
    expected = block.marks()
    if block.good:
        assert not expected, "a good block has a mark"
    elif page.lint == "none":
        assert page.code in {number for _, number in expected}, "a bad block has no mark of its own number"
        expected = Counter({mark: count for mark, count in expected.items() if mark[1] != page.code})
    else:
        assert page.code in {number for _, number in expected}, "a bad block has no mark of its own number"
    assert found(page, block) == expected
