"""Several processes: what all of them find comes together in one report, and one that dies takes nothing with it.

Programs run in processes of their own, over gloo, on two ranks.
"""

from __future__ import annotations

import functools
import json
import multiprocessing.process
import os
import subprocess
import sys
import textwrap
import time
import types

import pytest
import torch

import torchsan
from tests.torchsan.run.test_run import ENV, ROOT
from torchlint.findings import Finding, Location
from torchsan.checks.distributed import desync, slow_rank
from torchsan.ranks import joint_report
from torchsan.ranks.joint_report import Left, Meeting, Who
from torchsan.ranks.message_board import Step
from torchsan.report.deliver import Findings
from torchsan.run import child_processes

GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()
needs_gloo = pytest.mark.skipif(not GLOO, reason="torch was built without gloo")

# `work(rank)` is the program of a test; it is started by torchrun or by multiprocessing.
FRAME = """
import gc, os, signal, sys, tempfile
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def batch(size=8):
    return torch.randn(size, 4), torch.randint(0, 3, (size,))


def numbers(model, loss):
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    values = [loss.detach(), *model.parameters(), *gradients, torch.get_rng_state()]
    return [value.double().sum().item().hex() for value in values]

{work}

def start(rank, folder):
    if rank is None:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    else:
        dist.init_process_group("gloo", init_method=f"file://{{folder}}/meet", rank=rank, world_size=2)
    torch.manual_seed(rank)
    work(rank)
    gc.collect()  # the wrapped model is part of a cycle, and holds the group whose threads must end before Python
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        start(None, None)
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.start_processes(start, (folder,), nprocs=2, start_method=sys.argv[1])
"""
# Both ranks accumulate by mistake; only the second one has a softmax too many.
BROKEN = """
def work(rank):
    model = DistributedDataParallel(nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x, y = batch()
        if rank == 1:
            loss = F.cross_entropy(model(x).softmax(1), y)  # 301
        else:
            loss = F.cross_entropy(model(x), y)
        loss.backward()  # 101
        optimizer.step()
        if step == 2 and rank == int(os.environ.get("DIES", "-1")):
            if os.environ["HOW"] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ArithmeticError("of mine")
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


class Ended:
    """What a program on two ranks said, and its reports by file name."""

    def __init__(self, done, folder, text):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.reports = {path.name: json.loads(path.read_text()) for path in folder.glob("out*.json")}
        self.lines = text.splitlines()

    def found(self, name="out.json"):
        """Code, line, ranks and count of each finding."""
        rows = [(finding, self.lines[finding["location"]["row"] - 1]) for finding in self.reports[name]]
        return sorted((finding["code"], row.strip(), *finding["ranks"]) for finding, row in rows)

    def counts(self):
        return {f["code"]: f.get("count", 1) for f in self.reports["out.json"]}


@pytest.fixture
def launch(tmp_path):
    def launch(work, how="torchrun", watched=True, **env):
        text = FRAME.format(work=textwrap.dedent(work))
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        temporary = tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        watch = ["-m", "torchsan", "run", "--report", "out.json"] if watched else []
        command = [*TORCHRUN, *watch, "train.py"] if how == "torchrun" else [sys.executable, *watch, "train.py", how]
        env = {**ENV, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **env}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", timeout=600)
        left = sorted(path.name for path in temporary.iterdir() if path.name.startswith("torchsan-"))
        assert not left, "something was left behind"
        return Ended(done, tmp_path, text)

    return launch


WAYS = ["torchrun", "spawn", *(["fork"] if sys.platform == "linux" else [])]
ALL = [
    ("TS101", "loss.backward()  # 101", 0, 1),
    ("TS301", "loss = F.cross_entropy(model(x).softmax(1), y)  # 301", 1),
]


@needs_gloo
class TestOneReport:
    @pytest.mark.parametrize("how", WAYS)
    def test_findings_of_all_ranks(self, launch, how):
        done = launch(BROKEN, how)
        assert done.status == 0, done.err
        assert done.found() == ALL
        assert done.counts() == {"TS101": 6, "TS301": 4}
        assert list(done.reports) == ["out.json"]
        assert done.err.count("error TS101") == done.err.count("error TS301") == 1
        assert "torchsan: 2 findings in 4 optimizer steps\n" in done.err
        assert "6 times on ranks 0, 1" in done.err and "4 times on rank 1" in done.err

    @pytest.mark.parametrize("how", ["torchrun", "spawn"])
    @pytest.mark.parametrize("death", ["killed", "raised"])
    def test_a_rank_that_dies(self, launch, how, death):
        done = launch(BROKEN, how, DIES="1", HOW=death)
        assert done.status != 0
        assert done.found() == ALL
        assert done.err.count("torchsan: 2 findings in") == 1
        assert ("rank 1 ended before its watch did" in done.err) == (death == "killed")
        assert ("ArithmeticError: of mine" in done.err) == (death == "raised")

    def test_the_first_rank_dies(self, launch):
        done = launch(BROKEN, DIES="0", HOW="killed")
        assert done.status != 0
        assert list(done.reports) == ["out.rank1.json"]
        assert [code for code, *_ in done.found("out.rank1.json")] == ["TS101", "TS301"]
        assert done.err.count("error TS101") == 2, "both tell: the first did before it died"
        assert done.err.count("error TS301") == 1

    def test_processes_that_are_no_ranks(self, launch, tmp_path):
        text = """
        def work(rank): ...

        def job(wrong):
            model = nn.Linear(4, 3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                x, y = batch()
                optimizer.zero_grad()
                scores = model(x)
                F.cross_entropy(scores.softmax(1) if wrong else scores, y).backward()
                optimizer.step()

        if __name__ == "__main__":
            jobs = [mp.get_context("spawn").Process(target=job, args=(wrong,)) for wrong in (True, False)]
            for one in jobs:
                one.start()
            sys.exit()  # Python waits for them
        """
        (tmp_path / "train.py").write_text(FRAME.format(work=textwrap.dedent(text)), encoding="utf-8")
        command = [sys.executable, "-m", "torchsan", "run", "--report", "out.json", "train.py"]
        done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, encoding="utf-8", timeout=600)
        assert done.returncode == 0, done.stderr
        [finding] = json.loads((tmp_path / "out.json").read_text())
        assert (finding["code"], finding["count"]) == ("TS301", 3)
        assert done.stderr.count("error TS301") == 1
        assert "torchsan: 1 finding in 3 optimizer steps" in done.stderr


@needs_gloo
class TestUnderDDP:
    def test_parameters_without_gradient_by_name(self, launch):
        done = launch("""
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.spare = nn.Linear(4, 3), nn.Linear(4, 3)

            def forward(self, x):
                return self.used(x)

        def work(rank):
            model = DistributedDataParallel(Two())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                x, y = batch()
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        """, "spawn")
        assert "Expected to have finished reduction" in done.err
        assert "TS809 unused-parameters" in done.err
        assert "no gradient for spare.weight, spare.bias" in done.err
        assert "TS809" in {code for code, *_ in done.found()}

    @pytest.mark.parametrize("ending, found", [
        ("dist.destroy_process_group()", []), ("pass", ["TS817"]), ("raise ArithmeticError", []),
    ])
    def test_a_group_that_is_never_destroyed(self, tmp_path, ending, found):
        text = f"""
        import torch.distributed as dist, torchsan.own
        dist.init_process_group("gloo", init_method="file://{tmp_path}/meet", rank=0, world_size=1)
        torchsan.own.torch.distributed.get_world_size = lambda *_: 2
        {ending}
        """
        (tmp_path / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
        command = [sys.executable, "-m", "torchsan", "run", "--select", "TS817", "--report", "out.json", "train.py"]
        subprocess.run(command, cwd=tmp_path, env={**ENV, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=600)
        rows = [(one["code"], one["location"]["row"]) for one in json.loads((tmp_path / "out.json").read_text())]
        assert rows == [(code, 3) for code in found]

    def test_mistakes(self, launch):
        done = launch("""
        def work(rank):
            data = TensorDataset(*batch(64))
            sampler = DistributedSampler(data, shuffle=True)
            loader = DataLoader(data, batch_size=16, sampler=sampler)
            model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 3)))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(2):
                for x, y in loader:  # 801
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    if rank == 1:
                        optimizer.step()
                        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # 112
                    else:
                        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                        optimizer.step()
                with torch.no_grad():
                    for x, y in loader:
                        model.module(x)  # 201
        """)
        assert done.status == 0, done.err
        assert {(code, *on) for code, _, *on in done.found()} == {
            ("TS112", 1), ("TS201", 0, 1), ("TS801", 0, 1),
        }, done.err

    def test_the_rank_that_made_a_nan_names_its_origin(self, launch, tmp_path):
        """One rank runs its step again, and the others do not: nothing of that may wait for them."""
        text = """
        def work(rank):
            model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for step in range(5):
                x, y = batch()
                optimizer.zero_grad()
                scores = model(x)
                loss = F.cross_entropy(scores, y)
                if rank == 1 and step == 3:
                    loss = loss + 0 * torch.log(0 * scores.sum())  # 422
                loss.backward()
                optimizer.step()
                with open(f"numbers{rank}", "a") as file:
                    print(numbers(model, loss), file=file)
        """
        bare, watched = launch(text, "spawn", watched=False), launch(text, "spawn")
        assert bare.status == watched.status == 0, watched.err
        assert ("TS422", "loss = loss + 0 * torch.log(0 * scores.sum())  # 422", 1) in watched.found(), watched.err
        assert {code for code, *_ in watched.found()} == {"TS422"}
        for rank in (0, 1):
            lines = (tmp_path / f"numbers{rank}").read_text().splitlines()
            assert lines[:5] == lines[5:] and len(set(lines)) == 5

    def test_sound_programs_stay_silent_and_the_same(self, launch, tmp_path):
        text = """
        def train(rank, model, accumulate=1, **options):
            model = DistributedDataParallel(model, **options)
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
            data = TensorDataset(*batch(64))
            sampler = DistributedSampler(data, shuffle=True)
            loader = DataLoader(data, batch_size=8, sampler=sampler)
            for epoch in range(2):
                sampler.set_epoch(epoch)
                model.train()
                for step, (x, y) in enumerate(loader):
                    if (step + 1) % accumulate:
                        with model.no_sync():
                            (F.cross_entropy(model(x), y) / accumulate).backward()
                        continue
                    loss = F.cross_entropy(model(x), y) / accumulate
                    loss.backward()
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    made = numbers(model, loss)
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=False)
                if rank == 0:
                    model.eval()
                    with torch.no_grad():
                        model.module(batch()[0])
                dist.barrier()
            with open(f"numbers{rank}", "a") as file:  # the output of two processes would mix
                print(made, numbers(model, loss), file=file)

        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.left, self.right = nn.Linear(4, 3), nn.Linear(4, 3)

            def forward(self, x):
                return self.left(x) if torch.rand(()) < 0.5 else self.right(x)

        def work(rank):
            train(rank, nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 3)))
            train(rank, nn.Linear(4, 3), accumulate=4)
            train(rank, Branches(), find_unused_parameters=True)
            train(rank, nn.Linear(4, 3), static_graph=True, gradient_as_bucket_view=True)
        """
        bare, watched = launch(text, "spawn", watched=False), launch(text, "spawn")
        assert bare.status == watched.status == 0, watched.err
        assert watched.reports == {"out.json": []}, watched.err
        for rank in (0, 1):
            lines = (tmp_path / f"numbers{rank}").read_text().splitlines()
            assert lines[:4] == lines[4:] and len(set(lines)) == 4

    def test_the_example(self, tmp_path):
        command = [*TORCHRUN, "-m", "torchsan", "run", "--fail", str(ROOT / "examples" / "ddp.py"), "--epochs", "2",
                   "--rows", "512"]
        done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, encoding="utf-8", timeout=600)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("torchsan: nothing found in") == 1


@needs_gloo
def test_gathered_with_what_was_added(launch):
    """What Accelerate adds to the last round counts, unless `gather_for_metrics` cuts it off (its name in the file says that somebody
    thinks of it) or the samples divide."""
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    done = launch("""
    def work(rank):
        from accelerate import Accelerator
        accelerator = Accelerator(cpu=True)
        uneven, even = (DataLoader(TensorDataset(*batch(rows)), batch_size=2) for rows in (10, 8))
        model, uneven, even = accelerator.prepare(nn.Linear(4, 3), uneven, even)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in uneven:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
            accelerator.gather(y)  # labels of a training
        model.eval()
        seen = [0, 0, 0]
        with torch.no_grad():
            for x, y in uneven:
                predictions, labels = accelerator.gather((model(x).argmax(-1), y))  # 008
                seen[0] += len(labels)
            for x, y in uneven:
                predictions, labels = getattr(accelerator, "gather_for" + "_metrics")((model(x).argmax(-1), y))
                seen[1] += len(labels)
            for x, y in even:
                predictions, labels = accelerator.gather((model(x).argmax(-1), y))
                seen[2] += len(labels)
        print(seen)
    """, ACCELERATE_USE_CPU="true")
    assert done.status == 0 and "[12, 10, 8]" in done.out, done.err
    [row] = [row for code, row, *_ in done.found() if code == "TS008"]
    assert row.endswith("# 008") and "the last round has 2 new samples, and 4 rows come together" in done.err


@needs_gloo
class TestDesync:
    """Ranks that do not come to the same collective. gloo ends a process that gets another size than it waits for, waits
    until the group's time-out in other cases, and fails where the other rank is gone."""

    def test_another_size(self, launch):
        done = launch("""
        def work(rank):
            model = DistributedDataParallel(nn.Linear(4, 3))
            for step in range(3):
                loss = F.cross_entropy(model(batch()[0]), batch()[1])
                loss.backward()
                if dist.get_rank() == 0 and step == 1:
                    dist.all_reduce(loss.detach())  # 806
        """, "spawn")
        assert done.status != 0
        [(code, row, *ranks)] = done.found()
        assert (code, row) == ("TS806", "dist.all_reduce(loss.detach())  # 806")
        assert ranks, "the later of the two"
        assert "rank 0 is at `all_reduce`, rank 1 is at the backward of `DistributedDataParallel`" in done.err
        assert done.err.index("error TS806") < done.err.index("gloo::EnforceNotMet"), "before it is called"

    def test_a_logger_averages_in_one_process(self, launch, tmp_path):
        """A library's `log`, as Lightning's with `sync_dist=True`: the collective is in it, the line is the program's."""
        library = tmp_path / "site-packages"
        library.mkdir()
        text = "import torch.distributed as dist\n\n\nclass Logger:\n    def log(self, name, value):\n        dist.all_reduce(value)\n"
        (library / "loggers.py").write_text(text, encoding="utf-8")
        done = launch(f"""
        def work(rank):
            sys.path.insert(0, {str(library)!r})
            from loggers import Logger
            model = DistributedDataParallel(nn.Linear(4, 3))
            logger = Logger()
            for step in range(3):
                loss = F.cross_entropy(model(batch()[0]), batch()[1])
                if rank == 0 and step == 1:
                    logger.log("loss", loss.detach())  # 823
                loss.backward()
        """, "spawn")
        assert done.status != 0
        assert [(code, row) for code, row, *_ in done.found()] == [("TS823", 'logger.log("loss", loss.detach())  # 823')], done.err
        assert "rank 0 is at `all_reduce`, rank 1 is at the backward" in done.err and "without an average: `sync_dist=False`" in done.err

    def test_another_collective(self, launch):
        done = launch("""
        def work(rank):
            from datetime import timedelta
            group = dist.new_group(timeout=timedelta(seconds=2))
            values = torch.ones(1)
            if rank == 0:
                dist.broadcast(values, 0, group=group)  # 806
            else:
                dist.all_reduce(values, group=group)
        """)
        assert done.status != 0
        assert [(code, row) for code, row, *_ in done.found()] == [
            ("TS806", "dist.broadcast(values, 0, group=group)  # 806")
        ], done.err
        assert "rank 0 is at `broadcast`, rank 1 is at `all_reduce`" in done.err

    def test_one_comes_to_its_end(self, launch):
        done = launch("""
        def work(rank):
            dist.barrier()
            if rank == 0:
                dist.barrier()  # 806
        """, "spawn")
        assert done.status != 0
        assert done.found() == [("TS806", "dist.barrier()  # 806", 0)], done.err
        assert "rank 0 waits in `barrier` for rank 1, which came to its end without it" in done.err

    @pytest.mark.parametrize("layer", ["nn.Linear(4, 3)", "nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3))"])
    def test_one_leaves_a_batch_out(self, launch, layer):
        done = launch(f"""
        def work(rank):
            from datetime import timedelta
            group = dist.new_group(timeout=timedelta(seconds=10))
            model = DistributedDataParallel({layer}, process_group=group)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(4):
                x, y = batch()
                if rank == 1 and step == 1:
                    x = x / 0
                loss = F.cross_entropy(model(x), y)  # forward
                if torch.isnan(loss):
                    continue
                optimizer.zero_grad()
                loss.backward()  # backward
                optimizer.step()
        """, "spawn")
        found = [(code, row) for code, row, *_ in done.found() if code not in ("TS121", "TS423")]
        assert found in ([("TS822", "loss.backward()  # backward")], [("TS822", "loss = F.cross_entropy(model(x), y)  # forward")]), done.err
        assert "rank 1 left out a backward that rank 0 makes" in done.err

    def test_the_odd_one(self):
        def step(number, call, row, what="1 of float32"):
            return Step("0", number, call, what, "/a.py", row)

        usual = [step(0, "all_reduce", 3), step(1, "all_reduce", 3)]
        assert desync.first_difference({0: usual, 1: usual[:1], 2: []}) is None
        other = [step(0, "all_reduce", 3), step(1, "all_reduce", 9, "2 of float32")]
        apart = desync.first_difference({0: usual, 1: other, 2: usual})
        assert {rank: one.row for rank, one in apart.items()} == {0: 3, 1: 9, 2: 3}
        assert desync._odd_one(apart, {0: usual, 1: other, 2: usual}) == 1
        assert desync._odd_one({0: usual[1], 1: other[1]}, {0: usual, 1: other}) == 1, "the line nobody else comes to"
        sends = [step(0, "all_reduce", 3), step(1, "backward", 4)]
        assert desync._odd_one({0: sends[1], 1: other[1]}, {0: sends, 1: other}) == 1


