"""801 where a program also runs in one process, with another sampler, where batches are made by a batch sampler, and where the
batches are asked for in another file than the one that tells the epoch."""

import pytest

from tests.torchlint.dryrun.support import engine, holds, table

HEAD = """
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler


def train(loader, model, optimizer):
    for x, y in loader:{mark}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

"""
FOUND, SILENT = HEAD.replace("{mark}", "  # <- 801"), HEAD.replace("{mark}", "")


@table({
    "another sampler in one process": FOUND + """
def main(args, data, model, optimizer):
    if args.distributed:
        dist.init_process_group("nccl")
        sampler = DistributedSampler(data)
    else:
        sampler = RandomSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
    "in a batch sampler": FOUND + """
def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_sampler=BatchSampler(DistributedSampler(data), 4, drop_last=True))
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
    "told in the run of several": SILENT + """
def main(args, data, model, optimizer):
    if args.distributed:
        dist.init_process_group("nccl")
        sampler = DistributedSampler(data)
    else:
        sampler = RandomSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(args.epochs):
        if args.distributed:
            sampler.set_epoch(epoch)
        train(loader, model, optimizer)
""",
    "in no order that changes": SILENT + """
def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data, shuffle=False) if args.distributed else SequentialSampler(data)
    loader = DataLoader(data, batch_sampler=BatchSampler(sampler, 4, drop_last=True))
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
})
def test_the_sampler_of_several_processes_is_told_the_epoch(code):
    holds(code)


GIVEN = """
import torch.distributed as dist
from engine import {given}
from torch.utils.data import DataLoader, DistributedSampler


def main(args, data, model):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for epoch in range(args.epochs):
        {call}{mark}
"""


def _given(call, mark=False, before="pass", given="train, validate"):
    return GIVEN.format(call=call, mark="  # <- 801" * mark, before=before, given=given)


@table({
    "the loader": _given("loss = train(loader, model, optimizer, epoch)", mark=True),
    "under another name": _given("engine.train_one_epoch(model, loader, optimizer)", mark=True, before="import engine"),
    "and asked for again": _given("train(loader, model, optimizer); validate(loader, model)", mark=True),
    "with the sampler": _given("train(loader, sampler, model, optimizer, epoch)"),
    "the sampler before": _given("train(loader, model, optimizer, epoch)", before="remember(sampler)", given="train, remember"),
    "the loader before": _given("train(loader, model, optimizer, epoch)", before="loader = prepare(loader)"),
    "to an object": _given("runner.train(loader, model, optimizer, epoch)", before="runner = train()"),
    "once": _given("pass", before="train(loader, model, optimizer)"),
    "to evaluate": _given("validate(loader, model)"),
    "without an optimizer": _given("train(loader, model, epoch)"),
    "told here": _given("sampler.set_epoch(epoch); train(loader, model, optimizer, epoch)"),
})
def test_a_training_out_of_sight(code):
    holds(code)


METER = """
class Meter:
    def log_every(self, batches):
        for batch in batches:
            yield batch
"""
CLIPS = """
import torch
from meter import Meter
from torch.utils.data import DataLoader
from {home} import DistributedSampler


def main(args, data, model):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        {told}
        for x, y in Meter().log_every(loader):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


@pytest.mark.parametrize("home", ["torch.utils.data", "torch.utils.data.distributed", "torchvision.datasets.samplers"])
@pytest.mark.parametrize(("told", "numbers"), [("sampler.set_epoch(epoch)", []), ("print(epoch)", [801])], ids=["told", "not told"])
def test_the_epoch_is_told_in_another_file_than_the_loop(home, told, numbers, tmp_path):
    files = {"train.py": CLIPS.format(home=home, told=told), "meter.py": METER}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told_of = engine().check(str(tmp_path / "train.py"), files["train.py"]).findings
    assert sorted({found.number for found in told_of}) == numbers


ENDLESS = """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def batches(loader):
    {before}
    while True:
        {tell}
        for batch in loader:{mark}
            yield batch
        {behind}


def train(args, loader, model, optimizer):
    given = batches(loader)
    for _ in range(args.steps):
        x, y = next(given)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        {learn}
        optimizer.step()


def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    train(args, DataLoader(data, batch_size=4, sampler=DistributedSampler(data{shuffle})), model, optimizer)
"""


@pytest.mark.parametrize("given", [
    pytest.param({"mark": "  # <- 801"}, id="told by nobody"),
    pytest.param({"before": "passes = 0", "tell": "loader.sampler.set_epoch(passes)", "behind": "passes += 1"}, id="told in the generator"),
    pytest.param({"shuffle": ", shuffle=False"}, id="in no order that changes"),
    pytest.param({"learn": "print(loss.item())"}, id="nothing is learnt from them"),
    pytest.param({"behind": "return"}, id="once"),
])
def test_a_generator_that_never_ends(given):
    told = dict.fromkeys(("before", "tell", "behind"), "pass") | {"mark": "", "learn": "loss.backward()", "shuffle": ""} | given
    holds(ENDLESS.format(**told))


OWN = """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler


class Batches(DataLoader):
    def __init__(self, data, size, {more}):
        {sampler}
        {handed}

    {method}


def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    loader = Batches(data, 4{given})
    for epoch in range(args.epochs):
        for x, y in loader:{mark}
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


@pytest.mark.parametrize("given", [
    pytest.param({"mark": "  # <- 801"}, id="it makes the sampler"),
    pytest.param({"mark": "  # <- 801", "handed": "DataLoader.__init__(self, data, batch_size=size, sampler=order)"}, id="by the base's name"),
    pytest.param({"mark": "  # <- 801", "handed": "super().__init__(data, size, False, order)"}, id="by place"),
    pytest.param({"mark": "  # <- 801", "sampler": "order = DistributedSampler(data) if more else RandomSampler(data)", "given": ", args.distributed"}, id="or another in one process"),
    pytest.param({"sampler": "order = DistributedSampler(data, shuffle=False)"}, id="in no order that changes"),
    pytest.param({"sampler": "order = RandomSampler(data)"}, id="in one process"),
    pytest.param({"handed": "super().__init__(data, batch_size=size)"}, id="and hands it on to nobody"),
    pytest.param({"more": "weights, sampler", "given": ", None, DistributedSampler(data)", "handed": "super().__init__(data, batch_size=size)"}, id="a place of its own"),
    pytest.param({"method": "def tell(self, epoch): self.sampler.set_epoch(epoch)"}, id="it can tell the epoch"),
])
def test_a_loader_of_ones_own(given):
    told = {
        "mark": "", "sampler": "order = DistributedSampler(data)", "handed": "super().__init__(data, batch_size=size, sampler=order)",
        "method": "rows = 4", "more": "more=None", "given": "",
    } | given
    holds(OWN.format(**told))


PICKS = """
import random
import torch.distributed as dist
from torch.utils.data import Dataset, DataLoader, DistributedSampler


class Clips(Dataset):
    def __init__(self, clips, whole):
        self.clips, self.whole = clips, whole

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        if self.whole:
            clip = self.clips[index]
        else:
            clip = {other}
        return clip


def main(args, clips, model, optimizer):
    dist.init_process_group("nccl")
    data = Clips(clips, args.whole)
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    for epoch in range(args.epochs):
        for x, y in loader:{mark}
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("other", "mark"), [
    pytest.param("self.clips[index][:100]", "  # <- 801", id="by the index in either way"),
    pytest.param("random.choice(self.clips)", "", id="by the index in one way alone"),
])
def test_a_data_set_that_may_pick_its_items_itself(other, mark):
    holds(PICKS.format(other=other, mark=mark))
