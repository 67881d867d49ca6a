"""The flake8 plug-in, tried by the real flake8."""

import os
import subprocess
import sys

import pytest

from tests.torchlint.support import ROOT, fake_engine, write  # noqa: F401

pytest.importorskip("flake8")
TEXT = "`loss.backward()` adds to the gradients of the last step"


@pytest.fixture
def project(tmp_path, fake_engine):  # noqa: F811
    """A project with a flake8 that sees the working copy's plug-in as if it were installed."""
    write(tmp_path, {"setup.cfg": "", "a.py": "x = 1\nbad()\n", "b.py": "x = 1\n"})
    return tmp_path


@pytest.fixture
def flake8(project):
    """Runs flake8; gives (status, lines, standard error)."""

    def run(*args, text=None):
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        done = subprocess.run(
            [sys.executable, "-m", "flake8", *args],
            cwd=project,
            capture_output=True,
            text=True,
            input=text,
            env={**os.environ, "PYTHONPATH": path},
            timeout=120,
        )
        return done.returncode, done.stdout.splitlines(), done.stderr

    if "torchlint" not in run("--version")[1][0]:
        pytest.skip("torchlint is not installed here, so flake8 cannot know its entry point")
    return run


def test_finds_what_torchlint_finds(flake8):
    assert flake8("--select", "TL") == (1, [f"./a.py:2:1: TL101 {TEXT}"], "")
    assert flake8("--select", "TL", "b.py") == (0, [], "")


def test_is_on_by_default_and_can_be_switched_off(flake8):
    assert "TL101" in "".join(flake8("a.py")[1])
    assert "TL101" not in "".join(flake8("--extend-ignore", "TL", "a.py")[1])
    assert "TL101" not in "".join(flake8("--select", "F", "a.py")[1])


def test_many_processes_agree(flake8, project):
    write(project, {f"f{number}.py": "bad()\n" for number in range(6)})
    alone, many = flake8("--select", "TL", "--jobs", "1"), flake8("--select", "TL", "--jobs", "3")
    assert alone == many and len(alone[1]) == 7


def test_noqa_of_both_kinds(flake8, project):
    write(
        project,
        {"c.py": "bad()  # noqa: TL101\n", "d.py": "# torchlint: noqa\nbad()\n", "e.py": "bad(\n    1,  # noqa\n)\n"},
    )
    assert flake8("--select", "TL", "c.py", "d.py", "e.py") == (0, [], "")
    assert len(flake8("--select", "TL", "--disable-noqa", "c.py", "d.py", "e.py")[1]) == 3


def test_standard_input(flake8):
    assert flake8("--select", "TL", "-", text="bad()\n")[1] == [f"stdin:1:1: TL101 {TEXT}"]
    assert flake8("--select", "TL", "--stdin-display-name", "x/new.py", "-", text="bad()\n")[1] == [
        f"x/new.py:1:1: TL101 {TEXT}"
    ]


def test_findings_in_other_files_are_left_to_those(flake8, project):
    write(project, {"c.py": "elsewhere('b.py')\nbad()\n"})
    assert flake8("--select", "TL", "b.py", "c.py")[1] == [f"c.py:2:1: TL101 {TEXT}"]


def test_other_lines_are_named(flake8, project):
    write(project, {"c.py": "x = 1\nrelated(1)\n"})
    assert flake8("--select", "TL", "c.py")[1] == [f"c.py:2:1: TL101 {TEXT} (see line 1)"]


def test_our_settings_and_flake8s_are_heeded(flake8, project):
    write(project, {"pyproject.toml": "[tool.torchlint.per-file-ignores]\n'a.py' = ['TL1']\n"})
    assert flake8("--select", "TL") == (0, [], "")
    write(project, {"pyproject.toml": "", ".flake8": "[flake8]\nper-file-ignores = a.py: TL101\nselect = TL\n"})
    assert flake8() == (0, [], "")


def test_broken_settings_are_said_once(flake8, project):
    write(project, {"pyproject.toml": "[tool.torchlint]\nslect = 1\n"})
    status, lines, err = flake8("--select", "TL", "--jobs", "1")
    assert (status, lines) == (0, [])
    assert err.count("unknown key 'slect' (did you mean 'select'?)") == 1 and "Traceback" not in err


def test_crash_costs_the_file_and_says_so(flake8, project):
    write(project, {"c.py": "crash()\n"})
    status, lines, err = flake8("--select", "TL")
    assert lines == [f"./a.py:2:1: TL101 {TEXT}"]
    assert err.count("\n") == 1 and "internal error, please report it" in err


def test_codes_spelled_out_are_judged_even_if_off_by_default(tmp_path):
    from argparse import Namespace

    from torchlint.flake8 import TorchlintPlugin

    page = "+++\ncode = 777\nname = 'our-own'\nsummary = 's'\ngroup = 'performance'\n[[call]]\nname = 'torch.load'\n+++\ntext\n"
    write(tmp_path, {"pyproject.toml": "[tool.torchlint]\nextend-rules = ['r']\n", "r/777.md": page})

    def judged_by(**options):
        TorchlintPlugin.parse_options(Namespace(**{"select": None, "extend_select": None, **options}))
        runner = TorchlintPlugin._runner(tmp_path).runner
        return {rule.code for rule in runner.order.rules}

    try:
        assert 777 not in judged_by()
        assert 777 not in judged_by(select=["TL"])
        assert judged_by() - judged_by(select=["TL"]) == set()
        assert 777 in judged_by(select=["E", "TL777"])
        assert 777 in judged_by(extend_select=["TL77", "TL000"])
    finally:
        TorchlintPlugin.parse_options(Namespace(select=None))


def test_plugin_itself(tmp_path, monkeypatch, fake_engine, capsys):  # noqa: F811
    """Once in this process too, where coverage and debuggers see it."""
    from argparse import Namespace

    from torchlint.flake8 import TorchlintPlugin

    write(tmp_path, {"setup.cfg": "", "sub/x": ""})
    monkeypatch.chdir(tmp_path)

    def found(text, filename="x.py", **options):
        TorchlintPlugin.parse_options(Namespace(select=["TL"], **options))
        return [item[:3] for item in TorchlintPlugin(None, filename, text.splitlines(keepends=True)).run()]

    try:
        assert found("x = 1\r\nbad()\r\n") == [(2, 0, f"TL101 {TEXT}")]
        assert found("bad()", "-", stdin_display_name="y.py") == [(1, 0, f"TL101 {TEXT}")]
        assert found("bad()  # noqa\n") == []
        assert found("bad()  # noqa\n", disable_noqa=True) != []
        assert found("crash()\n") == []
        assert "x.py: internal error" in capsys.readouterr().err
        write(tmp_path, {"torchlint.toml": "nope = 1\n"})
        TorchlintPlugin.parse_options(Namespace(select=["TL"]))
        for name in ("x.py", "sub/y.py", "x.py"):
            assert list(TorchlintPlugin(None, name, ["bad()\n"]).run()) == []
        assert capsys.readouterr().err.count("unknown key 'nope'") == 1
    finally:
        TorchlintPlugin.parse_options(Namespace(select=None))
