"""examples/: the sound scripts run and nothing is said of them; the others are what they are meant to be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"
SOUND = ("classifier.py", "amp.py", "ddp.py")
RUNS = {
    "classifier": ["classifier.py", "--epochs", "2", "--images", "400"],
    "amp-bfloat16": ["amp.py", "--epochs", "1", "--sequences", "128"],
    "amp-float16": ["amp.py", "--epochs", "1", "--sequences", "128", "--dtype", "float16", "--accumulate", "3"],
    "mistakes": ["mistakes.py", "--epochs", "1"],
    "broken_training": ["broken_training.py"],
    "broken_training-silent-sensor": ["broken_training.py", "--silent-sensor"],
}


def codes(name, capsys):
    """How torchlint judges an example: the codes in order of their lines."""
    main([str(EXAMPLES / name), "--output-format", "json", "--no-cache", "--isolated", "--jobs", "1", "--quiet"])
    out, err = capsys.readouterr()
    assert err == ""
    return [finding["code"] for finding in json.loads(out)]


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_said_of_sound_examples(name, capsys):
    assert codes(name, capsys) == []


def test_mistakes_are_found(capsys):
    wanted = {101, 106, 109, 118, 132, 134, 202, 203, 204, 301, 401, 501, 502, 904, 906}
    assert set(codes("mistakes.py", capsys)) == {f"TL{number:03d}" for number in wanted}


def test_broken_training_is_told_from_its_source_too(capsys):
    assert set(codes("broken_training.py", capsys)) == {"TL101", "TL201", "TL301", "TL501"}


def run(command, folder):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", RUNS)
def test_runs(name, tmp_path):
    pytest.importorskip("torch")
    script, *options = RUNS[name]
    assert run([sys.executable, str(EXAMPLES / script), *options], tmp_path)


def test_ddp_runs_on_two_processes(tmp_path):
    torch = pytest.importorskip("torch")
    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        pytest.skip("torch was built without gloo")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    out = run([*launcher, str(EXAMPLES / "ddp.py"), "--epochs", "2", "--rows", "512"], tmp_path)
    assert "2 processes on cpu" in out
    assert "the saved weights give" in out
