"""Areas 3 and 4 in other words than those of the pages: what is certain of a value, and what is not."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, holds, marked, table
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

OTHERS = Engine(tuple(rule for rule in catalogue() if rule.group not in ("correctness", "suspicious")))


@table({
    "a cast that is taken back": """
layer, words = nn.Linear(3, 1), nn.Embedding(9, 3)

def f(x):
    a = x.long().float()
    b = x.int()
    b = b.to(torch.float32)
    c = x.long() / 255
    d = torch.arange(3).to(x)
    return layer(a), layer(b), layer(c), layer(d), words(x.float().long())
""",
    "a cast that stays through moves and views": """
layer = nn.Linear(3, 1)

def f(x, device):
    return layer(x.long().view(-1, 3).to(device))  # <- 409
""",
    "dtypes that a branch leaves open": """
layer = nn.Linear(3, 1)

def f(x, flag):
    y = x.long() if flag else x.float()
    return layer(y)
""",
    "dtypes that a branch does not leave open": """
def f(x, y, flag):
    y = y.int() if flag else y.view(-1).int()
    return F.nll_loss(F.log_softmax(x, 1), y)  # <- 306
""",
    "the target first, through a view": """
from torch.utils.data import DataLoader

def train(data):
    net, criterion = nn.Linear(4, 2), nn.BCEWithLogitsLoss()
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        loss = criterion(y.view(-1, 2).float(), net(x))  # <- 310
        loss.backward()
""",
    "two models, and a loss that does not care": """
from torch.utils.data import DataLoader

def train(data, teacher):
    net, criterion, error = nn.Linear(4, 2), nn.KLDivLoss(), nn.MSELoss()
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        loss = criterion(F.log_softmax(teacher(x), 1), F.softmax(net(x), 1)) + error(y, net(x))
        loss.backward()
""",
    "classes that are known, and labels that are not": """
net = nn.Linear(8, 3)

def f(x, y, high):
    a = F.cross_entropy(net(x), y) + F.cross_entropy(net(x), torch.randint(0, high, (4,)))
    return a + F.cross_entropy(net(x), torch.randint(3, (4,)).to(x.device))
""",
    "labels that a device move keeps": """
net = nn.Linear(8, 3)

def f(x):
    logits = net(x)
    return F.cross_entropy(logits, torch.tensor([0, 3]).long().to(x.device))  # <- 307
""",
    "labels to be left out by a number that is not known": """
net = nn.Linear(8, 3)

def f(x, ignored):
    return nn.CrossEntropyLoss(ignore_index=ignored)(net(x), torch.tensor([0, 7]))
""",
    "arrays of a dtype of their own": """
import numpy as np
net = nn.Linear(3, 1)

def f():
    a = torch.from_numpy(np.zeros((2, 3), dtype=np.float32))
    b = torch.from_numpy(np.random.rand(2, 3).astype("float32"))
    return net(a), net(b), net(torch.Tensor(np.zeros((2, 3))))
""",
    "float64 by name": """
net = nn.Linear(3, 1)

def f(x):
    return net(x.long().to(torch.float64))  # <- 410
""",
    "a mask in bfloat16, and one that fits": """
def f(q, k, mask):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        a = (q @ k).masked_fill(mask, -1e9)
    with torch.autocast("cuda", dtype=torch.float16):
        b = (q @ k).masked_fill(mask, -1e4)
        c = (q @ k).softmax(-1).masked_fill(mask, -1e9)
        d = (q @ k).masked_fill(mask, -1e9)  # <- 318
    return a, b, c, d
""",
    "expanded, and copied since": """
def f(n):
    a = torch.zeros(1, 3).expand(4, 3).contiguous()
    a += torch.randn(4, 3)
    b = torch.zeros(4, 3).expand(4, 3)
    b += torch.randn(4, 3)
    c = torch.zeros(1, 3).expand(4, 3)
    c += torch.randn(4, 3)  # <- 414
    return a, b, c
""",
    "an array of what has a graph": """
import numpy as np

def to_numpy(x):
    if x.requires_grad:
        x = x.detach()
    return x.numpy()

def f(x):
    y = nn.Linear(2, 1)(x)
    return to_numpy(y), np.array(y.tolist()), np.asarray(y.detach())
""",
    "not a number, in other words": """
import numpy as np

def f(x, n):
    return x == float("NaN"), x != np.nan, float("inf") == x, x == float(n)  # <- 427, 427
