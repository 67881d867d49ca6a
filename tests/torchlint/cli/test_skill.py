"""The page for coding agents: it is in the package, and every command in it works."""

import re
import shlex
from pathlib import Path

import pytest

import torchlint
from tests.torchlint.support import write
from torchlint.catalogue.pages import catalogue
from torchlint.cli import arguments, main

PAGE = Path(torchlint.__file__).with_name("SKILL.md")
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = sorted({
    match.strip().partition("`")[0] for match in re.findall(r"(?:^    |`)(torchlint [^`\n]+)", TEXT, re.M)
})


def test_it_has_a_head_and_is_short():
    head = TEXT.split("---\n")[1]
    assert re.fullmatch(r"name: torchlint\ndescription: [^\n]{50,1000}\n", head)
    assert len(TEXT) < 3000


def test_options_that_it_names_are_there():
    known = {name for parameter in arguments.check.params for name in parameter.opts} | {"--report"}
    assert set(re.findall(r"(?<!-)--[a-z][a-z-]+", TEXT)) <= known


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_work(command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(write(tmp_path, {"a.py": "x = 1\n", "out.json": "[]"}))
    words = [{"PATHS": "a.py", "CODE": "101"}.get(word, word) for word in shlex.split(command)[1:]]
    assert main(words) == 0, capfd.readouterr().err


def test_the_code_that_it_shows_is_one():
    assert {int(code) for code in re.findall(r"TL(\d{3})", TEXT)} <= set(catalogue().rules)
