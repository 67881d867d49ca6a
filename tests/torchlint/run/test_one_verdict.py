"""A verdict on a file is the same, whatever it is asked for with, and by whom: the command, standard input, flake8, Python."""

import argparse
import io
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

import torchlint
from torchlint.cli import main
from torchlint.files.modules import Modules
from torchlint.flake8 import TorchlintPlugin
from torchlint.run import one, projects
from torchlint.run.discovery import Discovery
from torchlint.run.session import Session
from torchlint.run.users import Users
from torchlint.settings.config import Config

ROOT = Path(__file__).parents[3]
HELPER = "def prepare(model):\n    model.eval\n    return model\n"
MAIN = "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes files of a project, and goes there."""
    monkeypatch.chdir(tmp_path)

    def write(**files):  # a__b is a/b.py
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/").replace("package", "__init__") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def told(capsys, *args):
    """The findings of a command: where, and which; and what it says on standard error."""
    main(["--output-format", "json", "--no-cache", *args])
    out, err = capsys.readouterr()
    return sorted((one["filename"], one["location"]["row"], one["code"]) for one in json.loads(out) if one["group"]), err


def by_stdin(capsys, monkeypatch, name, text, *args):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return told(capsys, "-", "--stdin-filename", name, *args)[0]


def by_flake8(path):
    TorchlintPlugin.parse_options(argparse.Namespace(select=["TL"], stdin_display_name="stdin", disable_noqa=False))
    lines = Path(path).read_text().splitlines(True)
    return sorted((str(path), row, text.split()[0]) for row, _, text, _ in TorchlintPlugin(None, str(path), lines).run())


def test_everybody_says_the_same(project, capsys, monkeypatch):
    project(helper=HELPER, main=MAIN)
    want = [("helper.py", 2, "TL132")]
    assert told(capsys, ".")[0] == told(capsys, "helper.py")[0] == told(capsys, "helper.py", "main.py")[0] == want
    assert by_stdin(capsys, monkeypatch, "helper.py", HELPER) == want
    assert [(at, row, code) for at, row, code in by_flake8("helper.py")] == want
    for found in (torchlint.check("helper.py"), torchlint.check(text=HELPER, filename="helper.py"), Session().check("helper.py")):
        assert [(one.location.filename, one.location.row, one.code) for one in found] == want


ADDS = "import sys\nsys.path.append('{}')\n"


@pytest.mark.parametrize("added", ["utils", "./utils/", "../utils"])
def test_everybody_knows_the_folders_that_a_program_adds(project, capsys, monkeypatch, added):
    main = ADDS.format(added) + MAIN
    project(utils__helper=HELPER, tools__main=main, **{f"tools__other{number}": main for number in range(9)})
    want = [("utils/helper.py", 2, "TL132")]
    assert told(capsys, ".")[0] == told(capsys, "utils/helper.py")[0] == told(capsys, "-j2", ".")[0] == want
    assert "note: 1 finding stands in utils/helper.py" in told(capsys, "tools/main.py")[1]
    assert by_stdin(capsys, monkeypatch, "utils/helper.py", HELPER) == want
    assert [(at, row, code) for at, row, code in by_flake8("utils/helper.py")] == want
    for found in (torchlint.check("utils/helper.py"), Session().check("utils/helper.py")):
        assert [(one.location.filename, one.location.row, one.code) for one in found] == want


def test_a_finding_in_a_program_that_adds_folders(project, capsys, monkeypatch):
    soft = "def soft(x):\n    return x.softmax(1)\n"
    text = ADDS.format("../utils") + "import torch.nn.functional as F\nfrom helper import soft\n\n\ndef f(x, y):\n    F.cross_entropy(soft(x), y)\n"
    project(utils__helper=soft, tools__main=text)
    want = [("tools/main.py", 8, "TL301")]
    assert told(capsys, ".")[0] == told(capsys, "tools/main.py")[0] == told(capsys, "-j2", "tools", "utils")[0] == want
    assert by_stdin(capsys, monkeypatch, "tools/main.py", text) == want == by_flake8("tools/main.py")
    session = Session()
    assert [one.code for one in session.check("tools/main.py", text)] == ["TL301"]
    assert not session.check("tools/main.py", text.replace("../utils", "../more"))
    assert [one.code for one in session.check("tools/main.py", text)] == ["TL301"]


