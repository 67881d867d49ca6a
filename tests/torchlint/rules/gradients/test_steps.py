"""Training steps as people write them, sound ones above all: what the rules on graphs, optimizers and schedules must
not say."""

from collections import Counter

import pytest

from tests.torchlint.dryrun.support import IMPORTS, engine, events, found, holds, runs, table
from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Instance
from torchlint.rules.base import View
from torchlint.rules.distributed import optimizer_before_shard
from torchlint.rules.forms import order
from torchlint.rules.gradients import exhausted_parameters

SOUND = {
    "gan-without-detach": """
class Net(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.layer = nn.Linear(a, b)

    def forward(self, x):
        return torch.sigmoid(self.layer(x))

G, D = Net(4, 8), Net(8, 1)
g_opt, d_opt = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for real in torch.randn(5, 16, 8):
    noise = torch.randn(16, 4)
    d_loss = F.binary_cross_entropy(D(G(noise)), torch.zeros(16, 1))
    d_loss = d_loss + F.binary_cross_entropy(D(real), torch.ones(16, 1))
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    fake = G(noise)
    g_loss = F.binary_cross_entropy(D(fake), torch.ones(16, 1))
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
""",
    "loss-made-anew-at-the-end-of-the-loop": """
linear = nn.Linear(2, 1)
x, y = torch.randn(8, 2), torch.randn(8, 1)
loss = F.mse_loss(linear(x), y)
while loss.item() > 0.1:
    loss.backward()
    for p in linear.parameters():
        p.data.sub_(0.1 * p.grad)
        p.grad = None
    loss = F.mse_loss(linear(x), y)
""",
    "learning-rate-by-hand": """
def train(net: nn.Module, loader, rate):
    for epoch in range(10):
        optimizer = torch.optim.Adam(net.parameters(), lr=rate)
        rate *= 0.5
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
""",
    "inner-loop-of-two-levels": """
def adapt(net: nn.Module, batches):
    for x, y in batches:
        inner = torch.optim.Adam(net.parameters(), lr=0.1)
        for part in (x, y):
            inner.zero_grad()
            net(part).square().mean().backward()
            inner.step()
        inner.step()
""",
    "part-in-eval-mode-is-traced": """
class Tracer(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        self.model.eval()

    def forward(self, x):
        return self.model(x)

traced = torch.jit.trace(Tracer(), torch.randn(1, 4))  # <- 942
""",
    "scheduler-in-another-function": """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)

def after_epoch():
    scheduler.step()

def main(loader, callbacks):
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        for callback in callbacks:
            callback()

main([], [after_epoch])
""",
    "straight-through": """
def train(net: nn.Module, loader, optimizer):
    for x, y in loader:
        out = net(x)
        hard = out + (out.round() - out).detach()
        loss = F.mse_loss(hard, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "in-place-on-what-nobody-keeps": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        out = self.layer(x)
        out += x
        shown = out.sigmoid().clone()
        shown[:, 0] = 0
        return out * shown
""",
    "what-a-mask-picks-is-a-copy": """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, y):
        chances = torch.sigmoid(self.layer(x))
        picked = chances[y > 0]
        picked[picked == 0] = 1e-20
        return torch.log(picked).sum()
""",
    "gan-whose-critic-is-deep": """
class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(wide, wide), nn.LayerNorm(wide), nn.GELU()

    def forward(self, x):
        return x + self.three(self.two(self.one(x)))

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(8), Block(8), Block(8), Block(8), Block(8), Block(8), Block(8))
        self.judge, self.kind = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x):
        x = self.blocks(x)
        return torch.sigmoid(self.judge(x)), self.kind(x)

G, D = nn.Sequential(Block(4), nn.Linear(4, 8), Block(8), Block(8)), Critic()
g_opt, d_opt = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
loss_fn = nn.BCELoss()
for noise, real in zip(torch.randn(5, 16, 4), torch.randn(5, 16, 8)):
    fake = G(noise)
    on_real, _ = D(real)
    on_fake, _ = D(fake)
    loss = loss_fn(on_real, torch.ones_like(on_real)) + loss_fn(on_fake, torch.zeros_like(on_fake))
    D.zero_grad()
    loss.backward(retain_graph=True)
    d_opt.step()
    again, _ = D(fake)
    loss = loss_fn(again, torch.ones_like(again))
    G.zero_grad()
    loss.backward()
    g_opt.step()
""",
    "only-the-loss-is-seen": """
from torchkge.models import Model

class Near(Model):
    def __init__(self):
        super().__init__(3, 4)
        self.table = nn.Embedding(3, 4)

    def scoring_function(self, x):
        return self.table(x).sum(1)

class Soft(nn.Module):
    def __init__(self):
        super().__init__()
        self.soft = nn.Softplus()

    def forward(self, x, y):
        return torch.mean(self.soft(x) + self.soft(-y))

net, criterion = Near(), Soft()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in zip(torch.randn(5, 16, 4), torch.randn(5, 16, 8)):
    first, second = net(x, y)
    optimizer.zero_grad()
    loss = criterion(first, second)
    loss.backward()
    optimizer.step()
""",
    "updates-by-hand": """
net = nn.Linear(4, 2)
for x, y in zip(torch.randn(5, 16, 4), torch.randn(5, 16, 2)):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    for p in net.parameters():
        p.data.add_(p.grad.data, alpha=-0.1)
""",
    "gan-whose-generator-steps-less-often": """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
g_opt, d_opt = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for i, noise in enumerate(torch.randn(20, 16, 4)):
    g_opt.zero_grad()
    d_opt.zero_grad()
    d_loss = D(G(noise)).mean()
    d_loss.backward()
    d_opt.step()
    if i % 5 == 0:
        g_loss = -D(G(noise)).mean()
        g_loss.backward()
        g_opt.step()
""",
    "backward-of-something-else": """
@torch.no_grad()
def measure(transform, images):
    for x in images:
        y = transform.forward(x)
        transform.backward(y)
""",
}
WRONG = {
    "momentum-forgotten-every-epoch": """
net = nn.Linear(4, 2)
for epoch in range(10):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)  # <- 122
    for x in torch.randn(5, 8, 4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
""",
    "loss-wrapped-in-a-variable": """
from torch.autograd import Variable

def train(net: nn.Module, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss = Variable(loss, requires_grad=True)
        optimizer.zero_grad()
        loss.backward()  # <- 117
        optimizer.step()
""",
    "rounded-before-the-loss": """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 8, 4):
    loss = F.mse_loss(torch.round(net(x)), torch.zeros(8, 1))
    optimizer.zero_grad()
    loss.backward()  # <- 117
    optimizer.step()
""",
    "schedule-of-transformers-in-epochs": """
from transformers import get_linear_schedule_with_warmup

def train(net: nn.Module, loader, epochs=3):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    scheduler = get_linear_schedule_with_warmup(optimizer, 0, epochs)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            scheduler.step()  # <- 111
""",
    "clipped-and-not-divided": """
def train(net: nn.Module, loader, k):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for epoch in range(10):
        for i, (x, y) in enumerate(loader):
            loss = F.cross_entropy(net(x), y)
            loss.backward()  # <- 104
            if (i + 1) % k == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
""",
}


