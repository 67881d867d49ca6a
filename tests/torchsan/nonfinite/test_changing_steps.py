"""Steps that change the program while they compute their loss, are written on one line, or compute it elsewhere: they are run
again all the same, and what they changed is put back."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn

import torchsan
from torchsan.nonfinite.loss_graph import bad_operation
from torchsan.nonfinite.undo import Undo

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

PROGRAMS = {
    "one line": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = torch.log(model(x) * 0).mean(); opt.zero_grad(); loss.backward(); opt.step()  # <- 422
""",
    "one line, by parts": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    y = model(x)
    h = y - y.detach()
    d = torch.sqrt(h.square()).sum(); opt.zero_grad(); d.backward(); opt.step()  # <- 422
""",
    "computed in a method, optimised in another": """
class Trainer:
    def __init__(self, model):
        self.model, self.seen, self.losses = model, 0, []
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
    def compute(self, batch):
        out = self.model(batch)
        self.seen += len(batch)
        loss = torch.log(out.abs() * 0).mean()  # <- 422
        self.losses.append(loss.item())
        return loss
    def optimise(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
    def fit(self, batches):
        for batch in batches:
            self.optimise(self.compute(batch))

Trainer(nn.Linear(4, 2)).fit(torch.randn(3, 8, 4))
""",
    "kept on self, backward elsewhere": """
class Agent:
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.loss = None
    def forward_pass(self, x):
        self.loss = torch.sqrt((self.net(x) * 0)).mean()  # <- 422
    def update(self):
        self.opt.zero_grad()
        self.loss.backward()
        self.opt.step()

agent = Agent()
for x in torch.randn(3, 8, 4):
    agent.forward_pass(x)
    agent.update()
""",
    "losses in a dict": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def losses(self, x):
        y = self.fc(x)
        return {"a": y.mean(), "b": torch.acos(y * 0 + 2).mean()}  # <- 422

model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    losses = model.losses(x)
    total = sum(losses.values())
    opt.zero_grad()
    total.backward()
    opt.step()
""",
    "a generator gives the batches": """
def batches():
    for x in torch.randn(3, 8, 4):
        yield x, torch.zeros(8, 2)

model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
stream = batches()
for step in range(3):
    x, y = next(stream)
    opt.zero_grad()
    loss = ((model(x) - y) / y).square().mean()  # <- 422
    loss.backward()
    opt.step()
""",
    "logs on the way": """
import logging
log = logging.getLogger("train")
class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.step_count = 0
    def loss_of(self, x):
        out = self.model(x)
        loss = torch.log(out.square() * 0).mean()  # <- 422
        log.info("loss %s", loss.item())
        return loss
    def train(self, data):
        for x in data:
            loss = self.loss_of(x)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.step_count += 1

Trainer().train(torch.randn(3, 8, 4))
""",
    "a counter in a global": """
count = 0
def loss_of(out):
    global count
    count += 1
    return torch.log(out.square() * 0).mean()  # <- 422

model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = loss_of(model(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "a closure that counts": """
def make():
    count = 0
    def loss_of(out):
        nonlocal count
        count += 1
        return (out / (out - out)).mean()  # <- 422
    return loss_of

criterion = make()
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    loss = criterion(model(x))
    loss.backward()
    opt.step()
""",
    "walrus": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    (loss := torch.log(model(x).square() * 0).mean()).backward()  # <- 422
    opt.step()
""",
    "in the argument of backward": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    torch.autograd.backward(torch.rsqrt(model(x).square() * 0).mean())  # <- 422
    opt.step()
""",
    "a list of losses": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    parts = []
    out = model(x)
    for column in out.unbind(1):
        parts.append(torch.log(column.square() * 0).mean())  # <- 422
    loss = torch.stack(parts).sum()
    loss.backward()
    opt.step()
""",
    "under try": """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    try:
        out = model(x)
        loss = torch.log(out.square() * 0).mean()  # <- 422
        opt.zero_grad()
        loss.backward()
        opt.step()
    except RuntimeError:
        continue
""",
    "in a thread of its own": """
import threading
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def work():
    for x in torch.randn(3, 8, 4):
        loss = torch.log(model(x).square() * 0).mean()  # <- 422
        opt.zero_grad()
        loss.backward()
        opt.step()
work()
""",
    "two networks, one loss": """
enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
class Loop:
    def __init__(self): self.total = 0.0
    def step(self, x):
        z = enc(x)
        out = dec(z)
        kl = (z.square() * 0).log().mean()  # <- 422
        loss = (out - x).square().mean() + kl
        self.total += loss.item()
        return loss
    def run(self):
        for x in torch.randn(3, 8, 4):
            loss = self.step(x)
            opt.zero_grad(); loss.backward(); opt.step()
Loop().run()
""",
    "a metric that is updated": """
class Mean:
    def __init__(self): self.sum, self.n = 0.0, 0
    def update(self, value, n=1): self.sum += value * n; self.n += n
meter = Mean()
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def step(x):
    out = model(x)
    loss = torch.log(out.square() * 0).mean()  # <- 422
    meter.update(loss.item(), len(x))
    return loss
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    step(x).backward()
    opt.step()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_located(run, name):
    ran = run(HEAD + PROGRAMS[name])
    assert ran.error is None
    assert {line for line in ran.lines if line[0] in (121, 422)} == ran.marked, ran.san.report()


COUNTS = """
import collections, logging, math
log, said = logging.getLogger("of the program"), []
log.addHandler(type("Kept", (logging.Handler,), {"emit": lambda self, record: said.append(record.getMessage())})())
log.setLevel("INFO")
count = 0

class Trainer:
    def __init__(self):
        self.model, self.seen = nn.Linear(4, 2), 0
        self.losses, self.recent, self.sums = [], collections.deque(maxlen=2), {"loss": 0.0}
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01)
    def loss_of(self, x, step):
        global count
        count += 1
        out = self.model(x)
        loss = (out.square() + (step != 2)).mean() if step != 2 else torch.log(out * 0).mean()
        self.seen += len(x)
        self.last = step
        self.losses.append(loss.item())
        self.recent.append(step)
        self.sums["loss"] += 1.0
        log.info("step %d", step)
        return loss
    def train(self):
        for step, x in enumerate(torch.randn(4, 8, 4)):
            loss = self.loss_of(x, step)
            self.opt.zero_grad()
            loss.backward()
            if math.isfinite(loss.item()):
                self.opt.step()
        return count, self.seen, self.last, len(self.losses), list(self.recent), self.sums, said