def test_what_stands_elsewhere_is_told_when_that_is_asked_for(project, capsys):
    project(helper=HELPER, main=MAIN)
    found, err = told(capsys, "main.py")
    assert found == [] and "note: 1 finding stands in helper.py, which was not asked for" in err
    assert main(["main.py", "-q", "--no-cache"]) == 0
    assert not Session().check("main.py") and not torchlint.check("main.py") and by_flake8("main.py") == []


def test_by_way_of_others(project, capsys):
    """A file that uses one that uses it, through a package, an attribute of one, a star, and a loop of imports."""
    between = "from . import helper\n\n\ndef ready(model):\n    return helper.prepare(model)\n"
    project(
        pkg__package="from .between import *\n", pkg__helper="import pkg\n\n\n" + HELPER, pkg__between=between,
        train="import torch\nimport pkg\n\npkg.ready(torch.nn.Linear(2, 2))\n",
    )
    (name,) = told(capsys, ".")[0]
    assert name[0] == "pkg/helper.py"
    assert told(capsys, "pkg/helper.py")[0] == [name]


def test_a_comment_that_hides_what_another_file_makes_known_is_of_use(project, capsys):
    project(helper=HELPER.replace(".eval\n", ".eval  # noqa: TL132\n"), main=MAIN)
    assert told(capsys, "--unused-noqa", "helper.py")[0] == told(capsys, "--unused-noqa", ".")[0] == []


def test_a_baseline_of_one_file_is_that_of_its_project(project, capsys):
    project(helper=HELPER, main=MAIN)
    assert main(["--baseline", "known.json", "--update-baseline", "--no-cache", "-q", "."]) == 0
    assert main(["--baseline", "known.json", "--no-cache", "helper.py"]) == 0
    assert "1 known finding left out" in capsys.readouterr().err
    whole = Path("known.json").read_text()
    assert main(["--baseline", "known.json", "--update-baseline", "--no-cache", "-q", "helper.py", "main.py"]) == 0
    assert Path("known.json").read_text() == whole


