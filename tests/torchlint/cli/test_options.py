"""Options that people know from other linters: what is left out, what is mended, when the command fails."""

import json
import os

import pytest

from tests.torchlint.support import fake_engine, write  # noqa: F401
from torchlint.cli import main
from torchlint.cli.agents import VARIABLES

BAD = "import torch\n\n\ndef step(optimizer, loss):\n    optimizer.zero_grad\n    loss.backward()\n    optimizer.step()\n"


@pytest.fixture
def lint(tmp_path, monkeypatch, capfd):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*args, format="concise"):
        status = main([*args, "--no-cache", *(["-f", format] if format else [])])
        out, err = capfd.readouterr()
        return status, out, err

    return run


@pytest.fixture
def project(tmp_path, fake_engine):  # noqa: F811
    return write(tmp_path, {"setup.cfg": "", "a.py": "bad()\n", "b/c.py": "bad()\n", "b/d.py": "bad()\n"})


def found(out):
    return [line.partition(":")[0] for line in out.splitlines()]


def test_what_is_left_out(lint, project):
    assert found(lint()[1]) == ["a.py", "b/c.py", "b/d.py"]
    assert found(lint("--exclude", "b")[1]) == ["a.py"]
    assert found(lint("--exclude", "a.py,b/c.py")[1]) == ["b/d.py"]
    write(project, {"torchlint.toml": "extend-exclude = ['a.py']\n"})
    assert found(lint("--extend-exclude", "c.py")[1]) == ["b/d.py"]
    assert lint("--exclude", "")[2] == "" and lint("--exclude", "a[")[2].startswith("torchlint: error: --exclude: 'a[' is no")


def test_rules_left_out_in_some_files(lint, project):
    assert found(lint("--per-file-ignores", "b/*:TL101,a.py:TL2")[1]) == ["a.py"]
    write(project, {"torchlint.toml": "per-file-ignores = {'a.py' = ['TL1']}\n"})
    assert found(lint()[1]) == ["b/c.py", "b/d.py"]
    assert found(lint("--per-file-ignores", "b/c.py:correctness")[1]) == ["a.py", "b/d.py"]
    assert found(lint("--extend-per-file-ignores", "b/c.py:correctness")[1]) == ["b/d.py"]
    status, out, err = lint("--per-file-ignores", "b.py")
    assert (status, out) == (2, "") and "'b.py' is no PATTERN:RULE such as tests/*:TL2" in err
    assert "'TL9999' is no rule" in lint("--per-file-ignores", "b.py:TL9999")[2]


def test_settings_on_the_command_line(lint, project):
    write(project, {"other.toml": "extend-exclude = ['b']\n"})
    assert found(lint("--config", "other.toml")[1]) == ["a.py"]
    assert found(lint("--config", "extend-exclude = ['c.py']")[1]) == ["a.py", "b/d.py"]
    assert found(lint("--config", "other.toml", "--config", "extend-exclude=[]")[1]) == ["a.py", "b/c.py", "b/d.py"]
    assert found(lint("--isolated", "--config", "exclude = ['b']")[1]) == ["a.py"]
    assert lint("--config", "ignore=1")[2] == "torchlint: error: --config ignore=1: ignore must be a list of strings\n"
    assert "--config names several files" in lint("--config", "other.toml", "--config", "x.toml")[2]


def test_each_folder_is_judged_by_its_own_settings(lint, project):
    write(project, {"torchlint.toml": "", "b/torchlint.toml": "per-file-ignores = {'c.py' = ['TL1']}\n", "e/f.py": "bad()\n",
                    "e/g.py": "bad()\n", "e/pyproject.toml": "[tool.torchlint]\nexclude = ['g.py']\nfail-on = 'error'\n"})
    assert found(lint()[1]) == ["a.py", "b/d.py", "e/f.py"]
    assert found(lint("a.py", "b/c.py", "e/f.py")[1]) == ["a.py", "e/f.py"]
    assert found(lint("b", "e")[1]) == ["b/d.py", "e/f.py"]
    assert lint("--show-files")[1].split() == ["a.py", "b/c.py", "b/d.py", "e/f.py"]
    assert lint("e/g.py", "--force-exclude", "-q")[:2] == (0, "")
    assert found(lint("--isolated")[1]) == found(lint("--config", "torchlint.toml")[1]) == [
        "a.py", "b/c.py", "b/d.py", "e/f.py", "e/g.py",
    ]
    status, out, err = lint(format="full")
    assert status == 1 and "Found 3 errors in 3 of 4 files." in out
    write(project, {"b/torchlint.toml": "\nslect = []\n"})
    status, out, err = lint()
    assert (status, out) == (2, "") and err.endswith("b/torchlint.toml:2: unknown key 'slect' (did you mean 'select'?)\n")