@needs_gloo
class TestSlowRank:
    """A rank that the others wait for."""

    def test_one_is_slow(self, launch):
        done = launch("""
        import time

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 60 * 2

            def __getitem__(self, at):
                if dist.get_rank() == 1:
                    time.sleep(0.03)
                return torch.randn(4), at % 3

        def work(rank):
            model = DistributedDataParallel(nn.Linear(4, 3))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            loader = DataLoader(Rows(), batch_size=2)
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        """, "spawn", TORCHSAN_OPTIONS="select=TS825")
        assert done.found() == [("TS825", "for x, y in loader:", 1)], done.err
        assert "rank 1 holds the others up in every step: it waits for its loader longer than they do" in done.err

    @pytest.mark.parametrize("sides, told", [
        ([{0: (1, 5), 1: (1, 30)}] * 3, "rest"),
        ([{0: (1, 5), 1: (30, 5)}] * 3, "loader"),
        ([{0: (1, 5), 1: (1, 30)}] * 2, None),
        ([{0: (1, 5), 1: (1, 30)}] * 2 + [{0: (1, 5), 1: (1, 5)}, {0: (1, 5), 1: (1, 30)}], None),
        ([{0: (1, 5), 1: (1, 30)}, {0: (1, 30), 1: (1, 5)}] * 3, None),
        ([{0: (1, 30), 1: (1, 5)}] * 3, None),  # the other one says it
        ([{0: (1, 5), 1: (1, 7)}] * 3, None),
        ([{0: (0.1, 0.5), 1: (0.1, 1.5)}] * 3, None),  # 1 ms is not worth a word
    ])
    def test_three_times_the_same(self, sides, told):
        with torchsan.watch(select=("TS825",), on_finding="collect") as san:
            san.me = Who(1, 2, 1, 2)
            check = slow_rank.SlowRank(san)
            for side in sides:
                times = {r: {"loader": a / 1000, "forward": 0.001, "rest": b / 1000, "whole": 0.05} for r, (a, b) in side.items()}
                check.judge(times, None)
            san.me = None
        assert [slow_rank.PARTS[told] in f.message for f in san.findings] == ([True] if told else [])


