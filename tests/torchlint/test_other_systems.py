"""macOS and Windows, as far as they can be had on Linux: workers that are spawned, an `os` without what Windows lacks, CRLF, and
trees that take small letters for large ones. `.github/workflows/tests.yml` runs all tests there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torchlint.support import ROOT
from torchlint.files.disk import Disk
from torchlint.files.modules import Modules

COMMAND = [sys.executable, str(Path(__file__).with_name("other_system.py"))]
PROGRAM = "import torch\n\n\ndef train(model, optimizer, loader):\n    for x, y in loader:\n        optimizer.zero_grad\n        {}\n"
STEP = "loss = model(x).sum()\n        loss.backward()\n        optimizer.step()"


def run(how, *arguments, cwd, **environment):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LOCALAPPDATA": str(cwd.parent / "local"), **environment}
    return subprocess.run([*COMMAND, how, *arguments], cwd=cwd, capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture
def tree(tmp_path):
    """Files enough for two processes, one of them with lines that end in CR LF."""
    (tmp_path / "tree").mkdir()
    padding = "\n".join(f"value_{i} = {i}  # {'x' * 60}" for i in range(400))
    for number in range(4):
        (tmp_path / "tree" / f"train_{number}.py").write_text(PROGRAM.format(STEP) + padding + "\n", encoding="utf-8")
    (tmp_path / "tree" / "windows.py").write_bytes(PROGRAM.format(STEP).replace("\n", "\r\n").encode())
    return tmp_path / "tree"


@pytest.mark.parametrize("how", ["spawn", "without"])
def test_same_verdicts(how, tree):
    theirs = run(how, "--no-cache", "-j2", "-f", "concise", ".", cwd=tree)
    ours = subprocess.run(
        [sys.executable, "-m", "torchlint", "--no-cache", "-j2", "-f", "concise", "."], cwd=tree, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (theirs.returncode, sorted(theirs.stdout.splitlines())) == (1, sorted(ours.stdout.splitlines())), theirs.stderr
    assert theirs.stdout.count("TL132") == 5 and "Traceback" not in theirs.stderr


def test_cache_and_fixes_without_what_windows_lacks(tree):
    first, second = (run("without", "-f", "json", "windows.py", cwd=tree) for _ in range(2))
    assert first.stdout == second.stdout and (tree.parent / "local" / "torchlint" / "cache-secret").is_file(), first.stderr
    mended = run("without", "--fix", "-f", "concise", ".", cwd=tree)
    assert "TL132" not in mended.stdout and "Traceback" not in mended.stderr, mended.stderr
    text = (tree / "windows.py").read_bytes()
    assert b"optimizer.zero_grad()\r\n" in text and text.count(b"\n") == text.count(b"\r\n")
    assert b"optimizer.zero_grad()\n" in (tree / "train_0.py").read_bytes()


class TakesSmallForLarge(Disk):
    """A disk that finds `Model.py` where `model.py` is, and lists the true names: macOS's and Windows's."""

    def __init__(self, top):
        self._true = {str(path).lower(): str(path) for path in top.rglob("*")}

    def is_file(self, path):
        return super().is_file(self._true.get(path.lower(), path))

    def is_folder(self, path):
        return super().is_folder(self._true.get(path.lower(), path))

    def exists(self, path):
        return super().exists(self._true.get(path.lower(), path))

    def names(self, folder):
        return super().names(self._true.get(folder.lower(), folder))


def test_an_import_means_a_file_only_under_its_very_name(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "models" / "nets").mkdir(parents=True)
    (tmp_path / "model.py").touch()
    (tmp_path / "models" / "nets" / "unet.py").touch()
    modules = Modules(disk=TakesSmallForLarge(tmp_path))
    here = str(tmp_path)
    assert modules.module(here, "model") == str(tmp_path / "model.py") and modules.module(here, "Model") is None
    assert modules.module(here, "models.nets.unet") and modules.module(here, "models.Nets.unet") is None
    assert modules.package(here, "models.nets") and modules.package(here, "models.Nets") is None
