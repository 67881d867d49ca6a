"""The commands beside the judging one: explain, rules, config, clean; and the shell's completions."""

import json

import pytest

from tests.torchlint.support import fake_engine, run_python, write  # noqa: F401
from torchlint.catalogue.pages import catalogue
from torchlint.cli import main
from torchlint.settings.keys import KEYS


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*args):
        status = main(list(args))
        out, err = capfd.readouterr()
        return status, out, err

    return run


def test_explain_several_and_all(run):
    one, other = run("explain", "101")[1], run("explain", "missing-train")[1]
    assert run("explain", "TL101", "203")[1] == f"{one}\n\n{other}"
    every = run("explain", "--all")[1]
    assert every.count("## What goes wrong") == len(catalogue()) and one in every
    told = json.loads(run("explain", "101", "-f", "json")[1])
    assert told["code"] == "TL101" and told["text"].startswith("## What goes wrong") and told["fixable"] is None
    assert len(json.loads(run("explain", "--all", "-f", "json")[1])) == len(catalogue())
    assert "--all is of use only without a RULE" in run("explain", "--all", "101")[2]


def test_rules_tell_who_finds_and_who_mends(run):
    rules = {rule["code"]: rule for rule in json.loads(run("rules", "-f", "json")[1])}
    assert (rules["TL101"]["lint"], rules["TL101"]["live"], rules["TL101"]["fixable"]) == (True, True, None)
    assert (rules["TL120"]["lint"], rules["TL120"]["live"]) == (False, True)
    assert (rules["TL132"]["fixable"], rules["TL134"]["fixable"], rules["TL204"]["fixable"]) == ("both", "unsafe", "safe")
    assert not [rule for rule in rules.values() if not (rule["lint"] or rule["live"])]


def test_what_source_cannot_show_is_said(run, tmp_path):
    assert "source cannot show it, torchsan does" in run("explain", "120")[1]
    assert "safe and unsafe fixes" in run("explain", "132")[1]
    write(tmp_path, {"a.py": "x = 1\n"})
    note = "torchlint: note: TL120 vanishing-or-exploding-gradient is nothing that source shows; torchsan finds it in a run\n"
    assert run("--select", "TL120", "--no-cache")[2] == note
    assert run("--extend-select", "vanishing-or-exploding-gradient,TL120", "--no-cache")[2] == note
    assert run("--select", "TL1", "--no-cache")[2] == run("--select", "TL120", "-q", "--no-cache")[2] == ""
    write(tmp_path, {"torchlint.toml": "extend-select = ['120']\n"})
    assert run("--no-cache")[2] == note


def test_config(run):
    listed = run("config")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(KEYS)
    assert run("config", "ignore")[1] == (
        'Rules to leave out.\n\nDefault: []\n\n[tool.torchlint]\nignore = ["TL202"]\n'
    )
    assert 'per-file-ignores = {"tests/*" = ["TL2"]}' in run("config", "per-file-ignores")[1]
    assert set(json.loads(run("config", "-f", "json")[1])) == set(KEYS)
    status, out, err = run("config", "ignroe")
    assert (status, out) == (2, "") and "there is no setting 'ignroe' (did you mean 'ignore'?)" in err


def test_clean(run, tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "sub/setup.cfg": "", "sub/b.py": "bad()\n", "own/.torchlint_cache/x": "", "setup.cfg": ""})
    assert run("a.py")[0] == run("sub/b.py")[0] == 1
    assert (tmp_path / ".torchlint_cache").is_dir() and (tmp_path / "sub/.torchlint_cache").is_dir()
    write(tmp_path, {"sub/.torchlint_cache/notes.txt": "mine"})
    status, out, err = run("clean")
    assert (status, sorted(out.splitlines()), err) == (0, ["removed .torchlint_cache", "removed sub/.torchlint_cache"], "")
    assert not (tmp_path / ".torchlint_cache").exists()
    assert [path.name for path in (tmp_path / "sub/.torchlint_cache").iterdir()] == ["notes.txt"]
    assert (tmp_path / "own/.torchlint_cache/x").exists()
    assert run("clean") == (0, "", "")


def test_clean_does_not_follow_links(run, tmp_path, fake_engine):  # noqa: F811
    write(tmp_path, {"a.py": "bad()\n", "setup.cfg": "", "in/x.py": ""})
    run("a.py", "--cache-dir", "elsewhere")
    (tmp_path / "in/.torchlint_cache").symlink_to(tmp_path / "elsewhere")
    assert run("clean") == (0, "", "") and list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(tmp_path, shell):
    code = "import sys; from torchlint.cli import main; sys.argv = ['torchlint']; main()"
    script = run_python("-c", code, cwd=tmp_path, env={"_TORCHLINT_COMPLETE": f"{shell}_source"})
    assert "_TORCHLINT_COMPLETE" in script.stdout.decode()
    asked = {"_TORCHLINT_COMPLETE": f"{shell}_complete", "COMP_WORDS": "torchlint --output-f", "COMP_CWORD": "1"}
    if shell == "fish":
        asked["COMP_WORDS"], asked["COMP_CWORD"] = "torchlint --output-f", "--output-f"
    assert "--output-format" in run_python("-c", code, cwd=tmp_path, env=asked).stdout.decode()
