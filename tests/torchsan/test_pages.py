"""The `run` blocks of the rule pages, strictly: what is found stands on the marked line, and a good block is silent
under every check."""

from __future__ import annotations

import re

import pytest
import torch.distributed as dist

from torchlint.catalogue.pages import catalogue
from torchsan.checks import known
from torchsan.options import DEFAULT_SELECT

LIVE = {number for cls in known() for number in cls.numbers}
BLOCKS = [
    pytest.param(rule, example, id=f"{rule.code}-{example.line}-{'bad' if example.bad else 'good'}")
    for rule in catalogue()
    for example in rule.examples()
    if example.runs and not example.on_ranks
]


HOSTED = re.compile(r"^(?:from|import) (accelerate|transformers|tokenizers|peft|trl|datasets|PIL)\b", re.MULTILINE)
LATER = re.compile(r"# run: (\d+)")  # where a run shows it at another line than the source


@pytest.mark.parametrize(("rule", "example"), BLOCKS)
def test_run_block(run, rule, example):
    for library in HOSTED.findall(example.code):
        pytest.importorskip(library)
    if "init_process_group" in example.code and not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("torch was built without gloo")
    if "import fully_shard" in example.code:
        fsdp = pytest.importorskip("torch.distributed.fsdp")
        if not hasattr(fsdp, "fully_shard"):
            pytest.skip("this torch has no fully_shard there")
    ran = run(example.code, select=[*DEFAULT_SELECT, f"TS{rule.code:03d}"])  # where it has to be asked for, it is
    if example.good:
        assert ran.error is None
        assert not ran.findings, ran.san.report()
    elif rule.code in LIVE:
        found = {(number, row) for number, row in ran.lines if number == rule.code}
        rows = {(int(later[1]), row) for row, line in enumerate(example.code.splitlines(), 1) if (later := LATER.search(line))}
        assert found == (rows or {mark for mark in ran.marked if mark[0] == rule.code}), ran.san.report()
