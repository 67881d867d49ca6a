"""The `run ranks` blocks of the rule pages, each by two processes under `torchsan run`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import torch

from tests.torchsan.run.test_run import ENV, ROOT
from tests.torchsan.test_pages import HOSTED, LATER, LIVE
from torchlint.catalogue.pages import catalogue

GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()
pytestmark = pytest.mark.skipif(not GLOO, reason="torch was built without gloo")
BLOCKS = [
    pytest.param(rule, example, id=f"{rule.code}-{example.line}-{'bad' if example.bad else 'good'}")
    for rule in catalogue()
    for example in rule.examples()
    if example.on_ranks
]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
_LIMIT = 300  # seconds after which a program is killed


@pytest.mark.parametrize(("rule", "example"), BLOCKS)
def test_run_block(tmp_path, rule, example):
    for library in [*HOSTED.findall(example.code), *re.findall(r"^import (lightning)\b", example.code, re.MULTILINE)]:
        pytest.importorskip(library)
    if "import fully_shard" in example.code and not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("this torch has no fully_shard there")
    (tmp_path / "page.py").write_text(example.code, encoding="utf-8")
    env = {**ENV, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    watch = ["-m", "torchsan", "run", "--report", "out.json", "--extend-select", f"TS{rule.code:03d}"]
    done = subprocess.run(
        [*TORCHRUN, *watch, "page.py"], cwd=tmp_path, env={**os.environ, **env}, capture_output=True, encoding="utf-8", timeout=_LIMIT,
    )
    found = {(one["code"], one["location"]["row"]) for one in json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))}
    if example.good:
        assert done.returncode == 0, done.stderr
        assert not found, done.stderr
        return
    if rule.code not in LIVE:  # what it does is seen by the program itself
        assert done.returncode == 0, done.stderr
        return
    rows = [row for row, line in enumerate(example.code.splitlines(), 1) if LATER.search(line)] or [row for row, _ in example.marks()]
    code = f"TS{rule.code:03d}"
    assert {one for one in found if one[0] == code} and {row for number, row in found if number == code} <= set(rows), done.stderr
