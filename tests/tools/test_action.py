"""The action for GitHub, as far as it goes without GitHub: its settings, and the step that judges, in a repository with a base."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "check")
SCRIPT = ROOT / "tools" / "action" / "check.sh"
pytestmark = pytest.mark.skipif(os.name == "nt" or shutil.which("git") is None, reason="needs bash and git")


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    """A clone whose branch has a mistake more than its base."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "train.py").write_text(program(""))
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "base")
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    (clone / "train.py").write_text(program("        optimizer.zero_grad\n"))
    return clone


def program(line):
    return (
        "import torch\nfrom torch import nn\n\n\ndef train(loader):\n    model = nn.Linear(2, 2)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for x, y in loader:\n" + line +
        "        loss = nn.functional.cross_entropy(model(x).softmax(1), y)\n        loss.backward()\n        optimizer.step()\n"
        "        optimizer.zero_grad()\n"
    )


def check(clone, **environment):
    tools = clone.parent / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "torchlint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchlint "$@"\n')
    (tools / "torchlint").chmod(0o755)
    output = clone.parent / "output"
    output.write_text("")
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", str(SCRIPT)], cwd=clone, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PATH": path, "GITHUB_OUTPUT": str(output), "PYTHONPATH": str(ROOT / "src"), **environment},
    )
    return done.returncode, done.stdout, output.read_text()


def test_all_findings_are_annotated_and_counted(clone):
    status, out, output = check(clone)
    assert status == 1 and output == "findings=2\n"
    assert re.findall(r"^::(?:error|warning) [^,]*,file=train\.py,line=(\d+)", out, re.M) == ["9", "10"]


def test_only_what_the_base_does_not_have(clone):
    status, out, output = check(clone, TORCHLINT_BASE="main", TORCHLINT_SARIF="t.sarif", TORCHLINT_COMMENT="t.md")
    assert status == 1 and output == "findings=1\n"
    assert re.findall(r"^::(?:error|warning) [^,]*,file=train\.py,line=(\d+)", out, re.M) == ["9"]
    assert [one["ruleId"] for one in json.loads((clone / "t.sarif").read_text())["runs"][0]["results"]] == ["TL132"]
    comment = (clone / "t.md").read_text()
    assert comment.startswith("torchlint: 1 new since `main`") and "train.py:9:" in comment and "TL301" not in comment
    assert sorted(path.name for path in clone.iterdir()) == [".git", ".torchlint_cache", "t.md", "t.sarif", "train.py"]


def test_a_failure_is_one(clone):
    status, _, _ = check(clone, TORCHLINT_ARGS="--select TL9999")
    assert status == 2


def test_step_gets_what_the_script_reads():
    read = set(re.findall(r"TORCHLINT_[A-Z]+", SCRIPT.read_text(encoding="utf-8")))
    assert set(STEP["env"]) == read
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])
