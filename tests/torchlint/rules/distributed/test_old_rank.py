"""811 where the process group is started in another file than the one that asks for the argument, and where nobody reads it."""

import os

import pytest

from tests.torchlint.dryrun.support import marked
from torchlint import check

PARSER = """
import argparse

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0){mark}
    return parser.parse_args()
"""
STARTS = """
import os
import torch
import torch.distributed as dist

def start(args):
    {way}
    dist.init_process_group("nccl")
    torch.cuda.set_device({device})
"""
TRAIN = """
import torch
from options import parse
from processes import start

def main():
    args = parse()
    start(args)
    model = torch.nn.Linear(4, 2).cuda()
    torch.nn.parallel.DistributedDataParallel(model)

main()
"""
FOUND, SILENT = PARSER.replace("{mark}", "  # <- 811"), PARSER.replace("{mark}", "")


def told(folder, files):
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / name).write_text(text)
    return [(os.path.basename(one.location.filename), one.location.row) for one in check(folder, cache=False) if one.code == "TL811"]


@pytest.mark.parametrize("parser, way, device", [
    pytest.param(FOUND, "pass", "args.local_rank", id="read in another file"),
    pytest.param(FOUND, "pass", "0", id="read nowhere"),
    pytest.param(FOUND, "rank = int(os.environ['RANK'])", "rank % 8", id="read nowhere, as the run's rank is asked for"),
    pytest.param(SILENT, "args.local_rank = int(os.environ['LOCAL_RANK'])", "args.local_rank", id="from the environment"),
    pytest.param(SILENT, "import deepspeed", "args.local_rank", id="another launcher"),
    pytest.param(SILENT.replace("parse_args", "parse_known_args"), "pass", "0", id="what is not known goes through"),
    pytest.param(SILENT.replace('"--local_rank"', '"--local-rank", "--local_rank"'), "pass", "args.local_rank", id="both spellings"),
])
def test_a_process_group_of_another_file(parser, way, device, tmp_path):
    files = {"options.py": parser, "processes.py": STARTS.format(way=way, device=device), "train.py": TRAIN}
    assert told(tmp_path, files) == [("options.py", row) for row, number in marked(parser)]


def test_a_parser_beside_the_training(tmp_path):
    text = TRAIN.replace("from options import parse\n", FOUND)
    files = {"processes.py": STARTS.format(way="pass", device="args.local_rank"), "train.py": text}
    assert told(tmp_path, files) == [("train.py", row) for row, number in marked(text)]


@pytest.mark.parametrize("asked, mark", [
    pytest.param("BertModel, Trainer", "  # <- 811", id="a model of it"),
    pytest.param("HfArgumentParser", "", id="its own arguments"),
])
def test_transformers_takes_the_rank_only_where_it_parses(asked, mark, tmp_path):
    text = f"from transformers import {asked}\n" + PARSER.replace("{mark}", mark) + STARTS.format(way="pass", device="args.local_rank")
    assert told(tmp_path, {"train.py": text + "\nstart(parse())\n"}) == [("train.py", row) for row, number in marked(text)]


def test_a_group_of_one_process(tmp_path):
    text = SILENT + STARTS.format(way="pass", device="args.local_rank").replace('"nccl"', '"gloo", rank=0, world_size=1') + "\nstart(parse())\n"
    assert told(tmp_path, {"train.py": text}) == []


@pytest.mark.parametrize("rank, mark", [
    pytest.param("int(os.environ['RANK'])", "  # <- 811", id="from the environment"),
    pytest.param("args.node * 8 + args.local_rank", "", id="of the program's own reckoning"),
    pytest.param("start_all()", "", id="from elsewhere"),
])
def test_the_rank_of_the_group_has_a_name(rank, mark, tmp_path):
    start = STARTS.format(way=f"rank = {rank}", device="args.local_rank").replace('"nccl"', '"nccl", rank=rank, world_size=args.size')
    text = PARSER.replace("{mark}", mark) + start + "\nstart(parse())\n"
    assert told(tmp_path, {"train.py": text}) == [("train.py", row) for row, number in marked(text)]


@pytest.mark.parametrize("group, mark", [
    pytest.param('"nccl", init_method="env://", world_size=2, rank=args.local_rank', "  # <- 811", id="the argument itself"),
    pytest.param('"nccl", init_method="env://", world_size=2, rank=args.rank', "", id="another argument"),
    pytest.param('"nccl", init_method="tcp://10.0.0.1:23456", world_size=2, rank=args.local_rank', "", id="each process started by hand"),
    pytest.param('"nccl", world_size=2, rank=local_rank', "", id="what a function is given"),
])
def test_the_rank_of_the_group_is_the_argument(group, mark, tmp_path):
    text = PARSER.replace("{mark}", mark) + STARTS.format(way="pass", device="args.local_rank").replace('"nccl"', group) + "\nstart(parse())\n"
    assert told(tmp_path, {"train.py": text}) == [("train.py", row) for row, number in marked(text)]


@pytest.mark.parametrize("way, group, mark", [
    pytest.param("local_rank = 0", '"nccl", init_method="env://"', "  # <- 811", id="a variable of that name"),
    pytest.param("options = vars(args)", '"nccl"', "", id="as a dict"),
    pytest.param("local_rank = getattr(args, 'local_rank')", '"nccl"', "", id="by its name"),
    pytest.param("local_rank = int(os.environ['LOCAL_RANK'])", '"nccl"', "", id="from the environment"),
    pytest.param("local_rank = 0", '"nccl", init_method=args.url, world_size=2, rank=args.rank', "", id="each process started by hand"),
    pytest.param("os.system(f'python {args.worker} --local_rank={args.rank}')", '"nccl"', "", id="the program gives it itself"),
])
def test_read_nowhere_in_the_file_that_starts_the_group(way, group, mark, tmp_path):
    parser = PARSER.replace("{mark}", mark).replace("default=0", "default=0, help='local_rank'")
    start = STARTS.format(way=way, device="dist.get_rank() % 8").replace('"nccl"', group)
    text = parser + start + "    local_rank = dist.get_rank()\n    print(local_rank)\n\nstart(parse())\n"
    assert told(tmp_path, {"train.py": text}) == [("train.py", row) for row, number in marked(text)]


def test_nobody_starts_a_process_group(tmp_path):
    files = {"options.py": SILENT, "processes.py": "import torch\n\ndef start(args):\n    torch.cuda.set_device(args.local_rank)\n", "train.py": TRAIN}
    assert told(tmp_path, files) == []
