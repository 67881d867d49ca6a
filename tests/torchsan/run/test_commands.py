"""The commands beside `run`: explain and rules; and options that choose rules."""

import json

import pytest

from torchlint.catalogue.pages import catalogue
from torchsan.options import Options
from torchsan.run.cli import main


@pytest.fixture
def run(monkeypatch, capfd):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*args):
        status = main(list(args))
        out, err = capfd.readouterr()
        return status, out, err

    return run


def test_a_command_is_needed(run):
    status, out, err = run()
    assert (status, out) == (2, "") and err.startswith("torchsan: error: no command: torchsan run SCRIPT")
    assert run("--help")[0] == 0


def test_explain(run):
    status, out, err = run("explain", "TS101")
    assert (status, err) == (0, "") and out.startswith("# TS101 missing-zero-grad\n")
    assert "a run cannot show it, torchlint does" in run("explain", next(
        rule.name for rule in catalogue() if rule.live == "none"
    ))[1]
    assert "there is no rule 'missing-zero-gard' (did you mean 'missing-zero-grad'?)" in run("explain", "missing-zero-gard")[2]


def test_rules_are_those_that_a_run_can_show(run):
    listed = json.loads(run("rules", "-f", "json")[1])
    assert {rule["code"] for rule in listed} == {f"TS{rule.code:03d}" for rule in catalogue() if rule.live != "none"}
    lines = run("rules")[1].splitlines()
    assert len(lines) == len(listed) and lines[0].startswith("TS001  pad-is-eos-in-labels")


def test_extend_select_adds(tmp_path, run):
    assert not Options().wants(952, "seed", "opt-in") and Options(extend_select=("TS952",)).wants(952, "seed", "opt-in")
    assert Options(extend_select=("TS952",)).wants(101, "missing-zero-grad", "correctness")
    (tmp_path / "x.py").write_text("x = 1\n")
    assert "'nope' is no code, prefix, name or group" in run("run", "--extend-select", "nope", str(tmp_path / "x.py"))[2]


def test_a_number_that_no_rule_has(tmp_path, run, monkeypatch):
    (tmp_path / "x.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    status, out, err = run("run", "--select", "TS999", "x.py")
    assert status == 2 and "'TS999' is no code, prefix, name or group" in err
    # A script that is not there: one that runs here would be watched until this process ends.
    assert "is no code" not in run("run", "--select", "TS1,9", "gone.py")[2]
    (tmp_path / "pyproject.toml").write_text('[tool.torchsan]\nextend_rules = ["rules"]\n')  # it may be one of these
    assert "is no code" not in run("run", "--select", "TS999", "gone.py")[2]
