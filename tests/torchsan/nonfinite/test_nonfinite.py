"""Where the first NaN or infinity comes from: planted origins, and the same written as people write training loops."""

from __future__ import annotations

import pytest

from tests.torchsan.conftest import FIXTURES

PLANTED = sorted((FIXTURES / "nonfinite").glob("*.py"))
OPERATIONS = {  # of the planted origins: the operation, its direction, and what its inputs must be said to have
    "bad_checkpoint": ("embedding", "forward", None),
    "custom_function": ("div", "backward", "zeros"),
    "frozen_division": ("div", "forward", "a zero"),
    "half_overflow": ("bmm", "forward", "float16"),
    "layer_forward": ("log", "forward", "zeros"),
    "log_of_zero": ("log", "forward", "zeros"),
    "loss_division": ("div", "forward", "a zero"),
    "masked_softmax": ("softmax", "forward", "infinite"),
    "norm_backward": ("pow", "backward", "a zero"),
    "sqrt_backward": ("div", "backward", "a zero"),
    "step_blew_up": ("addmm", "forward", "mean"),
}
MODULES = {
    "bad_checkpoint": "Tagger.embedding",
    "custom_function": "Sequential.2",
    "frozen_division": "Classifier.backbone.0",
    "half_overflow": "Model.attention",
    "layer_forward": "Model.energy",
    "masked_softmax": "Model.pool",
    "norm_backward": "Triplet",
    "sqrt_backward": "Net.norm",
    "step_blew_up": "Sequential.4",
}


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_planted_origins(run, path, level):
    ran = run(path, level=level, ignore="TS707")  # one of them trains in float16, which is said as well
    assert ran.error is None
    assert len(ran.marked) == 1
    assert ran.lines == ran.marked, ran.san.report()
    (finding,) = ran.findings
    operation, direction, statistics = OPERATIONS[path.stem]
    assert finding.details["operation"] == operation
    assert finding.details["direction"] == direction
    assert finding.details.get("module") == MODULES.get(path.stem)
    if statistics is not None:
        assert any(statistics in str(value) for value in finding.details.values())


def test_all_kinds_are_planted():
    assert {path.stem for path in PLANTED} == set(OPERATIONS)


LOOPS = {
    "train_one_epoch": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.bn = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(8, 2)
    def forward(self, x):
        h = self.drop(F.relu(self.bn(self.fc1(x))))
        return self.fc2(torch.sqrt(h))  # <- 422

def train_one_epoch(model, loader, criterion, optimizer, device, epoch):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for batch_idx, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * data.size(0)
        correct += (output.argmax(1) == target).sum().item()
        seen += data.size(0)
        if batch_idx % 10 == 0:
            print(epoch, batch_idx, total / seen)
    return total / seen

loader = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(3)]
model = Net()
train_one_epoch(model, loader, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters()), "cpu", 0)
""",
    "trainer class with training_step": """
class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.history = []
        self.step = 0

    def training_step(self, batch):
        x, y = batch
        pred = self.model(x)
        scale = y.std(dim=0)
        return self.criterion(pred / scale, y / scale)  # <- 422

    def fit(self, batches):
        for batch in batches:
            loss = self.training_step(batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            self.history.append(loss.item())

batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)]
batches[1][1].fill_(2.0)
Trainer(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), 1e-3).fit(batches)
""",
    "loss in a helper that is a class": """
class DiceLoss(nn.Module):
    def __init__(self, smooth=0.0):
        super().__init__()
        self.smooth = smooth
    def forward(self, scores, target):
        p = torch.sigmoid(scores) * target
        inter = (p * target).sum()
        return 1 - (2 * inter + self.smooth) / (p.sum() + target.sum() + self.smooth)  # <- 422

class Combined(nn.Module):
    def __init__(self):
        super().__init__()
        self.dice, self.bce = DiceLoss(), nn.BCEWithLogitsLoss()
    def forward(self, scores, target):
        return self.bce(scores, target) + self.dice(scores, target)

model = nn.Conv2d(1, 1, 3, padding=1)
criterion = Combined()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    image = torch.randn(2, 1, 6, 6)
    mask = (torch.rand(2, 1, 6, 6) > 0.5).float() * (step != 1)
    loss = criterion(model(image), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "autocast, GradScaler, clipping": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 1)
    def forward(self, x):
        h = self.up(x)
        return self.down(h / (h - h.detach()).abs().mean())  # <- 422

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for x in torch.randn(6, 8, 4):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
        loss = F.mse_loss(out.float(), torch.zeros(8, 1))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""",
    "accumulation": """
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
accumulate = 4
batches = [torch.randn(8, 4) for _ in range(8)]
batches[5] = torch.zeros(8, 4)

