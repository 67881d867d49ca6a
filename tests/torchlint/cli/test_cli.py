"""The command: options, exit statuses, and the one clear line for everything that goes wrong."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import click
import pytest

from tests.torchlint.support import ROOT, fake_engine, run_python, write  # noqa: F401
from torchlint import __version__, report
from torchlint.cli import main
from torchlint.cli.arguments import FORMATS


@pytest.fixture
def project(tmp_path, monkeypatch, fake_engine):  # noqa: F811
    """A project to work in, with one finding in a.py and none in b.py."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path, {"setup.cfg": "", "a.py": "x = 1\nbad()\n", "b.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lint(project, capfd):
    """Runs the command; gives (status, standard output, standard error)."""

    def run(*args):
        status = main(list(args))
        out, err = capfd.readouterr()
        return status, out, err

    return run


def stdin(monkeypatch, raw):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


LINE = "a.py:2:1: TL101 `loss.backward()` adds to the gradients of the last step\n"


def test_statuses(lint):
    assert lint("-f", "concise") == (1, LINE, "")
    assert lint("a.py", "-f", "concise") == (1, LINE, "")
    assert lint("a.py", "-f", "concise", "--exit-zero") == (0, LINE, "")
    assert lint("b.py") == (0, "No mistakes found in 1 file.\n", "")
    assert lint("b.py", "--quiet") == (0, "", "")
    status, out, err = lint("a.py", "no.py", "-f", "concise")
    assert (status, out, err) == (2, LINE, "torchlint: no.py: no such file or folder\n")
    assert lint("b.py", "no.py", "--exit-zero")[0] == 2


def test_bad_files_cost_one_line_each_and_the_run_goes_on(lint, project):
    write(
        project,
        {
            "broken.py": "x = (\n",
            "n.ipynb": "{",
            "latin.py": b"x = 1\n'\xe9'\n",
            "crash.py": "crash()\n",
            "empty.py": "",
        },
    )
    status, out, err = lint("-f", "concise")
    assert (status, out) == (2, LINE)
    assert [line.split(": ", 2)[:2] for line in err.splitlines()] == [
        ["torchlint", "broken.py:1"],
        ["torchlint", "crash.py"],
        ["torchlint", "latin.py:2"],
        ["torchlint", "n.ipynb"],
    ]
    assert "Traceback" not in err


def test_cells_that_do_not_parse_are_named(lint, project):
    write(
        project,
        {"n.ipynb": '{"cells": [{"cell_type": "code", "source": "def :"}, {"cell_type": "code", "source": "bad()"}]}'},
    )
    status, out, err = lint("n.ipynb", "-f", "concise")
    assert status == 2 and out.startswith("n.ipynb:cell 2:1:1: TL101")
    assert err == "torchlint: n.ipynb:cell 1:1: this cell does not parse: invalid syntax\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--select", "TL9999"], "--select: 'TL9999' is no rule, prefix or group"),
        (
            ["--ignore", "corectness"],
            "--ignore: 'corectness' is no rule, prefix or group (did you mean 'correctness'?)",
        ),
        (["--extend-select", "TL101,nope"], "--extend-select: 'nope' is no rule, prefix or group"),
        (["--output-format", "xml"], "Invalid value for '-f' / '--output-format': 'xml' is not one of"),
        (["--jobs", "0"], "Invalid value for '-j' / '--jobs': 0 is not in the range x>=1."),
        (["--jobs", "many"], "Invalid value for '-j' / '--jobs': 'many' is not a valid integer"),
        (["--torch-version", "new"], "Invalid value for '--torch-version': 'new' is no release such as 2.6"),
        (["--nope"], "No such option"),
        (["-", "a.py"], "- (standard input) cannot be given together with other paths"),
        (["--stdin-filename", "x.py", "a.py"], "--stdin-filename is of use only where standard input is read"),
        (["--config", "no.toml"], "no.toml: cannot be read: no such file or directory"),
        (["-o", "no/such/out.txt"], "no/such/out.txt: cannot be written: no such file or directory"),
        (["explain", "TL100"], "there is no rule 'TL100'"),
        (["explain", "missing-zero-gard"], "there is no rule 'missing-zero-gard' (did you mean 'missing-zero-grad'?)"),
        (["explain"], "Missing argument 'RULE'"),
        (["rules", "-f", "xml"], "Invalid value for '-f'"),
    ],
)
def test_what_cannot_be_run_is_one_clear_line(lint, args, message):
    status, out, err = lint(*args)
    assert (status, out) == (2, "")
    assert err.startswith(f"torchlint: error: {message}")
    assert err.count("\n") == 1


