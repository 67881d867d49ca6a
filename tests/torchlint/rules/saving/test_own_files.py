"""901 of files with more in them than weights, written by the program itself or used as no weights can be; 902 of what a wrapper holds."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, holds, table
from tests.torchlint.support import write
from torchlint.api import check

ARGS = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    args = parser.parse_args()
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")MARK
        net.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "args": GIVEN}, "last.pt")

main()
"""


@pytest.mark.parametrize(("given", "mark"), [("args", "  # <- 901"), ("vars(args)", ""), ("args.__dict__", ""), ("args.resume", "")])
def test_a_namespace(given, mark):
    holds(ARGS.replace("GIVEN", given).replace("MARK", mark))


def test_another_file_may_be_read():
    code = ARGS.replace("GIVEN", "args").replace("MARK", "")
    holds(code.replace('checkpoint["optimizer"]', 'checkpoint["optimizer_state"]'))
    holds("torch.serialization.add_safe_globals([object])\n" + code)


@table({
    "a whole optimizer, by a helper": """
def save_checkpoint(state, path):
    torch.save(state, path)

def train(net: nn.Module, resume):
    optimizer = torch.optim.Adam(net.parameters())
    start = 0
    if resume:
        checkpoint = torch.load("last.pt")  # <- 901
        start = checkpoint["epoch"]
        net.load_state_dict(checkpoint["model"])
        optimizer = checkpoint["optimizer"]
    save_checkpoint({"epoch": start, "model": net.state_dict(), "optimizer": optimizer}, "last.pt")
""",
    "instead of the model that was built before": """
import lightning

def train(path, load, data):
    model = Net(4)
    if load:
        model = torch.load(path)  # <- 901
    lightning.Trainer(max_epochs=3).fit(model, data)
""",
    "a layer of a model": """
from torchvision import models

def load(path):
    checkpoint = torch.load(path)  # <- 901
    model = models.vgg16()
    model.classifier = checkpoint["classifier"]
    model.load_state_dict(checkpoint["state_dict"])
    return model
""",
    "a name of something that is no model": """
def load(path, settings, model):
    checkpoint = torch.load(path)
    settings.head = checkpoint["head"]
    settings.width = checkpoint["classifier"]
    model.load_state_dict(checkpoint["state_dict"])
""",
    "another name's weights": """
def train(path, load, data, fit):
    model = Net(4)
    net = Net(4)
    if load:
        model = torch.load(path)
        net.load_state_dict(model)
    fit(net, data)
""",
    "one of two files is plain": """
def train(net: nn.Module, args):
    optimizer = torch.optim.Adam(net.parameters())
    checkpoint = torch.load(args.resume)
    net.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "best": optimizer}, "a.pt")
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, "b.pt")
""",
    "a figure of NumPy's": """
import numpy as np

def train(net: nn.Module, args, losses):
    checkpoint = torch.load(args.resume)  # <- 901
    net.load_state_dict(checkpoint["model"])
    best = checkpoint["best"]
    torch.save({"model": net.state_dict(), "best": np.mean(losses)}, "a.pt")

def plain(net: nn.Module, args, losses):
    checkpoint = torch.load(args.resume)
    net.load_state_dict(checkpoint["model"])
    best = checkpoint["best"]
    torch.save({"model": net.state_dict(), "best": float(np.mean(losses))}, "a.pt")
""",
    "a model that another method writes": """
class Agent:
    def __init__(self, env):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def save(self):
        torch.save(self.net, "net.pkl")  # <- 902

    def load(self):
        self.net = torch.load("net.pkl")  # <- 901
""",
    "a state that another method writes": """
class Agent:
    def __init__(self, env):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def save(self):
        torch.save(self.net.state_dict(), "net.pkl")

    def load(self):
        self.net.load_state_dict(torch.load("net.pkl"))
""",
    "a whole model, written and read": """
net = nn.Linear(4, 2)
torch.save(net, "net.pt")  # <- 902
again = torch.load("net.pt")  # <- 901
print(again(torch.randn(1, 4)))
""",
    "a file that is opened": """
def train(args, data, fit):
    model = nn.Linear(4, 2)
    fit(model, data)
    with open(args.save, "wb") as file:
        torch.save(model, file)  # <- 902
    with open(args.save, "rb") as file:
        model = torch.load(file)  # <- 901
    return model
""",
    "a state in a file that is opened": """
def train(args, data, fit):
    model = nn.Linear(4, 2)
    fit(model, data)
    with open(args.save, "wb") as file:
        torch.save(model.state_dict(), file)
    with open(args.save, "rb") as file:
        best = torch.load(file)
    return best
""",
    "another file that is opened": """
def train(args, data, fit):
    model = nn.Linear(4, 2)
    fit(model, data)
    with open(args.save, "wb") as file:
        torch.save(model, file)  # <- 902
    with open(args.weights, "rb") as file:
        best = torch.load(file)
    return best
""",
    "an attribute that is written, and read": """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def save(self, path):
        torch.save(self.model, path)  # <- 902

    def load(self, path):
        self.model = torch.load(path)  # <- 901
""",
    "an attribute of which the state is written": """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def save(self, path):
        torch.save(self.model.state_dict(), path)

    def load(self, path):
        self.model = torch.load(path)
""",
    "whoever says so": """
net = nn.Linear(4, 2)
torch.save(net, "net.pt")  # <- 902
again = torch.load("net.pt", weights_only=False)
print(again(torch.randn(1, 4)))
""",
})
def test_what_is_written(code):
    holds(code)