def distance(a):
    return torch.sqrt((a * a).sum(dim=1))  # <- 422

for i, x in enumerate(batches):
    y = model(x) * x[:, :1]
    loss = distance(y).mean() / accumulate
    loss.backward()
    if (i + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
    "dropout decides": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.last = nn.Linear(4, 1)
    def forward(self, x):
        kept = F.dropout(self.first(x), 0.4, training=self.training)
        return self.last(kept / kept.sum(dim=1, keepdim=True))  # <- 422

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for x in torch.randn(12, 4, 4):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "dropout decides, in the second model": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
    def forward(self, x):
        return F.dropout(self.first(x), 0.5, training=self.training)

other, model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
history = []
for x in torch.randn(40, 2, 4):
    history.append(other(x).mean().item())
    loss = torch.log(model(x).square().sum(dim=1)).mean()  # <- 422
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "lstm": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, dropout=0.3, bidirectional=True, batch_first=True)
        self.out = nn.Linear(10, 3)
    def forward(self, tokens):
        h, (_, c) = self.lstm(self.embed(tokens))
        weight = torch.exp(200 * h.abs())  # <- 422
        return self.out(h * weight / weight.sum(dim=1, keepdim=True))

model = Tagger()
with torch.no_grad():
    for p in model.lstm.parameters():
        p.mul_(8)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    tokens, tags = torch.randint(0, 10, (4, 7)), torch.randint(0, 3, (4, 7))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "compiled": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.b(torch.log(h))  # <- 422

model = torch.compile(Net(), backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in torch.randn(3, 8, 4):
    loss = model(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "checkpointed, both ways": """
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.2)
    def forward(self, x):
        h = self.drop(torch.relu(self.fc(x)))
        return torch.sqrt(h)  # <- 422

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.one, self.two, self.out = Block(), Block(), nn.Linear(4, 1)
    def forward(self, x):
        x = self.stem(x)
        x = checkpoint(self.one, x, use_reentrant=False)
        x = checkpoint(self.two, x, use_reentrant=True)
        return self.out(x)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in torch.randn(3, 8, 4):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "two optimizers": """
G = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
D = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.3), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
for step in range(3):
    real, z = torch.randn(8, 2), torch.randn(8, 2)
    fake = G(z)
    opt_d.zero_grad()
    d_loss = -(torch.log(D(real) + 1e-8) + torch.log(1 - D(fake.detach()) + 1e-8)).mean()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    score = D(fake)
    g_loss = torch.log(score - score).mean()  # <- 422
    g_loss.backward()
    opt_g.step()
""",
    "lbfgs": """
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
x, y = torch.randn(16, 3), torch.randn(16, 1)

def closure():
    optimizer.zero_grad()
    residual = model(x) - y
    weight = residual.detach() * 0
    loss = (residual / weight).square().mean()  # <- 422
    loss.backward()
    return loss

for _ in range(2):
    optimizer.step(closure)
""",
    "backward in a helper": """
class Engine:
    def __init__(self, optimizer):
        self.optimizer = optimizer
    def backward(self, loss):
        loss = loss / 2
        loss.backward()
    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return torch.sqrt((self.fc(x) * 0).abs())  # <- 422

model = Net()
engine = Engine(torch.optim.SGD(model.parameters(), lr=0.1))
for x in torch.randn(3, 8, 4):
    loss = model(x).mean()
    engine.backward(loss)
    engine.step()
""",
    "scaler in a class of its own": """
class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", enabled=False)
    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, create_graph=False):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if clip_grad is not None:
            self._scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
        self._scaler.step(optimizer)
        self._scaler.update()

def train_one_epoch(model, criterion, data_loader, optimizer, loss_scaler, max_norm=0.0):
    model.train(True)
    for samples, targets in data_loader:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = model(samples)
            loss = criterion(outputs, targets)
            loss = loss + outputs.float().sub(outputs.float()).sqrt().mean()  # <- 422
        loss_scaler(loss, optimizer, clip_grad=max_norm, parameters=model.parameters())
        optimizer.zero_grad()

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
loader = [(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(3)]
train_one_epoch(model, nn.CrossEntropyLoss(), loader, torch.optim.AdamW(model.parameters()), NativeScaler(), 1.0)
""",
    "loss in the model": """
class Output(dict):
    __getattr__ = dict.__getitem__

class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.head = nn.Linear(8, 9)
    def forward(self, tokens, labels=None):
        logits = self.head(self.embed(tokens))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)  # <- 422
        return Output(loss=loss, logits=logits)