@table(SOUND)
def test_sound(code):
    holds(code)


@table(WRONG)
def test_wrong(code):
    holds(code)


def test_objects_know_the_loops_they_were_made_in():
    text = "before = nn.Linear(1, 1)\nfor i in range(3):\n    within = nn.Linear(1, 1)\n"
    run = runs(text + "    within(before(torch.ones(1, 1))).sum().backward()\n")[0]
    models = [event.subject for event in events(run, "forward")]
    made = {model.name: len(run.made_in[id(model)]) for model in models if isinstance(model, Instance)}
    assert made == {"before": 0, "within": 1}


def test_a_step_beside_the_backward_of_another_model():
    code = IMPORTS + """
model, net = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in torch.randn(5, 2, 8, 4):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y[:, :2])
    loss.backward()
    optimizer.step()
"""
    (finding,) = [item for item in engine().check("snippet.py", code).findings if item.number == 103]
    ((row, message),) = [(place.location.row, place.message) for place in finding.related]
    assert row == code[: code.index("loss.backward")].count("\n") + 1
    assert message == "this computes no gradient for what the optimizer steps"


def test_each_of_many_optimizers_is_asked_for_its_own_events(monkeypatch):
    """Not for those of all others, which takes the square of them."""
    asked = Counter()

    def count(owner, name):
        old = getattr(owner, name)

        def counted(*args):
            asked[name] += 1
            return old(*args)

        monkeypatch.setattr(owner, name, counted)

    count(order.OptimizerLinks, "certain")
    count(View, "steps")
    for module in (order, exhausted_parameters, optimizer_before_shard):
        count(module, "after")
    makes = "".join(f"o{at} = torch.optim.SGD(model.parameters())\n" for at in range(40))
    steps = "".join(f"o{at}.step()\n" for at in range(40))
    assert not found(IMPORTS + f"model = nn.Linear(2, 2)\n{makes}model(x).backward()\n{steps}")
    assert 0 < asked["certain"] < 20 * 40 and 0 < asked["steps"] < 3 * 40 and not asked["after"]