""",
    "logarithms one step apart": """
def f(x):
    p = x.softmax(1)
    q = p.clamp_min(1e-8)
    return q.log(), (p + 1e-8).log(), (p * 2).log(), torch.log(p)  # <- 305
""",
})
def test_certain(code):
    holds(code)


@table({
    "a transfer of what a loop makes": """
def train(net, loader, weights, device):
    for x in loader:
        x = x.to(device)
        y = x * 2
        net(y.to(device), weights.to(device)).sum().backward()  # <- 430
""",
    "there and back": """
def train(net, epochs, device):
    for _ in range(epochs):
        net.to(device)
        net.eval().cpu()
""",
    "what grows, and what is read while it grows": """
def f(rows, seen):
    out, tokens = torch.zeros(0), torch.zeros(1)
    for row in rows:
        out = torch.cat((out, row))  # <- 421
        tokens = torch.cat([tokens, tokens[-1:] + row])
        seen[row] = torch.cat([seen[row], row])
    return out, tokens
""",
    "the caller's dict, and one's own": """
class Net(nn.Module):
    def forward(self, features, cache):
        features["a"] = features["a"] * 2  # <- 415
        cache = dict(cache)
        cache["a"] = features["a"]
        return features, cache
""",
    "a carried state": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x, h):
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
        rows = []
        for t in range(x.size(0)):  # <- 418
            rows.append(x[t].norm())
        return h, rows
""",
    "what Python knows": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        x = self.fc(x)
        if x.size(0) > 3 or x.dtype == torch.half or torch.rand(1) < 0.5:
            return x
        return -x if x.mean() > 0 else x  # <- 419
""",
    "formulas by hand": """
def f(x):
    a = torch.log(1 + x).long(), (x - x.max()).exp().sum().log(), torch.log(2 + x)
    return a, torch.log1p(x), torch.exp(x) - 2, (1 + x).log(), x.exp() - 1  # <- 317, 317
""",
    "where nothing is squared": """
def f(x, y):
    a = torch.sqrt(F.mse_loss(x, y) + 1e-8), torch.sqrt(F.l1_loss(x, y)), x.sum().sqrt()
    with torch.no_grad():
        b = (x - y).pow(2).sum().sqrt(), x.data.pow(2).sum().sqrt()
    return a, b, x.data.pow(2).sum().sqrt(), torch.sqrt(((x - y) ** 2).mean())  # <- 314
""",
    "by the settings": """
def f(x, args, device):
    a = x.to(device), x.to(args.device), x.to(torch.half), torch.zeros(2, device=device)
    b = x.cuda() if args.cuda else x
    return a, b, x.to("cuda:1"), torch.ones(2, device="cuda")  # <- 403, 403
""",
})
def test_slow_and_asked_for(code):
    text = IMPORTS + code
    compile(text, "snippet.py", "exec")
    assert found(text, judge=OTHERS) == marked(text)


@pytest.mark.parametrize(("options", "told"), [
    ("batch_size=8", True), ("batch_size=8, drop_last=True", False), ("batch_size=1", False), ("", False),
    ("**options", False),
])
def test_means_of_batches(options, told):
    text = f"""
def f(net, criterion, data, options):
    loader, total = torch.utils.data.DataLoader(data, {options}), 0
    for x, y in loader:
        total += F.cross_entropy(net(x), y).item()
    return total / len(loader)
"""
    for shown in ("loader", "track(loader)", "enumerate(tqdm(loader))"):
        target = "i, (x, y)" if "enumerate" in shown else "x, y"
        written = text.replace("for x, y in loader", f"for {target} in {shown}")
        assert (316 in [number for _, number in found(IMPORTS + written, judge=OTHERS)]) is told


@pytest.mark.parametrize(("made", "moved", "told"), [
    ("pin_memory=True", "x.to(device)", True), ("pin_memory=True", "x.to(device, non_blocking=True)", False),
    ("", "x.to(device)", False), ("", "x.to(device, non_blocking=True)", True), ("**options", "x.to(device)", False),
    ("pin_memory=options", "x.to(device, non_blocking=True)", False),
])
def test_pinned_and_not_waited_for(made, moved, told):
    text = f"def f(net, data, options, device):\n    loader = torch.utils.data.DataLoader(data, {made})\n" \
           f"    for x, y in loader:\n        net({moved})\n"
    assert (425 in [number for _, number in found(IMPORTS + text, judge=OTHERS)]) is told