def test_broken_settings_and_pages(lint, project):
    write(project, {"pyproject.toml": "[tool.torchlint]\nslect = []\n"})
    status, out, err = lint()
    assert (status, out) == (2, "")
    assert err.endswith("pyproject.toml:2: unknown key 'slect' (did you mean 'select'?)\n") and err.count("\n") == 1
    assert lint("--isolated", "-q", "b.py")[0] == 0
    write(project, {"pyproject.toml": "[tool.torchlint]\nextend-rules = ['r']\n", "r/1.md": "x"})
    assert "1.md: no front matter" in lint()[2]


def test_settings_are_heeded(lint, project):
    write(project, {"pyproject.toml": "[tool.torchlint]\nexclude = ['a.py']\n"})
    assert lint("-f", "concise") == (0, "", "")
    assert lint("-f", "concise", "a.py")[0] == 1
    assert lint("-f", "concise", "a.py", "--force-exclude") == (
        0,
        "",
        "torchlint: warning: no Python files or notebooks there\n",
    )
    assert lint("-f", "concise", "a.py", "--force-exclude", "-q") == (0, "", "")


def test_selection_reaches_the_engine(lint, project, monkeypatch):
    seen = []

    class Spy:
        def __init__(self, order):
            seen.append(([rule.code for rule in order.rules], order.torch_version))

        def check(self, filename, text):
            from torchlint.engine import Judged

            return Judged(())

    monkeypatch.setattr("torchlint.run.judge.make_engine", Spy)
    write(
        project, {"pyproject.toml": "[tool.torchlint]\nselect = ['TL1']\nignore = ['TL102']\ntorch-version = '2.1'\n"}
    )
    lint("--no-cache")
    lint("--no-cache", "--ignore", "TL103", "--extend-select", "201,missing-no-grad")
    lint("--no-cache", "--select", "TL102", "--torch-version", "2.7")
    lint("--no-cache", "--isolated")
    (first, release), (second, _), (third, given), (default, unknown) = seen
    assert 101 in first and 102 not in first and not [code for code in first if code // 100 != 1]
    assert set(second) == {*first, 201, 202} - {103}
    assert (third, release, given, unknown) == ([102], (2, 1), (2, 7), None)
    assert {101, 301} <= set(default)


def test_standard_input(lint, project, monkeypatch):
    stdin(monkeypatch, b"bad()\n")
    assert lint("-", "-f", "concise")[:2] == (1, LINE.replace("a.py:2", "-:1"))
    stdin(monkeypatch, "x = 'é'\r\nbad()\r\n".encode())
    assert lint("-", "--stdin-filename", "sub/new.py", "-f", "concise")[1] == LINE.replace("a.py", "sub/new.py")
    stdin(monkeypatch, b'{"cells": [{"cell_type": "code", "source": "bad()"}]}')
    status, out, _ = lint("-", "--stdin-filename", "n.ipynb")
    assert status == 1 and "1 │ bad()" in out
    stdin(monkeypatch, b"x = (\n")
    assert lint("-") == (
        2,
        "No mistakes found in what could be judged of 1 file.\n",
        "torchlint: -:1: does not parse: '(' was never closed\n",
    )
    stdin(monkeypatch, b"bad()  # noqa\n")
    assert lint("-", "-q") == (0, "", "")
    stdin(monkeypatch, b"\xff")
    assert lint("-", "-q")[0] == 2


def test_full_is_the_default(lint):
    status, out, err = lint("a.py")
    assert (status, err) == (1, "")
    assert "2 │ bad()\n" in out and out.endswith("Found 1 error in 1 file.\n")
    assert not lint("a.py", "-q")[1].endswith("file.\n")


@pytest.mark.parametrize("format", FORMATS)
def test_formats(lint, project, format):
    status, out, err = lint("a.py", "-f", format)
    assert (status, err) == (1, "")
    assert "TL101" in out and "a.py" in out
    assert lint("a.py", "-f", format, "-o", "out.txt") == (1, "", "")
    assert (project / "out.txt").read_text(encoding="utf-8") == out
    assert tuple(report.FORMATS) == FORMATS


def test_filenames_are_as_people_see_them(lint, project, monkeypatch):
    (project / "sub").mkdir()
    assert json.loads(lint("-f", "json")[1])[0]["filename"] == "a.py"
    assert json.loads(lint(str(project), "-f", "json")[1])[0]["filename"] == "a.py"
    monkeypatch.chdir(project / "sub")
    assert json.loads(lint("..", "-f", "json")[1])[0]["filename"] == str(project / "a.py")


def test_statistics(lint):
    assert lint("--statistics") == (1, "1  TL101  missing-zero-grad\n", "")
    assert json.loads(lint("--statistics", "-f", "json")[1]) == [
        {"code": "TL101", "name": "missing-zero-grad", "count": 1}
    ]


def test_cache_options(lint, project, fake_engine):  # noqa: F811
    lint("--no-cache")
    assert not (project / ".torchlint_cache").exists()
    lint("--cache-dir", "elsewhere")
    assert not (project / ".torchlint_cache").exists() and (project / "elsewhere" / "CACHEDIR.TAG").exists()
    fake_engine()
    lint("--cache-dir", "elsewhere")
    assert fake_engine() == []
    assert lint("--cache-dir", "a.py/x", "-q", "b.py") == (
        0,
        "",
        "torchlint: warning: a.py/x: cache cannot be written: not a directory\n",
    )


def test_explain(lint, monkeypatch):
    pages = [lint("explain", key)[1] for key in ("101", "TL101", "tl101", "TS101", "missing-zero-grad")]
    assert len(set(pages)) == 1
    assert pages[0].startswith("# TL101 missing-zero-grad\n") and "## Why" in pages[0]
    monkeypatch.setenv("FORCE_COLOR", "1")
    status, out, err = lint("explain", "101")
    assert (status, err) == (0, "") and "\x1b[" in out and "Why" in out and "## Why" not in out


def test_rules(lint, monkeypatch):
    status, out, _ = lint("rules")
    assert status == 0 and out.startswith("TL001  pad-is-eos-in-labels") and "\nTL101  missing-zero-grad" in out
    listed = json.loads(lint("rules", "--output-format", "json")[1])
    wanted = {"code": "TL101", "group": "correctness", "default": True, "severity": "error"}
    assert any(wanted.items() <= one.items() for one in listed)
    assert len(listed) == len(out.splitlines())
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    assert "\x1b[" in lint("rules")[1]


def test_paths_called_like_commands(lint, project):
    write(project, {"rules/x.py": "bad()\n"})
    assert lint("./rules", "-f", "concise")[1] == LINE.replace("a.py:2", "rules/x.py:1")


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["explain", "--help"], ["rules", "--help"]])
def test_help(lint, args):
    status, out, err = lint(*args)
    assert (status, err) == (0, "") and out.startswith("Usage: torchlint")