def test_what_many_events_lead_to_is_asked_once(monkeypatch):
    """Not by a way through the whole loop from each of them."""
    asked = []
    monkeypatch.setattr(order, "after", lambda *given: asked.append(given) or after(*given))
    text = "optimizer = torch.optim.SGD(model.parameters())\nfor x in y:\n"
    text += "    if x: optimizer.zero_grad()\n    else: loss = model(x)\n" * 30
    text += "    loss.backward()\n    optimizer.step()\n"
    assert not found(IMPORTS + text)
    assert len(asked) < 10


@table({
    "what was called before the optimizer was there": """
from torch.utils.data import Dataset
from elsewhere import Loader

class Rows:
    def __init__(self, n):
        self.n = n

rows = Rows(4)
loader = Loader(rows, batch_size=2)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())

def train():
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # <- 103

for epoch in range(5):
    train()
""",
    "what is called when it is there": """
from elsewhere import Runner, follow

class Rows:
    def __init__(self, n):
        self.n = n

model = nn.Linear(4, 2)
rows = Rows(4)
optimizer = torch.optim.Adam(model.parameters())
follow(rows)

def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()

for epoch in range(5):
    train(Runner())
""",
})
def test_who_can_know_an_optimizer(code):
    holds(code)


AGAIN = """
def train(loader, group, update):
    model, other = nn.Linear(4, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        second.zero_grad()
        loss = F.mse_loss(other(model(x)), y)
        loss.backward()
        optimizer.step()
{rest}
"""


@pytest.mark.parametrize(("rest", "told"), [
    ("optimizer.step()", True),
    ("print(loss.item())\noptimizer.step()", True),
    ("second.step()\noptimizer.step()", True),
    ("second.step()", False),
    ("F.mse_loss(other(model(x)), y).backward()\noptimizer.step()", False),
    ("if update:\n    optimizer.step()", False),
    ("for _ in range(3):\n    optimizer.step()", False),
    ("for p in model.parameters():\n    p.grad.neg_()\noptimizer.step()", False),
    ("group['lr'] = 0.01\noptimizer.step()", False),
    ("update(model)\noptimizer.step()", False),
    ("update(optimizer)\noptimizer.step()", False),
    ("optimizer.step(lambda: F.mse_loss(other(model(x)), y))", False),
])
def test_a_second_step_on_one_backward(rest, told):
    text = IMPORTS + AGAIN.format(rest="\n".join(" " * 8 + line for line in rest.split("\n")))
    at = [text[: text.rindex("optimizer.step()")].count("\n") + 1] if told else []
    assert [row for row, number in found(text) if number == 103] == at


def test_a_second_step_in_another_function():
    holds("""
def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(loader, model: nn.Module):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        update(optimizer, loss)
        optimizer.step()  # <- 103
""")


TWO_PACES = """
encoder, head = nn.Linear(4, 8), nn.Linear(8, 2)
slow = torch.optim.Adam(encoder.parameters(), lr=1e-4)
fast = torch.optim.Adam(head.parameters(), lr=1e-3)


def train(loader, stop):
    for i, (x, y) in enumerate(loader):
        slow.zero_grad(){mark}
        fast.zero_grad()
        loss = F.cross_entropy(head(encoder(x)), y)
        loss.backward()
{rest}
        if i % 4 == 0:
            slow.step()
"""


@pytest.mark.parametrize(("rest", "told"), [
    ("fast.step()", False),
    ("if stop:\n    fast.step()", True),
    ("pass", True),
])
def test_of_two_optimizers_the_rarer_one_is_cleared_with_the_other(rest, told):
    holds(TWO_PACES.format(rest="\n".join(" " * 8 + line for line in rest.split("\n")), mark="  # <- 102" if told else ""))


@table({
    "101: a base class that is handed the loss, and leaves the rest to others": """
class Solver:
    def backward(self, loss):
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return norm
""",
    "101: it is seen who hands it over": """
class Solver:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def backward(self, loss):
        loss.backward()  # <- 101
        self.optimizer.step()

    def train(self, batches):
        for x, y in batches:
            self.backward(F.mse_loss(self.model(x), y))
""",
})
def test_losses_that_are_handed_over(code):
    holds(code)


HELPED = """
from helpers import keep, {helper}


def main(samples):
    model = nn.Linear(4, 2)
    keep(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = {helper}({given})
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        optimizer.step(){mark}
"""


@pytest.mark.parametrize("helper, given, told", [
    ("train_test_split", "samples", True),
    ("get_train_loader", "samples", True),
    ("fit_transform", "samples", True),
    ("train_test_split", "optimizer", False),
    ("train_on_batches", "samples", False),  # it may have come by the model
])
def test_what_cuts_or_loads_data_for_training_takes_no_step(helper, given, told):
    holds(HELPED.format(helper=helper, given=given, mark="  # <- 103" if told else ""))
