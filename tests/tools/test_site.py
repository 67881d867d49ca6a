"""The site: every page is in it, every link leads somewhere, and the builder accepts it."""

import posixpath
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import torchlint.addresses
from torchlint.catalogue.pages import catalogue

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "tools" / "site" / "build_site.py"
sys.path.insert(0, str(BUILD.parent))
import build_site  # noqa: E402
from links import BrokenLink, Links  # noqa: E402


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build_site.write_pages(folder)
    return {path.relative_to(folder / "pages").as_posix(): path.read_text(encoding="utf-8") for path in (folder / "pages").rglob("*.md")}


def test_every_page_of_docs_is_there():
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= {source for source, _, _ in build_site.PAGES}


def test_every_address_that_a_finding_would_carry_is_a_page(pages, monkeypatch):
    monkeypatch.setattr(torchlint.addresses, "SITE", "https://example.org")
    for rule in catalogue():
        assert rule.url.removeprefix("https://example.org/").rstrip("/") + ".md" in pages
        assert f"[{rule.code:03d}]({rule.code:03d}-{rule.name}.md)" in pages["rules/index.md"]


def test_every_link_leads_to_a_page(pages):
    for name, text in pages.items():
        without_code = re.sub(r"^ *```.*?^ *```$|`[^`\n]+`", "", text, flags=re.S | re.M)
        for target in re.findall(r"\]\(([^()\s#]+)[^()\s]*\)", without_code):
            if "://" not in target:
                there = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                assert there in pages or (ROOT / "docs" / there).is_file(), (name, target)


def test_links_are_moved_and_code_is_left_alone(tmp_path):
    for name in ("docs/a.md", "rules/b.md", "src/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    links = Links(tmp_path, {"docs/a.md": "a.md", "rules/b.md": "rules/b.md"}, "")
    assert links.moved("[b](../rules/b.md#here), [c](../src/c.py), `[x](y)`, [w](https://w.org)", "docs/a.md", "a.md") == (
        "[b](rules/b.md#here), c, `[x](y)`, [w](https://w.org)"
    )
    assert Links(tmp_path, {}, "https://r.org").moved("[c](../src/c.py)", "docs/a.md", "a.md") == "[c](https://r.org/blob/main/src/c.py)"
    with pytest.raises(BrokenLink, match=r"docs/a\.md: gone\.md leads to no file"):
        links.moved("[g](gone.md)", "docs/a.md", "a.md")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("zensical") is None, reason="zensical is not installed")
def test_it_is_built_and_fetches_no_fonts(tmp_path):
    done = subprocess.run([sys.executable, str(BUILD), str(tmp_path / "out")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    start = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|img)[^>]+src=\"(?:https?:)?//", start) and "fonts.googleapis" not in start
    assert (tmp_path / "out" / "rules" / "101-missing-zero-grad" / "index.html").is_file()