@table({
    "a model out of a dict is asked for its state": """
def fill(net, path):
    checkpoint = torch.load(path, map_location="cpu")  # <- 901
    state = checkpoint["model"].float().state_dict()
    net.load_state_dict(state, strict=False)
""",
    "at once": """
def fill(net, path):
    net.load_state_dict(torch.load(path)["model"].state_dict())  # <- 901
""",
    "its parameters are frozen": """
def frozen(path):
    net = torch.load(path)  # <- 901
    net = net.cuda()
    for p in net.parameters():
        p.requires_grad = False
    return net
""",
    "under a name of its own": """
def frozen(path):
    checkpoint = torch.load(path)  # <- 901
    net, start = None, checkpoint["epoch"]
    net = checkpoint["net"]
    for p in net.parameters():
        p.requires_grad = False
    return net, start
""",
    "in one of two ways": """
def frozen(path, build):
    if path:
        net = torch.load(path)  # <- 901
    else:
        net = build()
    for p in net.parameters():
        p.requires_grad = False
    return net
""",
    "in place of what is built, under a constant that is off": """
checkpoint = None  # path to a checkpoint

def main(build, loader):
    global checkpoint
    if checkpoint is None:
        start, model = 0, None
        model = build.Detector()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    else:
        checkpoint = torch.load(checkpoint)  # <- 901
        start = checkpoint["epoch"] + 1
        model = checkpoint["model"]
        optimizer = checkpoint["optimizer"]
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

if __name__ == "__main__":
    from data import build, loader
    main(build, loader)
""",
    "a state in place of another": """
from collections import OrderedDict

def main(path, net):
    if path is None:
        net_state = OrderedDict()
    else:
        net_state = torch.load(path)
    net.load_state_dict(net_state)
""",
    "the name gets something else": """
def frozen(path, build):
    net = torch.load(path)
    net = build(net)
    for p in net.parameters():
        p.requires_grad = False
    return net
""",
    "another way": """
def frozen(path, build):
    if path:
        net = torch.load(path)
    else:
        net = build()
        for p in net.parameters():
            p.requires_grad = False
    return net
""",
    "what it is is asked first": """
def fill(net, path):
    state = torch.load(path)
    if isinstance(state, nn.Module):
        state = state.state_dict()
    net.load_state_dict(state)
""",
    "one of two is tried": """
def fill(net, path):
    state = torch.load(path)
    try:
        net.load_state_dict(state["net"].state_dict())
    except (AttributeError, KeyError):
        net.load_state_dict(state)
""",
    "tried for what has other keys": """
def fill(net, path):
    state = torch.load(path)  # <- 901
    try:
        net.load_state_dict(state["net"].float().state_dict())
    except (KeyError, ValueError) as error:
        raise KeyError("another net") from error
""",
    "one of two is tried, with a name for it": """
def fill(net, path, errors):
    state = torch.load(path)
    try:
        net.load_state_dict(state["net"].float().state_dict())
    except (KeyError, errors.Other):
        net.load_state_dict(state["net"])
""",
    "a tensor": """
def moved(path):
    weights = torch.load(path)
    return weights.to("cpu").float().sum()
""",
})
def test_what_is_used_as_a_module(code):
    holds(code)


