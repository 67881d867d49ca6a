"""What is read from the calls of a few steps, at level="thorough": copies between devices, and each prediction
against every target. The device is torch's "meta", which has no values: copies to it look as they do with any other."""

from __future__ import annotations

import pickle

import pytest
import torch

import torchsan
from torchsan.checks.tensors.operand_pairs import NAMES
from torchsan.checks.tensors.operations import _Standing
from torchsan.checks.tensors.transfers import FACTORIES, METHODS

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
DEVICE = "meta"
"""
TRAINS = """
model = Net().to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = torch.rand(3)
for x, y in zip(torch.randn({steps}, 8, 4), torch.randint(0, 3, ({steps}, 8))):
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()
"""
LOSS = "loss = F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE))"


def net(line="pass", after="pass", init="pass"):
    return HEAD + f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)
        self.mean = torch.rand(8)
        self.register_buffer("scale", torch.rand(8))
        {init}

    def forward(self, x):
        x = self.first(x)
        {line}
        {after}
        return self.second(x)
"""


def trains(loss=LOSS, steps=4):
    return TRAINS.format(loss=loss, steps=steps)


COPIES = {
    "noise made on the CPU": net("x = x + torch.randn(8, 8).to(x.device)  # <- 402") + trains(),
    "made a line before": net("steps = torch.arange(8.0)  # <- 402", "x = x + steps.unsqueeze(0).to(x.device)")
    + trains(),
    "a mask, stacked": net("rows = [torch.ones(8), torch.zeros(8)] * 4", "x = x * torch.stack(rows).to(x)  # <- 404")
    + trains(),
    "filled from the CPU": net("x[:, :4].copy_(torch.zeros(8, 4))  # <- 402") + trains(),
    "made on the device": net("x = x + torch.randn(8, 8, device=x.device) + torch.ones_like(x) + self.scale")
    + trains(),
    "a number": net("x = x * torch.tensor(0.5).to(x.device) + torch.ones(1).to(x.device)") + trains(),
    "drawn with a generator": net("x = x + torch.randn(8, 8, generator=torch.Generator()).to(x.device)") + trains(),
    "input moved in forward": net("pass", init="self.first.register_forward_pre_hook(lambda m, a: (a[0].to(DEVICE),))")
    .replace("lambda m, a: (a[0].to(DEVICE),)", "carry").replace("class Net", CARRY := """
def carry(module, args):
    return (args[0].to(DEVICE),)  # <- 404

class Net""") + trains("loss = F.cross_entropy(model(x), y.to(DEVICE))"),
    "a constant that is no buffer": net("x = x - self.mean.to(x.device)  # <- 404") + trains(),
    "moved where it is already": net("x = x.to(self.scale.device) + self.scale.to(x)") + trains(),
    "class weights in every step": net() + trains(
        "loss = F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE), weight=weights.to(DEVICE))  # <- 430"
    ).replace("x.to(DEVICE)), y.to(DEVICE), w", "given), labels, w").replace(
        "    optimizer.zero_grad()", "    given, labels = x.to(DEVICE), y.to(DEVICE)\n    optimizer.zero_grad()"),
    "weights that change": net() + trains(
        "weights.mul_(0.9); now = weights.to(DEVICE); loss = F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE), now)"),
    "in the background, not pinned": net() + trains(
        "given = x.to(DEVICE, non_blocking=True)  # <- 425\n"
        "    loss = F.cross_entropy(model(given), y.to(DEVICE))"),
    "only now and then": net("if torch.rand(()) < 0: x = x + torch.ones(8).to(x.device)") + trains(),
    "in one step only": net("self.calls = getattr(self, 'calls', 0) + 1",
                            "x = x + self.mean.to(x.device) if self.calls == 2 else x") + trains(),
}


def found(run, text, **options):
    ran = run(text, level="thorough", **options)
    assert ran.error is None, ran.error
    return ran


