"""Mistakes as other people write them: modules out of lists, models that are given, iterators, Lightning's schedules, and functions
or files that have nothing to do with what is judged."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, holds, table
from torchlint.api import check
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine


@table({
    "941: a loader that is given": """
from torch.utils.data import DataLoader

def peek(batches: DataLoader):
    return iter(batches).next()  # <- 941

def look(train_loader):
    batches = iter(train_loader)
    return batches.next()  # <- 941

def show(test_iter):
    x, y = iter(test_iter).next()  # <- 941
    return x

def walk(nodes, graph_iter):
    return iter(nodes).next(), iter(graph_iter).next()

class Trainer:
    def __init__(self, data):
        self.loader = DataLoader(data, batch_size=4)
        self.batches = iter(self.loader)

    def batch(self):
        try:
            return self.batches.next()  # <- 941
        except StopIteration:
            self.batches = iter(self.loader)
            return self.batches.next()  # <- 941

    def either(self):
        try:
            return self.batches.next()
        except (AttributeError, StopIteration):
            return next(self.batches)

    def train(self, net, optimizer):
        for epoch in range(9):
            optimizer.zero_grad()
            net(self.batch()).sum().backward()
            optimizer.step()
""",
    "521: a model that is given": """
def freeze(model: nn.Module):
    model.train = False  # <- 521
    return model

def options(args):
    args.train = False
    return args

def made():
    net = nn.Linear(3, 3)
    net.eval = True  # <- 521
    return net
""",
    "111: Lightning steps a schedule once per epoch": """
from pytorch_lightning import LightningModule

class Tagger(LightningModule):
    def __init__(self, data, epochs):
        super().__init__()
        self.net, self.data, self.epochs = nn.Linear(3, 3), data, epochs

    def training_step(self, batch, i):
        return F.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.net.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, steps_per_epoch=len(self.data), epochs=self.epochs)  # <- 111
        return {"optimizer": optimizer, "lr_scheduler": schedule}
""",
    "111: Lightning is told the interval": """
from pytorch_lightning import LightningModule

class Tagger(LightningModule):
    def __init__(self, data, epochs):
        super().__init__()
        self.net, self.data, self.epochs = nn.Linear(3, 3), data, epochs

    def training_step(self, batch, i):
        return F.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.net.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, steps_per_epoch=len(self.data), epochs=self.epochs)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
""",
    "111: epochs for Lightning's epochs": """
from pytorch_lightning import LightningModule

class Tagger(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def training_step(self, batch, i):
        return F.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.net.parameters())
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.max_epochs)]
""",
})
def test_other_forms(code):
    holds(code)


RESUMED = """
def resume(path, net, optimizer):
    state = torch.load(path)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]

def main(loader, path, epochs):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(net.parameters())
    start_epoch = 0
    if path:
        {how}
    for epoch in range(start_epoch, epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save({{"net": net.state_dict(), "epoch": epoch}}, "last.pt")
"""


@pytest.mark.parametrize("how, numbers", [
    ("start_epoch = resume(path, net, optimizer)", []),
    ("state = torch.load(path); net.load_state_dict(state['net']); start_epoch = state['epoch']", [905]),
])
def test_a_load_that_nobody_calls_is_none(how, numbers):
    assert [number for _, number in found(IMPORTS + RESUMED.format(how=how)) if number == 905] == numbers


SAVES = """import torch
from torch import nn


def main():
    net = nn.DataParallel(nn.Linear(4, 4))
    torch.save(net.state_dict(), "net.pt")
"""
READS = """import torch


def read(net, path):
    net.load_state_dict({key.replace("module.", ""): value for key, value in torch.load(path).items()})
"""


@pytest.mark.parametrize("place, told", [("read.py", False), ("other/read.py", True)])
def test_only_a_file_that_is_near_is_ready_for_the_names(tmp_path, place, told):
    (tmp_path / "pyproject.toml").write_text("")
    for path, text in (("train/main.py", SAVES), (place, READS)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found_in = check(tmp_path / "train/main.py", cache=False)
    assert any(finding.code == "TL808" for finding in found_in) is told


ON_SEVERAL = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main(args):
    dist.init_process_group("nccl")
    net = nn.Linear(4, 4)
    if args.gpu is None:
        net = DistributedDataParallel(net.cuda())
    else:
        net = DistributedDataParallel(net.cuda(args.gpu), device_ids=[args.gpu])
    return net
"""


def test_a_process_without_a_gpu_of_its_own_has_them_all():
    first = len(IMPORTS.splitlines())
    assert found(IMPORTS + ON_SEVERAL) == [(first + 6, 804)]  # the other way alone: it has one, and does not say so
    always = ON_SEVERAL.replace("args.gpu is None", "args.wrap")
    assert (first + 9, 804) in found(IMPORTS + always)


@pytest.mark.parametrize("blocks, rows", [("nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])", [8]), ("depth.made()", [])])
def test_a_module_of_a_list_by_an_index(blocks, rows):
    text = f"""
class Tower(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = {blocks}

    def forward(self, x):
        for i in range(1, 4):
            x = self.blocks[i - 1].forward(x)
        return x
"""
    judged = Engine((catalogue().find(504),)).check("snippet.py", IMPORTS + text)
    assert [finding.location.row - 4 for finding in judged.findings] == rows
