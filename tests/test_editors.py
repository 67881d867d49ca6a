"""The extension for VS Code and docs/editors.md against what the server takes."""

import json
import re
import shutil
import subprocess

import pytest

from tests.torchlint.support import ROOT, run_python
from torchlint.settings.keys import parse_version

EXTENSION = ROOT / "editors" / "vscode"
ABOUT = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
DOCS = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def server_settings():
    """The server's settings with their defaults."""
    pytest.importorskip("pygls")
    from torchlint.server import options

    defaults = json.loads(json.dumps(options.msgspec.to_builtins(options.Options())))
    return {name: defaults[name] for name in options.KEYS}


def test_the_extension_has_the_settings_of_the_server():
    given = {
        name.removeprefix("torchlint."): one["default"] for name, one in ABOUT["contributes"]["configuration"]["properties"].items()
    }
    assert given.pop("path") is None and given.pop("trace.server") == "off"
    assert given == server_settings()


def test_the_page_has_the_settings_of_the_server():
    told = {}
    for names, default in re.findall(r"^\| (`[^|]*`) \|([^|]*)\|", DOCS.split("\n## Settings\n")[1].split("\n## ")[0], re.M):
        for name in re.findall(r"`(\w+)`", names):
            told[name] = json.loads(default.strip("` ") or "null")
    assert told == server_settings()


def test_the_page_has_the_commands_of_the_extension():
    for one in ABOUT["contributes"]["commands"]:
        assert f"torchlint: {one['title']}" in " ".join(DOCS.split()), one


def test_versions_are_one():
    from torchlint import __version__

    assert ABOUT["version"] == __version__ and f"torchlint-{__version__}.vsix" in DOCS
    assert parse_version(ABOUT["engines"]["vscode"].lstrip("^").rpartition(".")[0])


def test_what_the_extension_asks_first():
    """It looks for a Python that has the server by `--check`."""
    pytest.importorskip("pygls")
    assert "--check" in (EXTENSION / "src" / "extension.js").read_text(encoding="utf-8")
    done = run_python("-m", "torchlint", "server", "--check", input=b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_parts_of_the_extension_that_need_no_editor():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there")
    done = subprocess.run([node, "--test", "test/"], cwd=EXTENSION, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