def test_when_the_command_fails(lint, project):
    assert lint("--fail-on", "error")[0] == 1
    write(project, {"torchlint.toml": "severity = {correctness = 'warning'}\n"})
    assert lint("--fail-on", "error")[0] == 0 and lint("--fail-on", "warning")[0] == lint("--fail-on", "note")[0] == 1
    write(project, {"torchlint.toml": "severity = {correctness = 'warning'}\nfail-on = 'error'\n"})
    assert lint()[0] == 0 and lint("--fail-on", "warning")[0] == 1
    assert lint("--fail-on", "never")[0] == 2


def test_comments_can_be_heeded_or_not(lint, project):
    write(project, {"a.py": "bad()  # noqa: TL101\n"})
    assert lint("a.py")[:2] == (0, "")
    assert lint("a.py", "--ignore-noqa")[0] == 1


def test_formats_by_settings_and_environment(lint, project, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    write(project, {"torchlint.toml": "output-format = 'json'\n"})
    assert json.loads(lint("a.py", format=None)[1])[0]["code"] == "TL101"
    monkeypatch.setenv("TORCHLINT_OUTPUT_FORMAT", "pylint")
    assert lint("a.py", format=None)[1].startswith("a.py:1: [TL101]")
    assert lint("a.py", format="concise")[1].startswith("a.py:1:1: TL101")
    monkeypatch.setenv("TORCHLINT_OUTPUT_FORMAT", "xml")
    assert "TORCHLINT_OUTPUT_FORMAT" in lint("a.py", format=None)[2]


def test_an_agent_gets_its_format_by_itself(lint, project, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert "╭─" in lint("a.py", format=None)[1]
    monkeypatch.setenv("AI_AGENT", "some-agent")
    assert lint("a.py", format=None)[1].startswith("a.py:1:1: error TL101 ")
    assert "╭─" in lint("a.py", format="full")[1]
    lint("a.py", "-o", "out.txt", format=None)
    assert "╭─" in (project / "out.txt").read_text(encoding="utf-8")


def test_colours(lint, project, monkeypatch):
    assert "\x1b[" in lint("a.py", "--color", "always", format="full")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" not in lint("a.py", "--color", "never", format="full")[1]
    assert "\x1b[" in lint("a.py", format="full")[1]


def test_what_may_be_mended(lint, tmp_path):
    write(tmp_path, {"a.py": BAD})
    for options in (("--unfixable", "TL132"), ("--fixable", "TL2"), ("--config", "unfixable=['TL1']"), ("--config", "fixable=[]")):
        status, out, _ = lint("--fix", *options)
        assert status == 1 and "TL132 `" in out and (tmp_path / "a.py").read_text() == BAD
    assert "TL132 [*]" in lint("--fixable", "TL1,TL2", "--unfixable", "TL2")[1]


def test_mended_and_told(lint, tmp_path):
    write(tmp_path, {"a.py": BAD, "sub/b.py": BAD})
    status, out, err = lint("--diff")
    assert status == 1 and out.count("+    optimizer.zero_grad()\n") == 2
    assert err == "torchlint: would mend 2 findings in 2 files (TL132 2)\n"
    assert lint("--diff", "-q")[2] == ""
    status, out, err = lint("--fix", "--show-fixes", "--exit-non-zero-on-fix")
    assert status == 1
    assert err == (
        "torchlint: mended 2 findings in 2 files (TL132 2)\na.py:\n  1 x TL132 uncalled-method\n"
        "sub/b.py:\n  1 x TL132 uncalled-method\n"
    )
    assert lint("--fix", "--exit-non-zero-on-fix") == (0, "", "")
    assert lint("--diff") == (0, "", "")


def test_fix_only(lint, tmp_path):
    write(tmp_path, {"a.py": BAD + "model.load_state_dict(torch.load('x', weights_only=False))\n"})
    assert lint("--fix-only", "--extend-select", "TL909") == (0, "", "torchlint: mended 1 finding in 1 file (TL132 1); 1 more with --unsafe-fixes\n")
    assert lint("a.py", "--extend-select", "TL909")[0] == 1
    assert "--fix-only changes files" in lint("--fix-only", "--diff")[2]
    assert "--show-fixes is of use only together with --fix" in lint("--show-fixes")[2]


def test_what_only_unsafe_fixes_would_mend_is_counted(lint, tmp_path):
    text = "import torch\nfrom torch.utils.checkpoint import checkpoint\n\n\ndef run(f, x):\n    return checkpoint(f, x, use_reentrant=True)\n"
    write(tmp_path, {"a.py": text, "b.py": BAD, "c.py": "import torch\n\n\ndef f(model, path):\n    model.load_state_dict(torch.load(path, weights_only=False))\n"})
    err = lint("--diff", "--extend-select", "ALL")[2]
    assert "would mend 1 finding in 1 file (TL132 1); " in err and "more with --unsafe-fixes" in err
    assert "[*]" in lint("c.py", "--unsafe-fixes", "--extend-select", "ALL")[1]


def test_why_a_fix_was_taken_back(lint, tmp_path, monkeypatch):
    """The engine is made to find something new in what is mended."""
    from torchlint.fixes import fixer

    write(tmp_path, {"a.py": BAD})
    real = fixer.Fixer._findings

    def findings(self, path, raw):
        told = real(self, path, raw)
        return told + told if b"zero_grad()" in raw else told

    monkeypatch.setattr(fixer.Fixer, "_findings", findings)
    monkeypatch.setattr(fixer, "apply", lambda path, raw, edits: raw + b"\nx = (\n")
    status, out, err = lint("--fix")
    assert status == 1 and (tmp_path / "a.py").read_text() == BAD
    assert err == (
        "torchlint: note: a.py:5: the fix of TL132 was taken back: the result does not parse, or cannot be judged\n"
    )
    assert "TL132 `" in out and "[*]" not in out and "fixable" not in out, "nobody is told to try it again"


def test_unused_comments_are_taken_out(lint, tmp_path):
    write(tmp_path, {"a.py": (
        "import torch\nx = 1  # noqa: TL901\ny = 2  # noqa: TL901, E501\nz = 3  # noqa: TL901  because\n# about  # noqa: TL1\n"
        "m = torch.load('x')  # noqa: TL901, TL1\nm.eval()\nv = 1  # noqa\n"
    )})
    status, out, err = lint("--diff", "--unused-noqa")
    assert status == 1 and "-x = 1  # noqa: TL901\n" in out and "TL000 5" in err
    status, out, err = lint("--fix", "--unused-noqa")
    assert (status, out) == (0, "") and "TL000 5" in err
    assert (tmp_path / "a.py").read_text() == (
        "import torch\nx = 1\ny = 2  # noqa: E501\nz = 3  # because\n# about\n"
        "m = torch.load('x')  # noqa: TL901\nm.eval()\nv = 1  # noqa\n"
    )
    assert lint("--config", "unused-noqa=true") == (0, "", "")


def test_the_diff_shows_comments_that_are_of_no_use_after_the_fixes(lint, tmp_path):
    """In files that fixes change, too: what --diff shows is what --fix does."""
    write(tmp_path, {"a.py": (
        "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\nx = 1  # noqa: TL101\n"
        "model.eval  # noqa: TL132\nmodel.train  # noqa: TL101\n"
    )})
    status, out, err = lint("--diff", "--unused-noqa")
    assert status == 1 and "(TL000 2, TL132 2)" in err
    added = [line[1:] for line in out.splitlines() if line[0] == "+" and line[:3] != "+++"]
    assert lint("--fix", "--unused-noqa")[0] == 0
    assert added == ["model.eval()", "x = 1", "model.train()"]
    assert (tmp_path / "a.py").read_text().splitlines()[3:] == ["model.eval()", "x = 1", "model.eval  # noqa: TL132", "model.train()"]


def test_unused_comments_in_notebooks_and_behind_long_strings(lint, tmp_path):
    cell = 'x = """a\nb"""  # noqa: TL901\n%time y = 1\nz = (1,  # noqa: TL1\n     2)\n'
    book = {"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": cell.splitlines(keepends=True)}]}
    write(tmp_path, {"n.ipynb": json.dumps(book, indent=1), "a.py": cell.replace("%time ", "")})
    out = lint("--unused-noqa")[1]
    assert "n.ipynb:cell 2:2:7: TL000 [*]" in out and "n.ipynb:cell 2:4:10: TL000 [*]" in out and "a.py:4:10: TL000" in out
    assert lint("--fix", "--unused-noqa")[:2] == (0, "")
    assert "".join(json.loads((tmp_path / "n.ipynb").read_text())["cells"][1]["source"]) == (
        'x = """a\nb"""\n%time y = 1\nz = (1,\n     2)\n'
    )
    assert "noqa" not in (tmp_path / "a.py").read_text()


def test_a_baseline_says_what_it_hides_and_what_is_stale(lint, project):
    lint("--baseline", "known.json", "--update-baseline")
    status, out, err = lint("--baseline", "known.json")
    assert (status, out, err) == (0, "", "torchlint: known.json: 3 known findings left out\n")
    write(project, {"a.py": "x = 1\n", "b/c.py": "x = 1\n"})
    assert lint("--baseline", "known.json")[2] == (
        "torchlint: known.json: 1 known finding left out; 2 of its entries are stale, --update-baseline takes them out\n"
    )
    assert lint("b/d.py", "--baseline", "known.json")[2] == "torchlint: known.json: 1 known finding left out\n"
    os.unlink("a.py")
    assert "1 of its entries is stale" in lint("b/d.py", "--baseline", "known.json")[2]
    assert lint("--baseline", "known.json", "-q")[2] == ""


def test_the_fix_is_a_diff_for_agents(lint, tmp_path, monkeypatch):
    write(tmp_path, {"a.py": BAD})
    assert "  fix (--fix): call it: add `()`\n  @@ -5 +5 @@\n  -    optimizer.zero_grad\n  +    optimizer.zero_grad()\n" in lint(format="agent")[1]
