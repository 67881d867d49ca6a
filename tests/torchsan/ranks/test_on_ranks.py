"""Programs on two and three ranks: what only a comparison of the ranks shows is found on the marked lines, sound ones
are silent, and a watch changes no number."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import torch

from tests.torchsan.conftest import FIXTURES
from tests.torchsan.ranks.on_ranks import LEVELS
from tests.torchsan.run.test_run import ENV, ROOT

GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()
pytestmark = pytest.mark.skipif(not GLOO, reason="torch was built without gloo")
BROKEN = sorted((FIXTURES / "ranks" / "broken").glob("*.py"))
SOUND = sorted((FIXTURES / "ranks" / "sound").glob("*.py"))
_SOON = 2  # a finding of the second step of a program says 2 where it is told after that step
_LIMIT = 300  # seconds after which a launch is killed


def launch(folder, world, paths):
    """Run programs on several ranks; what is told of each, by its name and level. Nothing may hang."""
    out = folder / "out.json"
    command = [sys.executable, "-m", "tests.torchsan.ranks.on_ranks", str(world), str(out), *map(str, paths)]
    env = {**ENV, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    print(said)  # shown where a test fails: what a rank could not do is said there
    assert process.returncode == 0, said
    assert not [path.name for path in folder.iterdir() if path.name.startswith("torchsan-")], "left behind"
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("two"), 2, [*BROKEN, *SOUND])


def marks(path):
    return {
        (int(number), row)
        for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (marked := re.search(r"# <- ([\d, ]+)", line))
        for number in re.findall(r"\d+", marked[1])
    }


@pytest.mark.parametrize(
    ("path", "level"),
    [pytest.param(path, level, id=f"{path.stem}-{level}") for path in [*BROKEN, *SOUND]
     for level in LEVELS[path.parent.name]],
)
def test_programs(two, path, level):
    told = two[f"{path.stem}-{level}"]
    assert not told["off"]
    assert all(told["same"]), "the numbers are not the same as without a watch"
    assert {(number, row) for number, row, *_ in told["found"]} == marks(path), told["found"]
    first = re.search(r"^EFFECT = (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    for _, _, ranks, step, _ in told["found"]:
        assert ranks == [0, 1]
        assert step <= (int(first[1]) if first else 0) + _SOON


def test_words(two):
    said = {name: found[-1] for name, told in two.items() for found in told["found"]}
    assert "`2.weight` of the model" in said["corrupted_transfer-default"]
    assert "after step 2 all was the same" in said["corrupted_transfer-default"]
    assert "only rank 0 clips" in said["clipped_on_one_rank-default"]
    assert "0.01 on rank 0, 0.02 on rank 1" in said["rates_of_their_own-default"]
    assert "`self.model.module(...)` by-passes" in said["raw_module-default"]
    assert "float32 on cpu when it was wrapped, float64 on cpu now" in said["moved_after_wrap-default"]
    assert "did not require a gradient" in said["unfrozen_after_wrap-default"]
    assert "ranks 0 and 1 train on the same batches" in said["same_batches-default"]
    assert "from the generator of NumPy" in said["same_numpy_seed-default"]


def test_three_ranks(tmp_path):
    folder = FIXTURES / "ranks"
    told = launch(tmp_path, 3, [folder / "broken" / "corrupted_transfer.py", folder / "sound" / "by_hand.py"])
    [(number, _, ranks, step, message)] = told["corrupted_transfer-default"]["found"]
    assert (number, ranks, step) == (812, [0, 1, 2], 3)
    assert "differs between rank 0 and rank 1" in message
    assert not told["by_hand-default"]["found"]