@needs_gloo
class TestWatchInTheProgram:
    """`torchsan.watch` where the program has it itself, with nothing said about ranks."""

    TEXT = """
    import torchsan

    def work(rank):
        model = DistributedDataParallel(nn.Linear(4, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if os.environ["WATCHES"] != "all" and os.environ["WATCHES"] != str(rank):
            train(rank, model, optimizer)
            return
        for part in range(2):
            with torchsan.watch(model) as san:
                train(rank, model, optimizer)
            told = [f"{f.code} {f.ranks} {f.count}" for f in san.findings]
            print(f"rank {rank} part {part}: {told} {san.handed_over}")

    def train(rank, model, optimizer):
        for step in range(3):
            x, y = batch()
            optimizer.zero_grad()
            scores = model(x)
            F.cross_entropy(scores.softmax(1) if rank == 1 else scores, y).backward()
            optimizer.step()
    """

    def test_the_first_rank_has_it_all(self, launch):
        done = launch(self.TEXT, "spawn", watched=False, WATCHES="all")
        assert done.status == 0, done.err
        assert sorted(done.out.splitlines()) == [
            f"rank {rank} part {part}: ['TS301 (1,) 3'] {rank == 1}" for rank in (0, 1) for part in (0, 1)
        ]
        assert done.err.count("SanWarning: TS301") == 2, "one for each watch"

    def test_a_rank_that_watches_alone_speaks_for_itself(self, launch):
        done = launch(self.TEXT.replace("range(2)", "range(1)"), "spawn", watched=False, WATCHES="1")
        assert done.status == 0, done.err
        assert done.out == "rank 1 part 0: ['TS301 (1,) 3'] False\n"
        assert done.err.count("SanWarning: TS301") == 1


