"""What the project's own generators, wrappers, context managers and lists of functions pass on."""

from .support import events, holds, runs, table

HEAD = "from contextlib import contextmanager\nfrom torch.utils.data import DataLoader\n"

@table({
    "a generator": "def batches(items):\n    for item in items:\n        yield item\n",
    "yield from": "def batches(items):\n    yield from items\n",
    "an object": "class batches:\n    def __init__(self, items):\n        self.items = items\n    def __iter__(self):\n        return iter(self.items)\n",
})
def test_batches_of_a_loader(code):
    found = runs(f"{HEAD}{code}def main(data):\n    for x in batches(DataLoader(data)):\n        print(x)\n")
    assert any(getattr(event.subject, "kind", "") == "loader" for run in found for event in events(run, "loader.iterate"))


@table({
    "that only tells the time": '''
@contextmanager
def timed(name):
    yield
    print(name)
def main(loader, model: nn.Module):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        with timed("step"):
            with torch.no_grad():
                loss = F.cross_entropy(model(x), y)
            loss.backward()  # <- 108
            opt.step()
''',
    "that switches gradients off": '''
@contextmanager
def evaluating():
    with torch.no_grad():
        yield
def main(loader, model: nn.Module):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        with evaluating():
            loss = F.cross_entropy(model(x), y)
        loss.backward()  # <- 108
        opt.step()
''',
    "that puts a model into a mode and back": '''
@contextmanager
def evaluating(model):
    model.eval()
    with torch.no_grad():
        yield
    model.train()
def main(loader, test):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
        with evaluating(model):
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test)
''',
})
def test_context_managers_of_the_project(code):
    holds(HEAD + code)


@table({
    "steps": '''
def main(loader, model: nn.Module):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()  # <- 101
        for callback in [opt.step]:
            callback()
''',
    "in order": '''
def main(loader, model: nn.Module):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for callback in (opt.step, opt.zero_grad):
            callback()
''',
})
def test_a_list_of_functions(code):
    holds(code)


def test_processes_are_spawned():
    holds('''
import torch.multiprocessing as mp
def work(rank, args):
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    for x, y in args.loader:
        F.cross_entropy(model(x), y).backward()  # <- 101
        opt.step()
def main(args):
    mp.spawn(work, args=(args,), nprocs=2)
''')
