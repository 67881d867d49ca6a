"""Builds the project's site from README, docs/, rules/ and the changelog, offline:

    python tools/site/build_site.py OUT             # the site, in the folder OUT
    python tools/site/build_site.py --pages OUT     # its Markdown pages alone, with mkdocs.yml

Links between pages of the repository become links between pages of the site; those to files that the site does not have lead
to the repository, or are plain text while that is not published. A link that leads nowhere ends the build.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]
from links import Links  # noqa: E402
from rule_pages import index_page, rule_page  # noqa: E402

from torchlint.addresses import REPOSITORY, SITE  # noqa: E402
from torchlint.catalogue.pages import AREAS, Rule, catalogue  # noqa: E402

# The pages beside those of the rules: where each comes from, where it goes, what the navigation calls it.
PAGES = (
    ("README.md", "index.md", "Overview"),
    ("docs/cli.md", "cli.md", "Commands"),
    ("docs/settings.md", "settings.md", "Settings"),
    ("docs/verdict.md", "verdict.md", "One verdict"),
    ("docs/fixes.md", "fixes.md", "Fixes"),
    ("docs/own-rules.md", "own-rules.md", "Rules of your own"),
    ("docs/api.md", "api.md", "From Python"),
    ("docs/editors.md", "editors.md", "Editors"),
    ("docs/recipes.md", "recipes.md", "Recipes"),
    ("docs/report.md", "report.md", "The report of a run"),
    ("docs/frameworks.md", "frameworks.md", "Frameworks"),
    ("docs/errors.md", "errors.md", "Errors of torch"),
    ("docs/faq.md", "faq.md", "Questions"),
    ("docs/not-checked.md", "not-checked.md", "What is not checked"),
    ("docs/compared-with-ruff.md", "compared-with-ruff.md", "Beside ruff"),
    ("docs/torchfix.md", "torchfix.md", "From TorchFix"),
    ("docs/architecture.md", "architecture.md", "Architecture"),
    ("docs/releasing.md", "releasing.md", "Versions and releases"),
    ("CONTRIBUTING.md", "contributing.md", "Contributing"),
    ("CHANGELOG.md", "changelog.md", "Changes"),
)


def write_pages(folder: Path) -> None:
    """Write all Markdown pages into `folder`/pages, and `folder`/mkdocs.yml.

    Raises:
        BrokenLink: a page links to what is not there.
    """
    rules = list(catalogue())
    homes = {source: target for source, target, _ in PAGES}
    homes |= {"rules": "rules/index.md", **{_source(rule): _place(rule) for rule in rules}}
    links = Links(ROOT, homes, REPOSITORY)
    pages = folder / "pages"
    for source, target, _ in PAGES:
        _put(pages / target, links.moved((ROOT / source).read_text(encoding="utf-8"), source, target))
    for rule in rules:
        _put(pages / _place(rule), links.moved(rule_page(rule, ROOT, REPOSITORY), _source(rule), _place(rule)))
    _put(pages / "rules/index.md", index_page(rules))
    shutil.copytree(ROOT / "docs" / "pictures", pages / "pictures", dirs_exist_ok=True)
    _put(folder / "mkdocs.yml", _settings(rules))


def _source(rule: Rule) -> str:
    return f"rules/{AREAS[rule.code // 100]}/{rule.code:03d}-{rule.name}.md"


def _place(rule: Rule) -> str:
    return f"rules/{rule.code:03d}-{rule.name}.md"


def _settings(rules: Sequence[Rule]) -> str:
    areas = [
        {area.capitalize(): [{f"{rule.code:03d} {rule.name}": _place(rule)} for rule in rules if rule.code // 100 == digit]}
        for digit, area in sorted(AREAS.items())
    ]
    titles = [{title: target} for _, target, title in PAGES]
    nav = [titles[0], {"Rules": ["rules/index.md", *areas]}, *titles[1:]]
    addresses = {"site_url": SITE, "repo_url": REPOSITORY}
    made = {"docs_dir": "pages", "site_dir": "site", **{key: value for key, value in addresses.items() if value}, "nav": nav}
    # JSON is YAML.
    lines = (f"{key}: {json.dumps(value)}\n" for key, value in made.items())
    return (Path(__file__).parent / "mkdocs.yml").read_text(encoding="utf-8") + "".join(lines)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(out: Path) -> None:
    """Build the site in `out`.

    Raises:
        BrokenLink: a page links to what is not there.
        CalledProcessError: the builder failed, or warned.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_pages(Path(folder))
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, check=True)
        shutil.copytree(Path(folder) / "site", out, dirs_exist_ok=True)


def main() -> int:
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--pages":
        write_pages(Path(arguments[1]))
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        build(Path(arguments[0]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