@table({
    "what a wrapper holds, if it is one": """
from models import Reader

def main(config, loader):
    model = Reader(config)
    model = nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    inner = model.module if hasattr(model, "module") else model
    torch.save(inner, "net.pt")  # <- 902
""",
    "its state": """
from models import Reader

def main(config, loader):
    model = Reader(config)
    model = nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    inner = model.module if hasattr(model, "module") else model
    torch.save(inner.state_dict(), "net.pt")
""",
    "of a model that a library reads": """
from transformers import AutoModel

def main(folder, several, path):
    model = AutoModel.from_pretrained(folder)
    if several:
        model = nn.DataParallel(model)
    inner = model.module if hasattr(model, "module") else model
    torch.save(inner, path)  # <- 902
""",
    "of something that is no model": """
def main(settings, path):
    inner = settings.module if hasattr(settings, "module") else settings
    torch.save(inner, path)
""",
})
def test_what_a_wrapper_holds(code):
    holds(code)


COPIES = """
from copy import deepcopy
from models import Model
from tools import de_parallel, Average

def train(cfg, path):
    model = Model(cfg).to("cuda")
    average = Average(model)
    torch.save({"epoch": 1, "model": SAVED}, path)MARK
"""


@pytest.mark.parametrize(("saved", "mark"), [
    ("deepcopy(de_parallel(model)).half()", "  # <- 902"),
    ("deepcopy(model)", "  # <- 902"),
    ("deepcopy(model.state_dict())", ""),
    ("deepcopy(average.weights)", ""),
    ("deepcopy(cfg.net)", ""),
])
def test_copies(saved, mark):
    holds(COPIES.replace("SAVED", saved).replace("MARK", mark))


WRITES = """
import argparse
import torch

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int)
    args = parser.parse_args()
    return RETURNED

def main(model):
    args = options()
    torch.save({"opt": GIVEN, "epoch": 9, "model": model.state_dict()}, f"{args.width}.pth")
"""
READS = """
def load(path, model):
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    print(READ)
"""


def beside(given="args", returned="args", read='saved["epoch"]', more=""):
    return WRITES.replace("GIVEN", given).replace("RETURNED", returned), READS.replace("READ", read) + more


@pytest.mark.parametrize(("files", "told"), [
    (beside(), True),
    (beside(returned="parser.parse_args()"), True),
    (beside(given="vars(args)"), False),
    (beside(returned="vars(args)"), False),
    (beside(read="path"), False),
    (beside(read='saved["loss"]'), False),
    (beside(more="\ndef keep(model):\n    torch.save({'model': model.state_dict(), 'epoch': 1}, 'a.pth')\n"), False),
    (beside(more="\ntorch.serialization.add_safe_globals([argparse.Namespace])\n"), False),
])
def test_what_another_program_writes(tmp_path, files, told):
    write(tmp_path, {"pyproject.toml": "", "train.py": files[0], "probe.py": IMPORTS + files[1]})
    found = [one for one in check(tmp_path / "probe.py", cache=False) if one.code == "TL901"]
    assert len(found) == told and all("train.py writes it in line 13" in one.message for one in found)


KEPT = """
from sklearn import preprocessing
from sklearn.preprocessing import LabelEncoder, StandardScaler as Scaler

class Regressor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.scaler = {made}
        self.net = nn.Linear(width, 1)

    def keep(self, path):
        torch.save({{"width": self.width, "weights": self.net.state_dict(), "scaler": {given}}}, path)

    @classmethod
    def of_file(cls, path):
        saved = torch.load(path, map_location="cpu"){mark}
        model = cls(saved["width"])
        model.net.load_state_dict(saved["weights"])
        model.scaler = saved["scaler"]
        return model
"""


def kept(made="Scaler()", given="self.scaler", mark="", more=""):
    return KEPT.format(made=made, given=given, mark=mark) + more


