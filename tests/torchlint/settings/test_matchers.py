"""Matchers of one's own in Python: from installed packages and from the environment, and never from the tree that is linted."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.catalogue.pages import PageError, tomllib
from torchlint.settings import rulebook
from torchlint.settings.matchers import _trusted, matchers

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/own_rules_package"
PAGE = (EXAMPLE / "our_torch_rules/981-save-without-step.md").read_text(encoding="utf-8")
MATCHER = (EXAMPLE / "our_torch_rules/save_without_step.py").read_text(encoding="utf-8")
TEXT = """import torch


def train(model, optimizer, loader):
    for number, x in enumerate(loader):
        optimizer.zero_grad()
        model(x).sum().backward()
        torch.save(model.state_dict(), f"{number}.pt")
        optimizer.step()
"""
SIMPLE = "INTERFACE = 1\nCALLS = {'torch.save'}\n\n\ndef check(view):\n    for call in view.calls():\n        "


def installed(site):
    """The example package as an installer would leave it."""
    shutil.copytree(EXAMPLE / "our_torch_rules", site / "our_torch_rules")
    settings = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / "our_torch_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-torch-rules\nVersion: 1.0\n")
    groups = settings["entry-points"].items()
    (info / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) for group, entries in groups
    ))


def torchlint(*args, cwd, python=(), **env):
    """The command, in a process of its own; with `python`, these come before the working folder's own packages."""
    path = os.pathsep.join(map(str, (*python, ROOT / "src")))
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *map(str, args)], cwd=cwd, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, **env},
    )
    return done.returncode, done.stdout, done.stderr


def tree(folder, matcher=MATCHER):
    """A project with a page, and a matcher of it in a folder beside."""
    (folder / "project/rules").mkdir(parents=True)
    (folder / "project/rules/981-save-without-step.md").write_text(PAGE)
    (folder / "project/torchlint.toml").write_text('extend-rules = ["rules"]\nselect = ["TL981"]\n')
    (folder / "project/train.py").write_text(TEXT)
    (folder / "matchers").mkdir()
    (folder / "matchers/981_save_without_step.py").write_text(matcher)
    return folder / "project"


def codes(out):
    return [(finding["code"], finding["location"]["row"], finding["message"]) for finding in json.loads(out) if finding["code"].startswith("TL")]