model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    tokens = torch.randint(0, 9, (2, 5))
    labels = tokens.clone() if step != 1 else torch.full_like(tokens, -100)
    out = model(tokens=tokens, labels=labels)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "under no function, with logging and schedulers": """
import random
model = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.GELU(), nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10)
weights = torch.tensor([0.2, 0.8, 0.0])
log = {"loss": [], "seen": 0}
for epoch in range(2):
    for step in range(3):
        images = torch.randn(6, 1, 3, 4)
        if random.random() < 2:
            images = images.flip(-1)
        targets = torch.randint(0, 2, (6,)) if (epoch, step) != (1, 1) else torch.full((6,), 2)
        logits = model(images)
        log["seen"] += len(images)
        picked = weights[targets]
        each = F.cross_entropy(logits, targets, reduction="none") * picked
        loss = each.sum() / picked.sum()  # <- 422
        reg = sum(p.abs().sum() for p in model.parameters())
        total = loss + 1e-4 * reg
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        scheduler.step()
        log["loss"].append(total.item())
""",
    "with statements and branches": """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 4), nn.Linear(2, 6)
    def encode(self, x):
        return self.enc(x).chunk(2, dim=1)
    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar * 400)  # <- 422
        return mu + std * torch.randn_like(std)
    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar

def elbo(recon, x, mu, logvar):
    return F.mse_loss(recon, x) - 0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())

vae = VAE()
with torch.no_grad():
    vae.enc.bias.fill_(1.0)
opt = torch.optim.Adam(vae.parameters(), 1e-3)
use_amp = False
for x in torch.randn(3, 5, 6):
    with torch.set_grad_enabled(True):
        with torch.autocast("cpu", enabled=use_amp, dtype=torch.bfloat16):
            recon, mu, logvar = vae(x)
            if use_amp:
                recon = recon.float()
            loss = elbo(recon, x, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    "augmented by the loss": """
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for x in torch.randn(3, 8, 4):
    optimizer.zero_grad()
    loss = 0
    outputs = model(x)
    for head in outputs.unbind(1):
        loss += head.square().mean()
    loss += torch.acos(1.5 + 0 * outputs).mean()  # <- 422
    losses.append(loss.item())
    loss.backward()
    optimizer.step()
""",
    "siamese with cosine by hand": """
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 6, bias=False), nn.ReLU(), nn.Linear(6, 3, bias=False))
    def forward(self, a, b):
        u, v = self.net(a), self.net(b)
        u = u / u.norm(dim=1, keepdim=True)  # <- 422
        v = v / (v.norm(dim=1, keepdim=True) + 1e-8)
        return (u * v).sum(dim=1)

model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
criterion = nn.MSELoss()
for step in range(3):
    a, b, y = torch.randn(8, 4), torch.randn(8, 4), torch.ones(8)
    if step == 2:
        a[0] = 0
    optimizer.zero_grad()
    criterion(model(a, b), y).backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(run, name, level):
    program = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n" + LOOPS[name]
    ran = run(program, level=level)
    assert ran.error is None
    assert ran.lines == ran.marked, ran.san.report()


RESTING = """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range({last}):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    if step == {bad}:
        y = model[2](model[1](model[0](x))).detach()  # by its parts, of which nobody hears
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()
"""
SLOW = "loss = torch.sqrt((model(x) - y).square().sum(dim=1)).mean()  # <- 422"
SUDDEN = "loss = (model(x) - y).square().mean() / (step != {bad})  # <- 422"


@pytest.mark.parametrize("bad", range(80, 97))  # wherever in the rhythm
def test_a_tiny_model_at_rest_is_watched_too(run, bad):
    ran = run(RESTING.format(last=bad + 2, bad=bad, loss=SUDDEN.format(bad=bad)))
    assert ran.lines == ran.marked, ran.san.report()
    assert ran.findings[0].step == bad


@pytest.mark.parametrize("bad", range(80, 97))
def test_gradients_of_a_tiny_model_at_rest(run, bad):
    ran = run(RESTING.format(last=bad + 2, bad=bad, loss=SLOW).replace("nn.Dropout(0.1)", "nn.Tanh()"))
    assert ran.lines == ran.marked, ran.san.report()
    assert ran.findings[0].step == bad


SCALED = """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale={scale}, growth_interval=10)
for step, x in enumerate(torch.randn(140, 8, 4)):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = 16 * model(x).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize("scale", [2.0**10, 2.0**30, 2.0**127])
def test_a_scaler_may_look_for_its_scale(run, scale):
    ran = run(SCALED.format(scale=scale))
    assert not ran.findings, ran.san.report()


BATCHES = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    {bad}
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y){mark}
    loss.backward()
    optimizer.step()
"""


