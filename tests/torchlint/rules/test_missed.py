"""What a reader of random programs saw and torchlint did not, or the reverse: one case for each cause that was mended."""

import pytest

from tests.torchlint.dryrun.support import RULES, holds, table
from torchlint.engine import Engine

_SPAWNED = """
import torch.distributed as dist

def main(args):
    if args.multiprocessing_distributed:
        worker(args)

def worker(args):
    dist.init_process_group("nccl", rank=args.rank)
    model = nn.Linear(3, 3)
    torch.cuda.set_device(args.gpu)
    model = nn.parallel.DistributedDataParallel(model.cuda(args.gpu), device_ids=[args.gpu])
    model.load_state_dict(torch.load(args.resume))  # <- 816
    if args.rank == 0:
        torch.save(model.module.state_dict(), "best.pt")
    torch.save(model.module.state_dict(), "last.pt")  # <- 805
"""


@table({
    "805, 816: the condition under which there are several processes": _SPAWNED,
    "816: a process without a device of its own": """
import torch.distributed as dist
import torch.multiprocessing as mp

def main(args):
    if args.multiprocessing_distributed:
        mp.spawn(worker, nprocs=2, args=(args,))
    else:
        worker(args.gpu, args)

def worker(gpu, args):
    args.gpu = gpu
    if args.distributed:
        dist.init_process_group("nccl", rank=args.rank)
    model = nn.Linear(3, 3)
    if args.distributed:
        if args.gpu is not None:
            torch.cuda.set_device(args.gpu)
            model = nn.parallel.DistributedDataParallel(model.cuda(args.gpu), device_ids=[args.gpu])
        else:
            model = nn.parallel.DistributedDataParallel(model.cuda())
    else:
        raise NotImplementedError
    if args.gpu is None:
        state = torch.load(args.resume)
    else:
        state = torch.load(args.resume, map_location=f"cuda:{args.gpu}")
    model.load_state_dict(state)
""",
    "704: a step for each of several optimizers": """
def step(optimizers, scaler):
    for optimizer in optimizers.values():
        scaler.step(optimizer)
    scaler.update()

def train(optimizers, scaler, loader, model):
    for x in loader:
        model.zero_grad()
        scaler.scale(model(x).sum()).backward()
        for i, optimizer in enumerate(optimizers):
            scaler.step(optimizer)
        scaler.update()
""",
    "704: the same, and no update at all": """
def train(optimizers, scaler, loader, model):
    for x in loader:
        model.zero_grad()
        scaler.scale(model(x).sum()).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)  # <- 704
""",
    "109: weights that are pretrained are no training": """
class Net(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(torch.FloatTensor(rows), freeze=True)
        self.head = nn.Linear(20, 4)

    def forward(self, x):
        return self.head(self.words(x).mean(1))

def main(rows, loader, epochs):
    net = Net(rows)
    optimizer = torch.optim.Adam(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.98)
    fit(net, optimizer, scheduler, loader, epochs)
    best = Net(rows)

def fit(net, optimizer, scheduler, loader, epochs):
    for epoch in range(epochs):
        scheduler.step()  # <- 109
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "109: numbers and weights that are taken in": """
def train(model: nn.Module, loader, path, pbar, losses):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    state_dict = model.state_dict()
    state_dict.update(torch.load(path))
    model.load_state_dict(state_dict)
    for epoch in range(30):
        pbar.update(1)
        scheduler.step()  # <- 109
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.update(loss.item())
""",
    "109: loaders of training data that somebody else makes": """
from data import get_train_loader, load_training_data

def fit(net, epochs):
    optimizer = torch.optim.Adam(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.98)
    loader = get_train_loader(load_training_data())
    for epoch in range(epochs):
        scheduler.step()  # <- 109
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "109: how much there is of something": """
def fit(net, loader, pipeline, epochs):
    optimizer = torch.optim.Adam(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.98)
    print(pipeline.epoch_size(), pipeline.step_count())
    for epoch in range(epochs):
        scheduler.step()  # <- 109
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "109: something that may train by its name": """
from data import load_and_train

def fit(net, loader, epochs):
    optimizer = torch.optim.Adam(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.98)
    load_and_train(net)
    for epoch in range(epochs):
        scheduler.step()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "109: a trainer that is not seen": """
def fit(net, loader, trainer, epochs):
    optimizer = torch.optim.Adam(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.98)
    trainer.do_train(net)
    for epoch in range(epochs):
        scheduler.step()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "306: what torch.full is filled with": """
def train(net, loader, size):
    criterion, real = nn.BCELoss(), 1
    for x in loader:
        wanted = torch.full((size,), real, device=x.device)
        loss = criterion(net(x), wanted)  # <- 306
        loss = loss + criterion(net(x), torch.full((size,), 1.0)) + criterion(net(x), torch.full((size,), real, dtype=x.dtype))
        loss.backward()
""",
    "203: evaluation mode is set by what is called": """
class Relabelled(torch.utils.data.Dataset):
    def __init__(self, net, folder):
        self.net, self.folder = net, folder
        self.net.eval()

    def __len__(self):
        return len(self.folder)

    def __getitem__(self, i):
        return self.folder[i]

def main(folder):
    net = nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1))
    net.train()
    loader = torch.utils.data.DataLoader(Relabelled(net, folder), batch_size=4, shuffle=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()  # <- 203
        optimizer.step()
""",
    "203: evaluation mode from the start, by whoever builds the model": """
def build():
    net = nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1))
    net.eval()
    return net

