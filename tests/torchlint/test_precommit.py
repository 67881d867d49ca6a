"""The pre-commit hook, tried by the real pre-commit on a real git repository."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.torchlint.support import ROOT, write
from torchlint.catalogue.pages import COMPILED, compiled, pages_folder

pytest.importorskip("pre_commit")
SHIPPED = ("src", "rules", "tools", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
BAD = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=-1))
loss = nn.CrossEntropyLoss()(net(torch.rand(2, 4)), torch.tensor([0, 1]))
"""


def git(folder, *args):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *args], check=True, capture_output=True)


@pytest.fixture(scope="module")
def hook(tmp_path_factory):
    """A repository that offers the hook: what git would have of this tree, committed."""
    folder = tmp_path_factory.mktemp("hook") / "torchlint"
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif source.exists():
            shutil.copy(source, folder / name)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "hook")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where pre-commit keeps the environment that it makes: one for all tests here."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def try_hook(tmp_path, hook, home):
    """Runs the hook over all files of a new repository with these files; gives (status, output)."""

    def run(files, name="torchlint"):
        rev = subprocess.run(["git", "-C", str(hook), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        config = {"repos": [{"repo": str(hook), "rev": rev.stdout.strip(), "hooks": [{"id": name}]}]}
        write(tmp_path, {
            "pyproject.toml": "[tool.torchlint]\nexclude = ['vendored']\n",
            ".pre-commit-config.yaml": json.dumps(config),  # which is YAML, too
            **files,
        })
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", ".")
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", name, "--all-files", "--verbose"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "PRE_COMMIT_HOME": str(home), "NO_COLOR": "1"},
        )
        text = done.stdout + done.stderr
        if re.search(r"pip.*install", text) and "CalledProcessError" in text:
            pytest.skip(f"pip cannot install the hook here: {text.strip().splitlines()[-1]}")
        return done.returncode, text

    return run


def test_hook_fails_on_files_that_cannot_be_judged_and_heeds_excludes(try_hook):
    status, text = try_hook(
        {"broken.py": "x = (\n", "n.ipynb": "{", "vendored/also_broken.py": "x = (\n", "readme.md": "x = ("}
    )
    assert status == 1, text
    assert "torchlint: broken.py:1: " in text and "torchlint: n.ipynb: broken notebook" in text
    assert "also_broken" not in text and "readme" not in text


def test_hook_passes_on_sound_code(try_hook):
    status, text = try_hook({"a.py": "import torch\n\nx = torch.ones(3)\n"})
    assert status == 0, text
    assert "No mistakes found in 1 file." in text or "No mistakes found in 2 files." in text


def test_hook_tells_findings(try_hook, home):
    status, text = try_hook({"train.py": BAD})
    assert status == 1, text
    assert "TL301" in text
    [made] = home.glob(f"**/site-packages/torchlint/_rules/{COMPILED}")
    assert made.read_bytes() == compiled(pages_folder()), "the package that was built has its pages in one file, too"
    assert list(home.glob("**/site-packages/torchlint/settings/schema.json")), "the schema of the settings is shipped"


def test_fixing_hook_mends_and_stops_the_commit(try_hook, tmp_path):
    loop = "import torch\n\noptimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)\noptimizer.zero_grad\n"
    status, text = try_hook({"train.py": loop}, "torchlint-fix")
    assert status == 1, text
    assert (tmp_path / "train.py").read_text().endswith("\noptimizer.zero_grad()\n")
    status, text = try_hook({}, "torchlint-fix")
    assert status == 0, text