def test_the_example_package_where_it_is_installed(tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    installed(site)
    (work / "train.py").write_text(TEXT)
    status, out, err = torchlint("--select", "TL981", "-f", "json", "train.py", cwd=work, python=[site])
    message = "`torch.save(model.state_dict(), f\"{number}.pt\")` stands between the backward and `optimizer.step()`"
    assert status == 1 and codes(out) == [("TL981", 8, f"{message}: the file holds the model of one step ago")], err
    assert torchlint("rules", "--test", EXAMPLE, cwd=work, python=[site])[:2] == (0, "2 pages, 4 blocks: all as marked\n")
    status, out, err = torchlint("rules", "--test", EXAMPLE, cwd=work)
    assert status == 2 and "981-save-without-step.md: nothing judges this page" in err


def test_a_file_that_the_environment_names(tmp_path):
    project = tree(tmp_path)
    for jobs in ("1", "2"):
        status, out, err = torchlint("-f", "json", "--jobs", jobs, cwd=project, TORCHLINT_MATCHERS=str(tmp_path / "matchers"))
        assert status == 1 and [code for code, _, _ in codes(out)] == ["TL981"], err


def test_a_verdict_is_that_of_the_matcher_as_it_is_now(tmp_path):
    project, where = tree(tmp_path), str(tmp_path / "matchers")
    assert torchlint(cwd=project, TORCHLINT_MATCHERS=where)[0] == 1
    (tmp_path / "matchers/981_save_without_step.py").write_text("INTERFACE = 1\n\n\ndef check(view):\n    return []\n")
    assert torchlint(cwd=project, TORCHLINT_MATCHERS=where)[0] == 0


@pytest.mark.parametrize("where", ["project", "package", "settings"])
def test_a_tree_cannot_bring_its_own(tmp_path, where):
    """What lies in the linted tree is not run: neither as a matcher beside the pages, nor as a package in the working folder,
    nor by a key of the settings."""
    project = tree(tmp_path)
    bomb = "open('ran', 'w').close()\n" + MATCHER
    if where == "project":
        (project / "rules/981_save_without_step.py").write_text(bomb)
        (project / "981_save_without_step.py").write_text(bomb)
        words = "nothing judges this page"
    elif where == "package":
        (project / "rules/981-save-without-step.md").unlink()
        (project / "torchlint.toml").write_text("")
        installed(project)
        (project / "our_torch_rules/save_without_step.py").write_text(bomb)
        (project / "our_torch_rules/__init__.py").write_text(bomb)
        words = ""
    else:
        (project / "torchlint.toml").write_text('matchers = ["rules"]\n')
        words = "matchers"
    status, out, err = torchlint(cwd=project)
    assert words in err and "TL981" not in out
    assert not (project / "ran").exists()


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        ("def check(view):\n    return []\n", "has no INTERFACE; this torchlint has version 1 of the interface"),
        ("INTERFACE = 2\n\n\ndef check(view):\n    return []\n", "INTERFACE is 2; this torchlint has version 1"),
        ("INTERFACE = 1\n", "has no function check(view)"),
        ("INTERFACE = 1\nimport nothing_like_it\n", "cannot be imported: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("INTERFACE = 1\nx = (\n", "cannot be imported: SyntaxError"),
        (SIMPLE + "1 / 0\n", "ZeroDivisionError: division by zero at"),
        (SIMPLE + "yield 5\n", "check gives a int, and not what view.finding makes"),
        ("INTERFACE = 1\nCALLS = 5\n\n\ndef check(view):\n    return []\n", "CALLS is a int, not a set of names"),
    ],
)
def test_one_that_fails_is_told_and_costs_nothing_else(tmp_path, matcher, words):
    project = tree(tmp_path, matcher)
    (project / "torchlint.toml").write_text('extend-rules = ["rules"]\nselect = ["TL981", "TL301"]\n')
    (project / "train.py").write_text(TEXT + "\n\ndef loss(x, y):\n    return torch.nn.functional.cross_entropy(torch.softmax(x, 1), y)\n")
    status, out, err = torchlint("-f", "json", "--jobs", "1", cwd=project, TORCHLINT_MATCHERS=str(tmp_path / "matchers"))
    assert status == 2 and [code for code, _, _ in codes(out)] == ["TL301"]
    assert "train.py: the matcher of TL981 (" in err and words in err and err.count("TL981") == 1, err


@pytest.mark.parametrize(
    ("name", "words"), [("nowhere", "cannot be read"), ("empty", "no files there are called like 971_some_name.py"),
                        ("wrong.py", "is called by its rule's number")],
)
def test_an_environment_that_names_no_matcher(tmp_path, monkeypatch, name, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.py").write_text("")
    monkeypatch.setenv("TORCHLINT_MATCHERS", str(tmp_path / name))
    with pytest.raises(PageError, match=words):
        matchers(False)


def test_two_matchers_of_one_number(tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "981_x.py").write_text("")
    monkeypatch.setenv("TORCHLINT_MATCHERS", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    with pytest.raises(PageError, match="number 981 has a matcher already"):
        matchers(False)


def test_no_rule_of_ours_is_given_another_matcher(tmp_path, monkeypatch):
    (tmp_path / "101_x.py").write_text("")
    monkeypatch.setenv("TORCHLINT_MATCHERS", str(tmp_path))
    assert rulebook.matchers_of(rulebook.catalogue()) == ()


def test_places_that_may_have_matchers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert list(_trusted(["", ".", str(tmp_path), "/usr/lib"])) == ["/usr/lib"]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert str(tmp_path) in list(_trusted([str(tmp_path)]))


def test_what_a_matcher_can_ask(tmp_path):
    asks = (
        "INTERFACE = 1\nCALLS = {'torch.save'}\n\n\ndef check(view):\n"
        "    for call in view.calls():\n"
        "        step = view.ahead(call, 'optimizer.step')\n"
        "        model = view.events('forward')[0].subject\n"
        "        facts = [call.kind, call.name, call.text[:10], call.row, call.in_loop, call.in_module,\n"
        "                 call.argument('f', 1).literal, call.argument('pickle_module', 2).given, [one.kind for one in step.events], step.ends,\n"
        "                 call.in_one_loop_with(step.events[0]), model.type, model.is_same(model), view.torch_version]\n"
        "        if not call.argument('_use_new_zipfile_serialization').given:\n"
        "            yield view.finding(call, step=repr(facts), add_argument='_use_new_zipfile_serialization=True')\n"
    )
    project = tree(tmp_path, asks)
    text = TEXT.replace('f"{number}.pt"', '"a.pt"').replace("def train(model", "def train(_").replace("    for", "    model = torch.nn.Linear(1, 1)\n    for", 1)
    (project / "train.py").write_text(text)
    where = {"TORCHLINT_MATCHERS": str(tmp_path / "matchers")}
    status, out, err = torchlint("-f", "json", "--torch-version", "2.6", cwd=project, **where)
    facts = ["call", "torch.save", "torch.save", 9, True, False, "a.pt", False, ["optimizer.step"], False, True, "torch.nn.Linear", True, (2, 6)]
    assert status == 1 and repr(facts) in codes(out)[0][2], out + err
    assert torchlint("--fix", "--unsafe-fixes", cwd=project, **where)[0] == 0
    assert '"a.pt", _use_new_zipfile_serialization=True)' in (project / "train.py").read_text()
