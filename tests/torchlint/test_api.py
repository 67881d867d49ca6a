"""torchlint asked from Python: it says what the command says."""

import io
import json
import re
from pathlib import Path

import pytest

import torchlint
from tests.torchlint.support import ROOT, write
from torchlint.cli import main
from torchlint.report import Context
from torchlint.report import write as tell
from torchlint.settings.config import ConfigError
from torchlint.settings.selection import SelectorError

# A part of the projects that test_fixtures.py judges: what is found in them does not hang on who asks.
FIXTURES = sorted(path.name for path in (ROOT / "fixtures" / "lint").iterdir() if path.is_dir())[::4]
SUM = "from torch import nn\n\n\ndef f(x, y):\n    return nn.functional.cross_entropy(x.softmax(1), y)\n"


def as_json(found):
    out = io.StringIO()
    tell("json", list(found), out, Context())
    return without_prints(out.getvalue())


def commanded(capfd, *options):
    main(["-f", "json", "--no-cache", *options])
    return [item for item in without_prints(capfd.readouterr().out) if item["code"] != "not-judged"]


def without_prints(text):
    """What a report says, but for fingerprints, which are made of the lines around a finding."""
    return [{key: value for key, value in item.items() if key != "fingerprint"} for item in json.loads(text)]


@pytest.mark.parametrize("name", FIXTURES)
def test_what_the_command_says(name, capfd, monkeypatch):
    monkeypatch.chdir(ROOT / "fixtures" / "lint")
    assert as_json(torchlint.check(name, cache=False)) == commanded(capfd, name)


def test_options_are_those_of_the_command(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(write(tmp_path, {
        "torchlint.toml": "severity = {correctness = 'note'}\nper-file-ignores = {'b.py' = ['ALL']}\n", "other.toml": "ignore = ['TL301']\n",
        "a.py": SUM, "b.py": SUM, "c.py": SUM.replace("y)\n", "y)  # noqa\n"), "d.py": "x = (\n"}))
    for how, options in (
        ({}, []), ({"select": "TL1,TL2"}, ["--select", "TL1,TL2"]), ({"select": ["ALL"]}, ["--select", "ALL"]),
        ({"ignore": "TL301"}, ["--ignore", "TL301"]), ({"settings": "other.toml"}, ["--config", "other.toml"]),
        ({"isolated": True}, ["--isolated"]), ({"extend_select": ["performance"]}, ["--extend-select", "performance"]),
        ({"torch_version": "1.5", "select": "TL7"}, ["--torch-version", "1.5", "--select", "TL7"]),
    ):
        found = torchlint.check(cache=False, **how)
        assert as_json(found) == commanded(capfd, *options), how
        assert [problem.filename for problem in found.problems] == ["d.py"]
    assert as_json(torchlint.check(["a.py", Path("c.py")])) == commanded(capfd, "a.py", "c.py")
    assert torchlint.check(text=SUM, filename="a.py") == torchlint.check("a.py")
    assert [one.location.filename for one in torchlint.check(text=SUM)] == ["-"]
    assert not torchlint.check(text=SUM, filename="b.py")


def test_what_goes_wrong_is_raised(tmp_path):
    path = write(tmp_path, {"a.py": SUM, "bad.toml": "selct = []\n"}) / "a.py"
    for error, how in (
        (SelectorError, {"select": "TL999"}), (SelectorError, {"ignore": ["nothing"]}), (ConfigError, {"settings": tmp_path / "no.toml"}),
        (ConfigError, {"settings": tmp_path / "bad.toml"}), (ValueError, {"torch_version": "new"}), (TypeError, {"text": ""}),
    ):
        with pytest.raises(error):
            torchlint.check(path, cache=False, **how)
        assert error is TypeError or issubclass(error, ValueError)
    with pytest.raises(FileNotFoundError):
        torchlint.check(tmp_path / "no.py")
    with pytest.raises(SelectorError):
        torchlint.Session(tmp_path, select="TL999")


def test_the_page_is_right(tmp_path, monkeypatch, capsys):
    """The blocks of docs/api.md, run one after the other, print what stands in the comments behind `print`."""
    monkeypatch.chdir(write(tmp_path, {"setup.cfg": "", "src/train.py": SUM, "src/net.py": "x = 1\n", "broken.py": "x = (\n"}))
    text = (ROOT / "docs" / "api.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    exec(compile(code, "docs/api.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == expected != []


def test_names_that_are_none():
    assert {"Finding", "Session", "check"} <= set(dir(torchlint))
    with pytest.raises(AttributeError, match="'chekc'"):
        torchlint.chekc


def test_each_folder_has_its_own_settings_as_for_the_command(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(write(tmp_path, {
        "torchlint.toml": "", "a.py": SUM, "sub/b.py": SUM, "sub/torchlint.toml": "ignore = ['TL301']\n", "sub/c.py": "x = (\n"}))
    found = torchlint.check(cache=False)
    assert as_json(found) == commanded(capfd) and {one.location.filename for one in found} == {"a.py"}
    assert [problem.filename for problem in found.problems] == ["sub/c.py"]
    assert as_json(torchlint.check(cache=False, isolated=True)) == commanded(capfd, "--isolated")
    assert torchlint.check(cache=False, settings="torchlint.toml") != found