def test_mended_as_with_the_whole(project, capsys, monkeypatch):
    project(helper=HELPER, main=MAIN)
    mended = HELPER.replace(".eval\n", ".eval()\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HELPER.encode())))
    assert main(["-", "--stdin-filename", "helper.py", "--fix", "--no-cache"]) == 0
    assert capsys.readouterr().out == mended
    assert main(["helper.py", "--diff", "--no-cache"]) == 1
    assert "+    model.eval()" in capsys.readouterr().out
    assert main(["helper.py", "--fix", "--no-cache"]) == 0
    assert Path("helper.py").read_text() == mended


def test_tests_are_judged_for_the_sake_of_tests_alone(tmp_path):
    (tmp_path / ".git").mkdir()
    texts = {
        "helper.py": HELPER, "main.py": MAIN, "tests/toys.py": "import helper\n", "tests/test_helper.py": "import helper, toys\n",
        "test_all.py": "import unittest, helper\n", "test_set.py": "import helper, torch\n", "tests/bench.py": "import main\n",
    }
    files = {name: str(tmp_path / name) for name in texts}
    for name, text in texts.items():
        Path(files[name]).parent.mkdir(exist_ok=True)
        Path(files[name]).write_text(text)
    Path(tmp_path, "tests/pytest.ini").touch()

    def users(name):
        return [str(Path(path).relative_to(tmp_path)) for path in Users(Modules()).outside_tests([files[name]], files.values())]

    assert users("helper.py") == ["main.py", "test_set.py"]
    assert users("tests/toys.py") == ["tests/test_helper.py"]


def test_what_a_test_makes_of_a_program_is_told_where_tests_are_programs(project, capsys):
    top = project(helper=HELPER, tests__test_helper=MAIN)
    (top / "torchlint.toml").write_text("")
    assert told(capsys, "helper.py")[0] == told(capsys, ".")[0] == []
    (top / "torchlint.toml").write_text('strict-tests = true\n')
    assert told(capsys, "helper.py")[0] == told(capsys, ".")[0] == [("helper.py", 2, "TL132")]


def test_by_the_settings_of_the_file(project, capsys):
    """Those that use a file are judged by the settings of that file, wherever they lie."""
    top = project(lib__helper=HELPER, lib__package="", main=MAIN.replace("helper", "lib.helper"))
    want = [("lib/helper.py", 2, "TL132")]
    (top / "torchlint.toml").write_text('ignore = ["TL132"]\n')
    assert told(capsys, ".")[0] == told(capsys, "lib/helper.py")[0] == []
    (top / "lib/torchlint.toml").write_text("")
    assert told(capsys, ".")[0] == told(capsys, "lib")[0] == told(capsys, "lib/helper.py")[0] == want
    found = Session(top).check("lib/helper.py")
    assert [one.code for one in found] == ["TL132"] == [code for _, _, code in by_flake8("lib/helper.py")]


def test_files_that_are_left_out_make_nothing_known(project, capsys):
    """Excluded or ignored files are no part of the project, though they may be named."""
    top = project(helper=HELPER, old__main=MAIN)
    assert told(capsys, "helper.py")[0] == [("helper.py", 2, "TL132")]
    (top / ".gitignore").write_text("old\n")
    assert told(capsys, ".")[0] == told(capsys, "helper.py")[0] == told(capsys, "helper.py", "old/main.py")[0] == []
    (top / ".gitignore").unlink()
    (top / "torchlint.toml").write_text('extend-exclude = ["old"]\n')
    assert told(capsys, ".")[0] == told(capsys, "helper.py")[0] == []


def test_a_project_ends_where_another_begins(project, capsys):
    top = project(helper=HELPER, app__main=MAIN)
    (top / "app" / "setup.py").write_text("")
    assert told(capsys, ".")[0] == told(capsys, "helper.py")[0] == []


def test_each_project_says_its_torch(project, capsys):
    """Without settings, the release is that of the file's own project, whatever else is asked for."""
    project(a__one="import torch\n\ntorch.cuda.amp.autocast()\n", b__two="import torch\n\ntorch.cuda.amp.autocast()\n")
    for name, release in (("a", "2.6"), ("b", "1.13")):
        Path(name, "pyproject.toml").write_text(f'[project]\nname = "x"\ndependencies = ["torch>={release}"]\n')
    both = told(capsys, "--select", "TL708", ".")[0]
    assert both == told(capsys, "--select", "TL708", "a/one.py")[0] + told(capsys, "--select", "TL708", "b/two.py")[0]
    assert [at for at, *_ in both] == ["a/one.py"]
    assert told(capsys, "--select", "TL708", "--torch-version", "2.6", ".")[0] == [*both, ("b/two.py", 3, "TL708")]


def test_without_a_mark_what_is_too_large_is_no_project(project, capsys, monkeypatch):
    """Scripts that lie about above a folder are not of it."""
    top = project(a__b__helper=HELPER, a__b__main=MAIN, a__x="", y="")
    (top / ".git").rmdir()
    monkeypatch.setattr(projects, "MOST_FILES", 2)
    want = [("a/b/helper.py", 2, "TL132")]
    assert told(capsys, ".")[0] == want == told(capsys, "a/b/helper.py")[0]
    assert "whole project" not in told(capsys, "a/b/helper.py")[1]


def test_what_is_too_large_is_said(project, capsys, monkeypatch):
    """In a line, in each format; the exit status is as without, and no comment is called unused."""
    monkeypatch.setattr(projects, "MOST_FILES", 1)
    project(helper=HELPER, main=MAIN)
    found, err = told(capsys, "helper.py")
    assert found == [] and "helper.py: this was judged without the files that use it: more is known with the whole project" in err
    assert main(["helper.py", "--no-cache", "-q"]) == 0
    assert told(capsys, ".")[0] == [("helper.py", 2, "TL132")]
    from torchlint.report import FORMATS

    for format in set(FORMATS) - {"full", "concise", "grouped"}:
        capsys.readouterr()
        main(["helper.py", "--no-cache", "--output-format", format])
        assert "more is known with the whole project" in capsys.readouterr().out, format
    Path("helper.py").write_text(HELPER.replace(".eval\n", ".eval  # noqa: TL132\n"))
    assert told(capsys, "--unused-noqa", "helper.py")[0] == []


def test_alone(project, capsys):
    """Asked for without what uses them, and that is said; what is asked for in the same run counts."""
    project(helper=HELPER, main=MAIN)
    found, err = told(capsys, "--alone", "helper.py")
    assert found == [] and "whole project" in err and "was not looked through, as --alone asks" in err
    assert told(capsys, "--alone", "helper.py", "main.py")[0] == [("helper.py", 2, "TL132")]
    found, err = told(capsys, "--alone", ".")
    assert found == [("helper.py", 2, "TL132")] and "whole project" not in err


def test_a_baseline_keeps_what_was_not_looked_for(project, capsys, monkeypatch):
    project(helper=HELPER, main=MAIN)
    main(["--baseline", "known.json", "--update-baseline", "--no-cache", "-q", "."])
    before = Path("known.json").read_text()
    monkeypatch.setattr(projects, "MOST_FILES", 1)
    main(["--baseline", "known.json", "--update-baseline", "--no-cache", "-q", "helper.py"])
    assert Path("known.json").read_text() == before


def test_an_unsaved_text_that_many_use(project):
    """As long as it is typed, only so many files are judged anew for it; once it is saved, all are."""
    project(helper=HELPER, **{f"main{number}": MAIN for number in range(one.MOST_UNSAVED + 1)})
    session = Session()
    found = session.check("helper.py", HELPER + "\n")
    assert not found and "once it is saved" in found.problems[0].message
    session.forget("helper.py")
    assert [finding.code for finding in session.check("helper.py")] == ["TL132"]


def test_a_user_that_changes_is_seen(project, capsys):
    """What files import is kept in the cache, and looked for again where they were written to."""
    project(helper=HELPER, main="import torch\n")
    os.utime("main.py", (1, 1))
    assert main(["helper.py", "-q"]) == 0
    assert main(["helper.py", "-q"]) == 0
    Path("main.py").write_text(MAIN)
    assert main(["helper.py", "-q"]) == 1
    Path("main.py").unlink()
    assert main(["helper.py", "-q"]) == 0


@pytest.mark.parametrize(
    "text",
    ["import pkg.a", "import pkg.a as b", "from pkg import a", "from pkg.a import x", "from . import a", "from .a import (\n    x,  # (y)\n)",
     "from . import (x,\n    a)", "if 1: import pkg.a", "x = 1; from pkg import a", "from pkg import x, \\\n    a", "try:\n    from .a import *\nexcept E: 0",
     "import pkg\n\npkg.a.f()", "from.a import x", "import os, pkg.a"],
)
def test_ways_to_import(tmp_path, text):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pkg").mkdir()
    files = {name: str(tmp_path / "pkg" / name) for name in ("__init__.py", "a.py", "user.py", "other.py")}
    for name, path in files.items():
        Path(path).write_text(text if name == "user.py" else "import os\nfrom torch import a\nself.a = 1\n")
    assert Users(Modules()).of([files["a.py"]], list(files.values())) == [files["user.py"]]


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "fixtures/lint").iterdir() if path.is_dir()))
def test_the_same_for_each_file_of_the_fixtures(folder, tmp_path, monkeypatch):
    """Asked for alone, and with all others: the same findings in each file."""
    shutil.copytree(ROOT / "fixtures/lint" / folder, tmp_path / folder)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def kinds(findings):
        return Counter((one.location.filename, one.location.row, one.location.column, one.code, one.message) for one in findings)

    whole = kinds(torchlint.check(".", select="ALL"))
    alone = Counter()
    for file in Discovery(Config(tmp_path)).find(["."]):
        found = torchlint.check(file.path, select="ALL")
        assert not found.problems or all("whole project" not in one.message for one in found.problems)
        alone += kinds(found)
    assert alone == whole