def finding(code="TS101", row=3, message="mine (2 of 2)", **more):
    return Finding(code, "name", message, Location("/a.py", row), "correctness", **more)


@pytest.fixture
def meeting(monkeypatch, tmp_path):
    """Makes the meetings of several ranks that live in this process."""
    monkeypatch.setattr(joint_report.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(joint_report, "PATIENCE", 0.3)
    monkeypatch.setattr(joint_report, "_LATE", 0.1)

    def meeting(rank, world=2):
        monkeypatch.setattr(joint_report, "_meetings", [0])
        return Meeting(Who(rank, world, rank, world))

    return meeting


def left(*findings, pid=None, rank=1, **more):
    return Left(os.getpid() if pid is None else pid, rank, 3, list(findings), **more)


@pytest.fixture
def gone():
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


class TestMeeting:
    def test_what_is_left_is_taken_once(self, meeting):
        first, second = meeting(0), meeting(1)
        first.leave(left(rank=0))
        second.leave(left(finding(), over=True))
        assert second.is_taken()
        assert [one.findings for one in first.take()] == [[finding()]]
        assert second.is_taken()
        assert first.take() == []
        assert not first.folder.exists()

    def test_the_first_rank_waits_for_the_living_alone(self, meeting, gone, capsys):
        first, second, third = meeting(0, 3), meeting(1, 3), meeting(2, 3)
        second.leave(left(finding(), pid=gone))
        start = time.monotonic()
        assert len(first.take()) == 1
        third.leave(left(finding(), rank=2))
        assert len(first.take()) == 1
        assert time.monotonic() - start >= 0.3
        out = capsys.readouterr().err
        assert "rank 1 ended before its watch did" in out and "rank 2 has not come to its end yet" in out
        third.leave(left(finding(), rank=2, over=True))
        assert not third.is_taken(), "the first rank has gone on"
        assert not first.folder.exists()

    def test_nobody_leads(self, meeting, gone):
        second = meeting(1)
        second.leave(left(finding(), over=True))
        assert not second.is_taken()
        assert not second.folder.exists()
        second.leave(left(finding(), over=True))
        meeting(0).leave(left(rank=0, pid=gone))
        assert not second.is_taken()
        assert not second.folder.exists()

    def test_an_earlier_launch_does_not_matter(self, meeting):
        first, second = meeting(0), meeting(1)
        second.leave(left(rank=1))
        first.take()
        assert list(first.folder.glob("*closed"))
        first, second = meeting(0), meeting(1)
        first.leave(left(rank=0))
        second.leave(left(finding(), over=True))
        assert second.is_taken()
        assert len(first.take()) == 1

    def test_what_cannot_be_read_or_written(self, meeting, capsys, tmp_path):
        first, second = meeting(0), meeting(1)
        (first.folder / "1.1").write_text("{")
        assert first.take() == []
        assert "cannot be read" in capsys.readouterr().err
        (second.folder).mkdir(exist_ok=True)
        (second.folder / "1.1").unlink(missing_ok=True)
        (second.folder / "1.1").mkdir()
        second.leave(left(finding()))
        assert "rank 1 cannot leave its findings" in capsys.readouterr().err
        assert not second.is_taken()

    def test_a_folder_that_cannot_be_made(self, meeting, tmp_path, capsys):
        folder = meeting(0).folder
        folder.write_text("in the way")
        one = meeting(0)
        one.leave(left())
        assert one.take() == []
        assert "cannot be brought together" in capsys.readouterr().err

    @pytest.mark.parametrize("after", ["mkdir", "is_dir"])
    def test_another_rank_removes_the_folder_meanwhile(self, meeting, monkeypatch, after):
        """Done with an earlier watch: after this one has made the folder, or has found that it is there."""
        first, second = meeting(0), meeting(1)
        real, removed = getattr(joint_report.Path, after), []

        def removing(path, *args, **options):
            if after == "is_dir" and not removed:
                removed.append(path.rmdir())
            answer = real(path, *args, **options)
            if after == "mkdir" and not removed:
                removed.append(path.rmdir())
            return answer

        monkeypatch.setattr(joint_report.Path, after, removing)
        second.leave(left(finding(), over=True))
        assert removed
        assert [one.findings for one in first.take()] == [[finding()]]

    def test_values_that_json_does_not_know(self, meeting):
        first, second = meeting(0), meeting(1)
        second.leave(left(finding(details={"shape": torch.Size([2, 3]), "dtype": torch.float32}), over=True))
        [one] = first.take()
        assert one.findings[0].details == {"shape": [2, 3], "dtype": "torch.float32"}


class TestWhichProcesses:
    def test_those_that_run_functions_of_the_users(self):
        class Job:
            def __call__(self): ...

            def method(self): ...

        def function(): ...

        for target in (function, functools.partial(function, 1), Job(), Job().method, Job):
            assert child_processes._is_users(target) == (target is not Job), target
        for target in (os.getpid, print, textwrap.dedent, torch.utils.data._utils.worker._worker_loop):
            assert not child_processes._is_users(target)

    def test_without_a_folder_they_start_as_ever(self, monkeypatch, capsys):
        def full(**options):
            raise OSError("no space left")

        def function(): ...

        monkeypatch.setattr(child_processes.tempfile, "mkdtemp", full)
        process = types.SimpleNamespace(_target=function, _args=())
        ours = child_processes.Children(torchsan.watch(), "/")
        ours._prepare(process)
        assert process._target is function
        assert "cannot be watched: no space left" in capsys.readouterr().err
        start = multiprocessing.process.BaseProcess.start
        ours.begin()
        assert multiprocessing.process.BaseProcess.start is not start
        assert ours.end() == []
        assert multiprocessing.process.BaseProcess.start is start


def test_which_of_how_many(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert joint_report.who() is None
    monkeypatch.setenv("RANK", "3")
    assert joint_report.who() is None
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert joint_report.who() is None
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert joint_report.who() == Who(3, 4, 3, 4)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert joint_report.who() == Who(3, 4, 1, 2)


class TestJoined:
    def test_one_mistake_on_several_ranks(self):
        heard = []
        mine = Findings(heard.append)
        mine.add("a", finding())
        mine.ranks = (0,)
        mine.add("b", finding(row=5))
        assert [f.ranks for f in heard] == [(), (0,)]
        mine.join([finding(message="mine (1 of 2)", ranks=(1,), count=3), finding(row=9, ranks=(1,))])
        mine.join([finding(row=9, ranks=(2,))], told=True)
        told = [(f.location.row, f.ranks, f.count) for f in mine.list()]
        assert told == [(3, (0, 1), 4), (5, (0,), 1), (9, (1, 2), 2)]
        assert [f.location.row for f in heard] == [3, 5, 9]

    def test_with_one_voice(self, recwarn):
        mine = Findings("warn")
        mine.silent = True
        mine.add("a", finding())
        assert not recwarn.list
        mine.speak()
        mine.add("b", finding(row=5))
        assert len(recwarn.list) == 2