def test_a_bad_target_is_the_batch(run):
    ran = run(BATCHES.format(bad="if step == 9: y[3] = float('inf')", mark="  # <- 423"))
    assert ran.lines == ran.marked, ran.san.report()
    assert ran.findings[0].message.startswith("the batch `y`")


def test_a_bad_input_on_a_device_that_is_not_looked_at(run, monkeypatch):
    from torchsan.checks.tensors.bad_batch import BadBatch

    monkeypatch.setattr(BadBatch, "before_forward", lambda self, event: None)
    ran = run(BATCHES.format(bad="if step == 9: x[3] = float('nan')", mark="  # <- 423"))
    assert ran.lines == ran.marked, ran.san.report()


def test_without_422_it_is_told_as_121(run):
    ran = run(FIXTURES / "nonfinite" / "log_of_zero.py", ignore="TS422")
    assert [f.number for f in ran.findings] == [121]


def test_every_finding_says_how_to_mend_it(run):
    for path in PLANTED:
        (finding,) = run(path, ignore="TS707").findings
        assert len(finding.help) > 20 and "{" not in finding.message + finding.help
        assert finding.related, finding


MENDS = [  # what is computed of y (8 values, one of them 0, one below), words of the message, words of the mend
    ("torch.sqrt(y.abs())", "the backward of `sqrt`", "under it"),
    ("y.abs() ** 0.5", "the backward of `pow`", "under it"),
    ("torch.log(y)", "`log`", "negative number"),
    ("torch.log(y.abs())", "`log`", "log(0) is -inf"),
    ("1 / y", "`reciprocal`", "divisor is 0"),
    ("y / y", "`div`", "divisor is 0"),
    ("y[y > 100].mean()", "out of no values at all", "leave such batches out"),
    ("y[:1].std()", "`std`", "spread of one value"),
    ("torch.exp(y + 1000)", "`exp`", "beyond 88"),
    ("torch.acos(y * 100)", "`acos`", "x.clamp("),
    ("torch.acos(y * 0 + 1)", "the backward of `acos`", "x.clamp("),
    ("torch.rsqrt(y.abs())", "`rsqrt`", "torch.rsqrt(x + 1e-12)"),
    ("torch.sqrt(y)", "`sqrt`", "negative number has no square root"),
    ("y ** 1.5", "`pow`", "clamp the base"),
    ("torch.where(y > 0, float('inf'), 0.0) * 0 * y", "`mul`", "0 times infinity"),
    ("(y.half() * 60000) * 60000", "`mul`", "65504"),
    ("F.softmax(y.masked_fill(y < 100, -float('inf')), 0)", "-inf throughout", "one position of each row"),
    ("F.nll_loss(y.view(4, 2), torch.full((4,), -100))", "`nll_loss_forward`", "no target of this batch counts"),
    ("(y * 3e38) * 9e9", "`mul`", "in range"),
    ("torch.logit(y.clamp(0, 1))", "`logit`", "eps"),
]
COMPUTED = """
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(8, 8, bias=False)
with torch.no_grad():
    model.weight.copy_(torch.eye(8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.tensor([0.5, 0.0, -0.5, 0.9, 0.1, 0.2, 0.3, 0.4])
y = model(x)
loss = ({what}).float().sum()  # <- 422
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize(("what", "message", "mend"), MENDS, ids=[what for what, _, _ in MENDS])
def test_the_mend_fits_the_operation(run, what, message, mend):
    ran = run(COMPUTED.format(what=what), select="TS422")
    assert ran.lines == ran.marked, ran.san.report()
    assert message in ran.findings[0].message
    assert mend in ran.findings[0].help


DIVERGES = """
import torch
from torch import nn

rows = torch.randn(64, 10) * 50
wanted = rows @ torch.randn(10, 1)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for _ in range(6):
    loss = nn.functional.mse_loss(model(rows), wanted){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_overflow_at_the_end_of_a_loss_that_only_grew_is_a_divergence(run):
    [found] = run(DIVERGES.format(rate=0.01, more="")).findings
    assert found.number == 422 and "the run diverges, its loss went from" in found.message
    assert "lower the learning rate" in found.help
    assert [other.location.row for other in found.related if "too far" in other.message] == [13]


def test_an_overflow_that_has_a_cause_of_its_own_is_none(run):
    [found] = run(DIVERGES.format(rate=1e-6, more=" + torch.exp(torch.tensor(30.0 * _))")).findings
    assert found.number == 422 and "diverges" not in found.message