def test_version(lint):
    assert lint("--version") == (0, f"torchlint {__version__}\n", "")


def test_failures_of_ours_are_one_line_unless_asked(lint, monkeypatch):
    for error in (RuntimeError("boom\nmore"), ValueError("boom"), click.exceptions.Abort(), KeyboardInterrupt()):

        def fail(*args, error=error, **more):
            raise error

        monkeypatch.setattr("torchlint.cli.check.run_check", fail)
        status, out, err = lint()
        assert out == "" and err.strip().count("\n") == 0
        if not isinstance(error, (click.exceptions.Abort, KeyboardInterrupt)):
            assert status == 2 and err.startswith(
                f"torchlint: error: internal error, please report it ({type(error).__name__}: boom)"
            )
        else:
            assert (status, err.strip()) == (130, "torchlint: interrupted")
    monkeypatch.setattr("torchlint.cli.check.run_check", lambda *args, **more: 1 / 0)
    monkeypatch.setenv("TORCHLINT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        lint()


def test_module_can_be_run(project):
    done = run_python("-m", "torchlint", "-f", "concise")
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (1, LINE, "")


def test_reader_that_hangs_up(project):
    write(project, {f"f{number}.py": "bad()\n" * 2000 for number in range(3)})
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with subprocess.Popen(
        [sys.executable, "-m", "torchlint"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_run_ends_with_one_line_and_keeps_what_it_found(project, jobs):
    write(project, {"q1.py": "x = 1\n" * 20_000, "q2.py": "x = 1\n" * 19_000 + "sleep(60)\n"})
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    log = os.environ["FAKE_ENGINE_LOG"]
    with subprocess.Popen(
        [sys.executable, "-m", "torchlint", "-j", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        # A shell that runs the tests in the background hands an ignored SIGINT down to everything it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists(log) and "q2.py" in open(log).read()):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"torchlint: interrupted")
    if jobs == "1":
        assert list((project / ".torchlint_cache").glob("*/*.msgpack"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_terminals_in_long_runs_alone(lint, monkeypatch):
    from torchlint.cli.progress import Bar
    from torchlint.run.runner import Tick

    for patience, quiet, shown in ((0.0, False, True), (3600.0, False, False), (0.0, True, False)):
        err = Terminal()
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setattr("torchlint.cli.progress._PATIENCE", patience)
        monkeypatch.setattr("torchlint.cli.progress._BETWEEN", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        with Bar(quiet) as bar:
            bar(Tick(1, 2))
            bar(Tick(2, 2))
        assert ("judging" in err.getvalue()) is shown
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Bar() as bar:
        bar(Tick(1, 2))
    assert sys.stderr.getvalue() == ""
