"""README shows what the tools really print, and .ci/run does what README says."""

import importlib.util
import re
from pathlib import Path

import pytest

from torchlint.settings.config import KEYS

ROOT = Path(__file__).parents[1]
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
