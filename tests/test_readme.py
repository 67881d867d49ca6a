"""README shows what the tools really print, and .ci/run does what README says."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.cli import COMMANDS, arguments
from torchlint.report import FORMATS
from torchlint.settings.keys import KEYS

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "rules", "tools", "benchmarks", "docs", "examples", "fixtures")
EXAMPLES_OF_PATHS = {"lint/rules/", "train.py"}  # of a user's project
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")



def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


update_readme, update_pictures = script("update_readme"), script("update_pictures")
PLACES_OF = {
    page.relative_to(ROOT).as_posix(): {
        match["command"]: match["body"] for match in update_readme.PLACE.finditer(page.read_text(encoding="utf-8"))
    }
    for page in update_readme.PAGES
}


@pytest.mark.parametrize("page", PLACES_OF)
def test_every_mark_is_a_place(page):
    assert len(PLACES_OF[page]) == (ROOT / page).read_text(encoding="utf-8").count("<!-- output")


@pytest.mark.parametrize("page, command", [(page, command) for page, places in PLACES_OF.items() for command in places])
def test_output_is_real(page, command):
    if not update_readme.can_run(command):
        pytest.skip(f"{command.split()[0]} cannot be run here")
    assert PLACES_OF[page][command] == update_readme.output(command), "run python docs/update_readme.py"


def test_two_commands_at_the_top():
    top = TEXT.split("\n## ")[0]
    commands = re.findall(r"```console\n(.*?)\n```", top, re.S)
    assert len(commands) == 2
    assert "torchlint examples" in commands[0]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install_torch, install, test = commands[1].split(" && ")
    for part in (install_torch.split()[-1], install.removeprefix("pip install "), test):
        assert part in ci


def test_it_is_short():
    assert TEXT.count("\n") <= 250


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))])
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_options_that_are_told_exist():
    commands = (arguments.check, *(getattr(import_module(f"torchlint.cli.{module}"), name) for name, module in COMMANDS.items()))
    options = {option for command in commands for parameter in command.params for option in parameter.opts}
    table = TEXT.split("## torchlint\n")[1].split("\n**")[0]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", table)) <= options


def test_pages_of_commands_and_settings_are_up_to_date():
    pytest.importorskip("torchsan.run.cli", exc_type=ImportError)
    update_reference = script("update_reference")
    for page in update_reference.PAGES:
        text = page.read_text(encoding="utf-8")
        assert update_reference.fill(text) == text, "run python docs/update_reference.py"
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert re.findall(r"^### ([a-z-]+)$", settings, re.M) == list(KEYS)


def test_picture_of_torchlint_is_up_to_date():
    assert update_pictures.terminal() == (ROOT / "docs" / "pictures" / "torchlint.svg").read_text(encoding="utf-8"), (
        "run python docs/update_pictures.py"
    )


def test_pictures_are_told_in_words():
    """What each shows is its command's output, here by code and name."""
    told = dict(re.findall(r"!\[([^\]]+)\]\(docs/pictures/(\w+\.\w+)\)", TEXT))
    words = {picture: text for text, picture in told.items()}
    assert "TL203 missing-train" in words["torchlint.svg"] and "TL118 params-not-in-optimizer" in words["torchlint.svg"]
    assert " ".join(update_pictures.COMMAND).endswith("TL118,TL203")
    live = PLACES_OF["docs/report.md"]["torchsan run examples/broken_training.py"]
    assert set(re.findall(r"TS\d{3} [a-z-]+", live)) == set(re.findall(r"TS\d{3} [a-z-]+", words["report.png"]))


def test_figures_stand_where_they_are_said_to_come_from():
    rows = re.findall(r"^\|[^|]+\|([^|]+)\| \[[\w.]+\]\(([\w/.]+)\) \|$", TEXT.split("## Measured")[1].split("\n## ")[0], re.M)
    assert len(rows) >= 4
    for said, source in rows:
        text = (ROOT / source).read_text(encoding="utf-8")
        for figure in re.findall(r"\d[\d,.]*\d|\d", said):
            assert figure in text, (figure, source)


def test_all_formats_are_told():
    row = re.search(r"^\| `--output-format`.*$", TEXT, re.M)[0]
    assert re.findall(r"`([a-z]+(?:-[a-z]+)*)`", row) == list(FORMATS)


def test_all_kinds_of_reports_are_told():
    reports = pytest.importorskip("torchsan.report.reports", exc_type=ImportError)
    told = TEXT.split("`--report FILE`")[1].split("([more]")[0]
    assert set(re.findall(r"`(\.[a-z]+)`", told)) == set(reports.REPORTS)


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


def test_files_that_are_called_slow_exist():
    from tests.conftest import SLOW

    assert all((ROOT / "tests" / name).is_file() for name in SLOW)