@pytest.mark.parametrize("name", COPIES)
def test_copies(run, name):
    ran = found(run, COPIES[name], select="TS402,TS404,TS425,TS430")
    assert ran.lines == ran.marked, ran.san.report()


def test_nothing_is_looked_at_by_default(run):
    assert not run(COPIES["noise made on the CPU"], select="TS402,TS404,TS425,TS430").findings


def test_pinned_memory_that_is_waited_for(run, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    blocking = "given = x.to(DEVICE)  # <- 425\n    "
    ran = found(run, net() + trains(blocking + LOSS.replace("x.to(DEVICE)", "given").replace(
        "y.to(DEVICE)", "y.to(DEVICE, non_blocking=True)")), select="TS425")
    assert ran.lines == ran.marked, ran.san.report()
    [finding] = ran.findings
    assert "pinned memory" in finding.message and "128 bytes from cpu to meta" in finding.message


def test_the_words_of_a_copy(run):
    [finding] = found(run, COPIES["made a line before"], select="TS402").findings
    assert finding.message.startswith("`torch.arange(8.0)` makes a tensor on the CPU in every forward")
    assert finding.message.endswith("(32 bytes from cpu to meta, in each of 2 steps)")
    [copied] = finding.related
    assert copied.location.row == finding.location.row + 1


def evaluates(line, before="pass", classes=1):
    return HEAD + f"""
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, {classes}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
truth = torch.randint(0, 2, (24,))
data = TensorDataset(torch.randn(24, 4), truth)
levels, table = torch.rand(3), nn.Linear(4, 1)
for epoch in range(2):
    model.train()
    for x, y in DataLoader(data, 8, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(model(x), y.float()[:, None].expand(-1, {classes})).backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in DataLoader(data, 8):
            given = model(x)
            {before}
            right += {line}
"""


PAIRS = {
    "accuracy": evaluates("((given > 0.5) == y).sum()  # <- 417"),
    "accuracy, cast": evaluates("(y.float() == given.sigmoid().round()).float().mean()  # <- 417"),
    "accuracy, not equal": evaluates("given.round().long().ne(y.view(-1)).sum()  # <- 417"),
    "argmax that keeps its dimension": evaluates("given.argmax(1, keepdim=True).eq(y).sum()  # <- 417", classes=3),
    "top of all": evaluates("(best == y).sum()  # <- 417", "_, best = given.topk(1, 1)", classes=3),
    "absolute error": evaluates("(given - y).abs().mean()  # <- 417"),
    "squeezed": evaluates("((given.squeeze(1) > 0.5) == y).sum()"),
    "the target as a column": evaluates("(given.round() == y.unsqueeze(1)).sum()"),
    "the target viewed as the prediction": evaluates(
        "given.argmax(1, keepdim=True).eq(y.view_as(best)).sum()", "best = given.argmax(1, keepdim=True)", classes=3),
    "pairs by unsqueeze": evaluates("(given.squeeze(1)[:, None] == y).sum()"),
    "pairs by view": evaluates("(given.flatten().view(-1, 1) - y).abs().sum()"),
    "pairs of one's own": evaluates("(given - given.view(-1)).abs().sum()"),
    "against levels": evaluates("(given - levels).abs().sum()"),
    "a few of the targets": evaluates("(given - y[:3]).abs().sum()"),
    "one column of several": evaluates("(given[:, :1] - y).abs().sum()", classes=3),
    "cosines of a fixed table": evaluates("(norms * y).sum()", "norms = given.norm(dim=1, keepdim=True)", classes=3),
    "the largest against every row": evaluates("(top * y).sum()", "top = given.max(1, keepdim=True).values", classes=3),
    "distances": evaluates("torch.cdist(given, y[:, None].float()).sum()"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(run, name):
    ran = found(run, PAIRS[name])
    assert ran.lines == ran.marked, ran.san.report()


def test_tensors_stay_what_they_are_to_python(run):
    """`torch.tensor` of a tensor without dimensions: what is no sequence must not become one."""
    line = "x = x * torch.tensor([x.detach().mean() * 0 + 1]) + torch.tensor([[torch.ones(())], [0.0]]).sum()"
    text = net(line).replace('"meta"', '"cpu"') + trains() + "torch.stack([*model(torch.randn(2, 4))])\n"
    assert not found(run, text, select="TS4").findings


def test_another_process_gets_the_function_itself():
    for original in torch.Tensor.to, torch.rand:
        assert pickle.loads(pickle.dumps(_Standing(original, lambda: None))) is original


KEEP = """
class Image(torch.Tensor):
    KEEPS = {torch.Tensor.to, torch.Tensor.clone, torch.Tensor.mul, torch.Tensor.sub}
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func in cls.KEEPS)
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **(kwargs or {}))
        return out.as_subclass(cls) if func in cls.KEEPS else out
"""


def test_tensors_of_other_classes_know_what_is_called(run):
    line = "v = torch.randn(8, 8).as_subclass(Image); x = x + (v.to(torch.float64) * 1).clone().sub(0).float().sum()"
    text = net(line).replace('"meta"', '"cpu"').replace("class Net", KEEP + "\nclass Net") + trains()
    text += "assert Image.seen == [True, True, True, True, False] * 4, Image.seen\n"
    assert not found(run, text, select="TS4").findings


def test_a_difference_in_a_loss_is_told_once(run):
    ran = found(run, HEAD + """
from torch.utils.data import DataLoader, TensorDataset
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24)), 8, shuffle=True):
    optimizer.zero_grad()
    (model(x) - y).square().mean().backward()
    optimizer.step()
""")
    assert ran.codes == ["TS309"]


def test_what_a_library_copies_is_not_told(run):
    library = "def load(x, device):\n    return x.to(device, non_blocking=True)\n"
    text = net() + f"exec(compile({library!r}, '/somewhere/site-packages/library.py', 'exec'))" + trains(
        "loss = F.cross_entropy(model(load(x, DEVICE)), load(y, DEVICE))")
    assert not found(run, text, select="TS4").findings


def standing():
    """What stands in torch and on Tensor in the places that are replaced."""
    kept = {name: torch.Tensor.__dict__.get(name) for name in {*METHODS, *NAMES}}
    return {**kept, **{f"torch.{name}": getattr(torch, name, None) for name in {*FACTORIES, *NAMES}}}


@pytest.mark.parametrize("text", [
    COPIES["made on the device"],
    net() + trains(steps=2),
    net() + trains(steps=3) + "model(torch.randn(8, 5).to(DEVICE))\n",
], ids=["whole", "short", "error"])
def test_nothing_is_left_in_place(run, text):
    before = standing()
    replaced = "assert ('cuda' in torch.Tensor.__dict__) == (step in (0, 1))\n"
    text = text.replace("for x, y in", "for step, (x, y) in enumerate(").replace(", 8))):", ", 8)))):")
    text = text.replace("    optimizer.step()\n", f"    optimizer.step()\n    {replaced}")
    ran = run(text, level="thorough", select="TS402")
    assert standing() == before
    assert type(ran.error) is (RuntimeError if "8, 5" in text else type(None)), ran.error


def test_a_failing_look_is_no_failing_run(monkeypatch, capsys):
    from torchsan.checks.tensors.transfers import Transfers

    def fail(self, *args):
        raise ValueError("no look")

    monkeypatch.setattr(Transfers, "look", fail)
    before = standing()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, level="thorough", on_finding="collect") as san:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(8, 4).to(torch.float32)).mean().backward()
            optimizer.step()
    assert list(san.off) == ["Operations"] and "no look" in san.off["Operations"]
    assert standing() == before


def test_compiled_code_is_left_alone():
    model = torch.nn.Linear(4, 1)
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = standing()
    with torchsan.watch(model, level="thorough", on_finding="collect") as san:
        for _ in range(3):
            optimizer.zero_grad()
            compiled(torch.randn(8, 4)).mean().backward()
            optimizer.step()
            assert standing() == before
    assert not san.off
    torch.compiler.reset()