def main(loader):
    net = build()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
""",
    "942: what reduction= has replaced": """
def losses(x, y, flag):
    one = nn.MSELoss(reduce=True, size_average=False)  # <- 942
    two = nn.BCELoss(size_average=flag)  # <- 942
    three = F.l1_loss(x, y, reduce=False)  # <- 942
    return one(x, y) + two(x, y) + three.sum() + F.l1_loss(x, y, reduction="sum")
""",
    "942: initialisers that are imported by their names": """
from torch.nn.init import kaiming_normal

def start(layer, normal):
    kaiming_normal(layer.weight, a=0.2)  # <- 942
    return normal(layer.weight)
""",
    "904: the best state in a dict": """
def fit(model, loader, score):
    optimizer = torch.optim.RMSprop(model.parameters())
    best = 0.0
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        if score(model) > best:
            best = score(model)
            checkpoint = {"model": model.state_dict(), "score": best}  # <- 904
    return checkpoint

def fit_and_save(model, loader, score):
    optimizer = torch.optim.RMSprop(model.parameters())
    best = 0.0
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        if score(model) > best:
            best = score(model)
            checkpoint = {"model": model.state_dict(), "score": best}
            torch.save(checkpoint, "best.pt")
""",
    "111: a plateau that is asked for with each batch, and one with patience": """
def fit(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.8)
    patient = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2000)
    for epoch in range(epochs):
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step(loss)  # <- 111
            patient.step(loss)

def fit_by_epochs(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.8)
    for epoch in range(epochs):
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step(total / len(loader))
""",
    "202: a loss function of a file that is not there": """
from metrics import bivariate_loss, calibrate

def measure(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        total += bivariate_loss(model(x), y).item()  # <- 202
    return total / len(loader)

def calibrated(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        total += calibrate(model(x), y).item()
    return total / len(loader)
""",
})
def test_missed(code):
    holds(code)


@pytest.mark.parametrize("caller, count", [("if args.rank == 0:\n        ", 0), ("", 1)])
def test_a_method_that_another_file_calls_in_one_process(tmp_path, caller, count):
    """816 and 805 ask who calls a method that nobody in its file calls."""
    (tmp_path / "pyproject.toml").touch()
    text = """import torch
from torch import nn


class Runner:
    def __init__(self, args):
        self.model = nn.Linear(3, 3).cuda()
        if args.local_rank != -1:
            self.model = nn.parallel.DistributedDataParallel(self.model, device_ids=[args.local_rank])

    def restore(self, path):
        self.model.load_state_dict(torch.load(path))
"""
    (tmp_path / "runner.py").write_text(text)
    main = f'from runner import Runner\n\n\ndef main(args):\n    runner = Runner(args)\n    {caller}runner.restore("a.pt")\n'
    (tmp_path / "main.py").write_text(main)
    judge = Engine(RULES)
    judge.check(str(tmp_path / "main.py"), main)
    found = [finding.number for finding in judge.check(str(tmp_path / "runner.py"), text).findings]
    assert found.count(816) == count