RESULT = Trainer().train()
"""


def test_nothing_is_counted_twice(run):
    ran = run(HEAD + COUNTS)
    assert ran.error is None
    assert [f.number for f in ran.findings if f.number in (121, 422)] == [422], ran.san.report()
    space: dict = {}
    exec(compile(HEAD + COUNTS + "\nassert RESULT == (4, 32, 3, 4, [2, 3], {'loss': 4.0}, [f'step {i}' for i in range(4)]), RESULT\n",
                 "<bare>", "exec"), space)
    with torchsan.watch(on_finding="collect"):
        logging.getLogger("of the program").handlers.clear()
        watched: dict = {}
        exec(compile(HEAD + COUNTS, "<bare>", "exec"), watched)
    assert watched["RESULT"] == space["RESULT"]


WRITES = """
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def loss_of(out):
    with open({path!r}, "a") as file:
        file.write("a step\\n")
    return torch.log(out * 0).mean()
for x in torch.randn(1, 8, 4):
    loss = loss_of(model(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_what_cannot_be_put_back_is_not_run_again(run, tmp_path):
    path = tmp_path / "log.txt"
    ran = run(HEAD + WRITES.format(path=str(path)))
    [finding] = [f for f in ran.findings if f.number == 121]
    assert path.read_text() == "a step\n"
    assert "`log` was given float32 [8, 2]: 0 to 0, mean 0, 16 zeros" in finding.message
    assert "the forward of the model, without the loss behind it, was run again, and it came out finite" in finding.message
    assert "`step = san.step(step)`" in finding.message


@pytest.mark.parametrize(("loss", "said"), [
    (lambda x: (x / 0).sum(), "`div` was given int64 []: 0 to 0"),
    (lambda x: torch.acos(x + 2).sum(), "`acos` was given float32 [3]: 3 to 3"),
    (lambda x: torch.exp(x * 100).sum(), "`exp` gave float32 [3]: 3 infinite"),
    (lambda x: torch.log(torch.exp(x * 100) - 3).sum(), "`exp` gave"),
    (lambda x: x.sum(), None),
    (lambda x: (x * float("inf")).sum(), None),
])
def test_the_graph_of_the_loss(loss, said):
    told = bad_operation(loss(torch.ones(3, requires_grad=True)))
    assert told is None if said is None else told.startswith(said), told


def test_a_freed_graph_tells_nothing():
    loss = torch.log(torch.zeros(3, requires_grad=True)).sum()
    loss.backward()
    assert bad_operation(loss) is None


def test_memory_that_was_taken_away_is_not_read():
    """As `fully_shard` does between forward and backward."""
    weight = torch.ones(1 << 16, requires_grad=True) * 1
    loss = torch.log(torch.ones(1 << 16, requires_grad=True) * 0 / weight).sum()
    assert bad_operation(loss).startswith("`log` was given")
    weight.untyped_storage().resize_(0)
    assert bad_operation(loss).startswith("`log` was given")
    other = torch.zeros(1 << 16, requires_grad=True) * 1
    loss = torch.log(other).sum()
    other.untyped_storage().resize_(0)
    assert bad_operation(loss) is None


def test_undo_refuses_what_it_cannot_put_back():
    class Slotted:
        __slots__ = ("a",)

    class Own:
        def __setattr__(self, name, value):
            raise AssertionError

    undo = Undo()
    assert not undo.attributes(Slotted()) and not undo.attributes(Own()) and not undo.attributes(int)
    assert not undo.content(torch.ones(3)) and not undo.content(range(3)) and not undo.content([0] * 10_000)
    assert undo.attributes(nn.Linear(1, 1)) and undo.content({"a": 1})