@table({
    "a scaler that another method keeps": kept(mark="  # <- 901"),
    "by the module that it is in": kept("preprocessing.MinMaxScaler((-1, 1))", mark="  # <- 901"),
    "taken back by a method": kept(mark="  # <- 901", more="\n    def back(self, saved):\n        self.scaler = saved['scaler']\n"),
    "between functions": """
from torchvision import transforms

def write(net, path):
    steps = transforms.Compose([transforms.ToTensor()])
    torch.save({"net": net.state_dict(), "steps": steps, "epoch": 3}, path)

def read(path, net):
    saved = torch.load(path)  # <- 901
    net.load_state_dict(saved["net"])
    return saved["epoch"], saved["steps"]
""",
    "what it has learnt, as numbers": kept(given="self.scaler.mean_.tolist()"),
    "a scaler of one's own": kept("Scale()"),
    "now this, now that": kept(more="\n    def plain(self):\n        self.scaler = None\n"),
    "another dict with the same keys": kept(more="\ndef lean(net):\n    return {'width': 3, 'weights': net.state_dict(), 'scaler': None}\n"),
    "allowed by name": kept(more="\ntorch.serialization.add_safe_globals([Scaler])\n"),
})
def test_what_other_functions_write(code):
    holds(code)


OFF = """
import numpy as np

RESUME = False
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
if RESUME:
    checkpoint = torch.load(FILE)MARK
    model.load_state_dict(checkpoint["model"])
    losses = checkpoint["losses"]["train"]

for epoch in range(9):
    seen = []
    for x, y in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    losses.append(MEAN)
    torch.save({"model": model.state_dict(), "losses": {"train": losses}}, f"{epoch}.pt")
"""


@pytest.mark.parametrize(("mean", "told"), [("np.array(seen).mean()", True), ("float(np.mean(seen))", False), ("sum(seen) / len(seen)", False)])
def test_a_load_that_is_switched_off(mean, told):
    holds(OFF.replace("MEAN", mean).replace("FILE", '"last.pt"').replace("MARK", "  # <- 901" if told else ""))


def test_a_load_that_is_switched_off_and_allows_all():
    holds(OFF.replace("MEAN", "np.array(seen).mean()").replace("FILE", '"last.pt", weights_only=False').replace("MARK", ""))


AGAIN = """
import argparse

class Reader:
    def __init__(self, args, words):
        self.args, self.words = args, words
        self.net = nn.Linear(4, 2)

    def save(self, path):
        torch.save({"model": self.net.state_dict(), "words": self.words, "args": self.args}, path)

    @staticmethod
    def load(path):
        saved = torch.load(path, map_location="cpu")MARK
        reader = Reader(saved["args"], saved["words"])
        reader.net.load_state_dict(saved["model"])
        return reader

def main(words, path, old):
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", default=4)
    args = parser.parse_args()
    reader = Reader.load(old)
    reader.save(path)
    Reader(GIVEN, words).save(path)
"""


@pytest.mark.parametrize(("given", "mark"), [("args", "  # <- 901"), ("vars(args)", "")])
def test_what_is_read_and_written_again(given, mark):
    holds(AGAIN.replace("GIVEN", given).replace("MARK", mark))


TAKEN_OUT = """
def main(model: nn.Module, loader, args):
    optimizer = torch.optim.Adam(model.parameters())
    best, start = float("inf"), 0
    if args.resume:
        checkpoint = torch.load("last.pt")MARK
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        best, start = checkpoint["best"], checkpoint["epoch"]
    for epoch in range(start, 10):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        found = loss.detach().cpu()TAKEN
        best = BEST
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "best": best, "epoch": epoch + 1}, "last.pt")
"""


@pytest.mark.parametrize(("taken", "best", "told"), [
    (".numpy()", "min(found, best)", True),
    (".numpy()", "found if found < best else best", True),
    (".numpy()", "found.mean()", True),
    (".numpy()", "float(min(found, best))", False),
    (".numpy()", "found.tolist()", False),
    (".item()", "min(found, best)", False),
    ("", "min(found, best)", False),
])
def test_what_numpy_gave_of_a_tensor(taken, best, told):
    holds(TAKEN_OUT.replace("TAKEN", taken).replace("BEST", best).replace("MARK", "  # <- 901" if told else ""))
