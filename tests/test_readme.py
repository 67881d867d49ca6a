"""README shows what the tools really print, and .ci/run does what README says."""

import importlib.util
import re
from pathlib import Path

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.cli import arguments
from torchlint.report import FORMATS
from torchlint.settings.keys import KEYS

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "rules", "tools", "benchmarks", "docs", "examples", "fixtures")
EXAMPLES_OF_PATHS = {"lint/rules/", "train.py"}  # of a user's project
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

spec = importlib.util.spec_from_file_location("update_readme", ROOT / "docs" / "update_readme.py")
update_readme = importlib.util.module_from_spec(spec)
spec.loader.exec_module(update_readme)

PLACES = {match["command"]: match["body"] for match in update_readme.PLACE.finditer(TEXT)}


def test_every_mark_is_a_place():
    assert len(PLACES) == TEXT.count("<!-- output")


@pytest.mark.parametrize("command", PLACES)
def test_output_is_real(command):
    if not update_readme.can_run(command):
        pytest.skip(f"{command.split()[0]} cannot be run here")
    assert PLACES[command] == update_readme.output(command), "run python docs/update_readme.py"


def test_two_commands_at_the_top():
    top = TEXT.split("\n## ")[0]
    commands = re.findall(r"```console\n(.*?)\n```", top, re.S)
    assert len(commands) == 2
    assert "torchlint examples" in commands[0]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install_torch, install, test = commands[1].split(" && ")
    for part in (install_torch.split()[-1], install.removeprefix("pip install "), test):
        assert part in ci


def test_all_settings_are_told():
    rows = re.findall(r"^\| `([a-z]+(?:-[a-z]+)*)` \| `", TEXT, re.M)
    assert sorted(rows) == sorted(KEYS)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_all_options_are_told():
    options = {option for parameter in arguments.check.params for option in parameter.opts if option.startswith("--") and not getattr(parameter, "hidden", False)}
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert options - told == {"--version"}


def test_all_formats_are_told():
    row = re.search(r"^\| `--output-format`.*$", TEXT, re.M)[0]
    assert [name for name in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", row)] == list(FORMATS)


def test_all_kinds_of_reports_are_told():
    reports = pytest.importorskip("torchsan.report.reports", exc_type=ImportError)
    row = re.search(r"^\| `--report FILE`.*$", TEXT, re.M)[0]
    assert set(re.findall(r"`(\.[a-z]+)`", row)) == set(reports.REPORTS)


def test_comparison_is_true():
    """What is said of TorchFix and of fixes, against the catalogue and the page on fixes."""
    comparison = TEXT.split("## How it compares")[1].split("\n## ")[0]
    names = [rule for rule in catalogue() if 941 <= rule.code <= 943 and rule.lint != "none"]
    assert len(names) == 3 and "TL941 to TL943" in comparison
    fixes = re.findall(r"^\| \[?TL?\d{3}", (ROOT / "docs" / "fixes.md").read_text(encoding="utf-8"), re.M)
    assert fixes and "mends some of what it finds, as torchlint does" in comparison


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/fixes.md", "docs/report.md"])
def test_files_that_are_named_are_there(name):
    """`run/runner.py` is the end of a path in this repository; what a reader is to make has a number that no page has."""
    text = re.sub(r"^ *```.*?^ *```$", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S | re.M)
    inside = (path for folder in FOLDERS for path in (ROOT / folder, *(ROOT / folder).rglob("*")))
    paths = {"/" + path.relative_to(ROOT).as_posix() for path in inside}
    named = set(re.findall(r"`((?:[\w-]+/)+[\w-]*(?:\.(?:py|md))?|[\w-]+\.py)`", text))
    ours = {path for path in named if path.endswith((".py", ".md")) or path.startswith(FOLDERS)}
    missing = {path for path in ours if not any(known.endswith("/" + path.rstrip("/")) for known in paths)}
    assert missing <= EXAMPLES_OF_PATHS
