"""901 of files that the program writes itself, by the kind of object that torch refuses since 2.6, and by what is asked of settings."""

import pytest

from tests.torchlint.dryrun.support import holds, table

KEPT = """
import argparse, collections, datetime, pathlib, types
import numpy as np
from sklearn.preprocessing import LabelEncoder
from torch.utils.data import DataLoader

def train(net: nn.Module, args, losses, arr):
    arrays = np.zeros(3)
    checkpoint = torch.load(args.resume)MARK
    net.load_state_dict(checkpoint["model"])
    best = checkpoint["best"]
    torch.save({"model": net.state_dict(), "best": GIVEN}, "a.pt")
"""

REFUSED = [
    "argparse.Namespace(top1=0)", "types.SimpleNamespace(top1=0)", "pathlib.Path('x')", "datetime.datetime.now()", "collections.defaultdict(list)",
    "np.random.get_state()", "np.zeros(3)", "np.sum(losses)", "arrays.mean()", "[np.mean(losses)]", "{'loss': np.mean(losses)}", "LabelEncoder()",
    "DataLoader([1, 2])", "nn.MSELoss()", "argparse.ArgumentParser().parse_known_args()[0]", "[{'loss': np.float32(2)}]",
]
PLAIN = [
    "float(np.mean(losses))", "np.mean(losses).item()", "arrays.tolist()", "[float(np.mean(losses))]", "collections.OrderedDict(a=1)", "np.inf",
    "torch.get_rng_state()", "[1, 2]", "max(losses)", "vars(argparse.Namespace(top1=0))", "str(pathlib.Path('x'))",
]


@pytest.mark.parametrize(("given", "mark"), [*((one, "  # <- 901") for one in REFUSED), *((one, "") for one in PLAIN)])
def test_what_is_refused(given, mark):
    holds(KEPT.replace("GIVEN", given).replace("MARK", mark))


CONFIGURED = """
from addict import Dict
from ml_collections import ConfigDict
from omegaconf import OmegaConf
from yacs.config import CfgNode as CN
import mmengine

_C = CN()
_C.TRAIN = CN()
_C.TRAIN.EPOCHS = 9

def defaults():
    return _C.clone()

def load(net, config):
    checkpoint = torch.load(config.RESUME, map_location="cpu")MARK
    net.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"]

def main(net: nn.Module, options):
    config = GIVEN
    start = load(net, config) if config.RESUME else 0
    for epoch in range(start, config.TRAIN.EPOCHS):
        torch.save({"model": net.state_dict(), "epoch": epoch, "config": KEPT_AS}, f"{epoch}.pt")
"""


@pytest.mark.parametrize(("given", "kept", "told"), [
    ("defaults()", "config", True),
    ("CN(new_allowed=True)", "config", True),
    ("OmegaConf.merge(OmegaConf.load('a.yaml'), OmegaConf.from_cli())", "config", True),
    ("OmegaConf.structured(options).copy()", "config", True),
    ("Dict(options)", "config", True),
    ("ConfigDict(options)", "config", True),
    ("mmengine.Config.fromfile('a.py')", "config", True),
    ("defaults()", "config.dump()", False),
    ("defaults()", "config.TRAIN.EPOCHS", False),
    ("OmegaConf.load('a.yaml')", "OmegaConf.to_container(config)", False),
    ("options", "config", False),
    ("options.clone()", "config", False),
])
def test_configurations(given, kept, told):
    holds(CONFIGURED.replace("GIVEN", given).replace("KEPT_AS", kept).replace("MARK", "  # <- 901" if told else ""))


BEST = """
import numpy as np

def validate(net, loader):
    return [np.mean([net(x).mean().item() for x in loader]), 0]

def train(net: nn.Module, loader, args):
    best = FIRST
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")MARK
        net.load_state_dict(checkpoint["model"])
        best = checkpoint["best"]
    for epoch in range(3):
        loss = validate(net, loader)[0]
        TAKEN
        torch.save({"model": net.state_dict(), "best": best}, "last.pt")
"""


@table({
    "losses that a list keeps": """
import numpy as np

def train(net: nn.Module, loader, args):
    history = []
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")  # <- 901
        net.load_state_dict(checkpoint["model"])
        start = checkpoint["epoch"]
    for epoch in range(3):
        losses = [net(x).mean().item() for x in loader]
        history.append(np.mean(losses))
    torch.save({"model": net.state_dict(), "epoch": 3, "history": history}, "last.pt")
""",
    "the best that there was": BEST.replace("FIRST", "np.inf").replace("TAKEN", "if loss < best:\n            best = loss").replace("MARK", "  # <- 901"),
    "the best by a function": BEST.replace("FIRST", "0").replace("TAKEN", "best = max(loss, best)").replace("MARK", "  # <- 901"),
    "the best of what is plain": BEST.replace("FIRST", "0").replace("TAKEN", "best = max(float(loss), best)").replace("MARK", ""),
    "the best of an index": BEST.replace("FIRST", "0").replace("TAKEN", "best = max(epoch, best)").replace("MARK", ""),
    "one of two, and not the best": BEST.replace("FIRST", "0").replace("TAKEN", "if loss < best:\n            best = loss").replace("MARK", "")
    .replace('"best"', '"seen"'),
    "what an object is that begins anew or is read": """
import argparse

def main(folder, net: nn.Module):
    if (folder / "checkpoint.pth").is_file():
        kept = torch.load(folder / "checkpoint.pth", map_location="cpu")  # <- 901
        best = kept["best"]
        net.load_state_dict(kept["model"])
    else:
        best = argparse.Namespace(top1=0)
    torch.save(dict(best=best, model=net.state_dict()), folder / "checkpoint.pth")
""",
    "the same name, and one key asked for": """
import os
import numpy as np

class Trainer:
    def __init__(self, net: nn.Module, folder):
        self.net, self.folder = net, folder

    def save(self, scores):
        torch.save({"model": self.net.state_dict(), "best": np.mean(scores)}, os.path.join(self.folder, "last.pt"))

    def load(self):
        self.net.load_state_dict(torch.load(os.path.join(self.folder, "last.pt"))["model"])  # <- 901

    def load_other(self):
        self.net.load_state_dict(torch.load(os.path.join(self.folder, "first.pt"))["model"])

def main(net: nn.Module, folder):
    trainer = Trainer(net, folder)
    trainer.load()
    trainer.load_other()
    trainer.save([1.0])
""",
})
def test_files_of_the_program(code):
    holds(code)


@table({
    "an attribute of what stands under a key": """
def load(path, net: nn.Module):
    state = torch.load(path)  # <- 901
    net.load_state_dict(state["model"])
    return state["args"].arch
""",
    "by another name": """
def load(path, build):
    checkpoint = torch.load(path, map_location="cpu")  # <- 901
    opt = checkpoint["opt"]
    net = build(opt.width)
    net.load_state_dict(checkpoint["model"])
    return net
""",
    "of the file at once": """
def load(path, build):
    args = torch.load(path)["args"]  # <- 901
    return build(args.width)
""",
    "methods of dicts, and attributes of tensors": """
def load(path, build):
    checkpoint = torch.load(path)
    config = checkpoint["config"]
    print(config.get("width"), config.keys(), checkpoint["settings"].shape)
    return build(**config)
""",
    "made an object first": """
import argparse

def load(path, build):
    checkpoint = torch.load(path)
    args = checkpoint["args"]
    args = argparse.Namespace(**args)
    return build(args.width)
""",
    "told so, or allowed": """
import argparse

torch.serialization.add_safe_globals([argparse.Namespace])

def load(path, build):
    return build(torch.load(path, weights_only=False)["args"].width)

def load_allowed(path, build):
    checkpoint = torch.load(path)
    return build(checkpoint["args"].width)
""",
    "asked first": """
def load(path, build):
    checkpoint = torch.load(path)
    args = checkpoint["args"]
    if not isinstance(args, dict):
        args = vars(args)
    if hasattr(args, "width"):
        return build(args.width)
""",
})
def test_settings(code):
    holds(code)


BEST = """
import math
import numpy as np

def save(net, epoch, best):
    torch.save({"model": net.state_dict(), "epoch": epoch, "best": best}, "a.pt")

def load(net):
    checkpoint = torch.load("a.pt")MARK
    net.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"], checkpoint["best"]

def train(net: nn.Module, batches, resume):
    best, start = FIRST, 0
    if resume:
        start, best = load(net)
    for epoch in range(start, 10):
        losses = [F.mse_loss(net(x), y).item() for x, y in batches]
        mean = MEAN
        if mean < best:
            best = mean
        save(net, epoch, best)
"""


@pytest.mark.parametrize("first", ["np.inf", "math.inf", "float('inf')", "1e10", "100"])
@pytest.mark.parametrize(("mean", "mark"), [("np.mean(losses)", "  # <- 901"), ("float(np.mean(losses))", ""), ("sum(losses)", "")])
def test_the_best_begins_with_a_number_of_another_kind(first, mean, mark):
    holds(BEST.replace("FIRST", first).replace("MEAN", mean).replace("MARK", mark))


COPIED = """
import argparse, copy
from copy import deepcopy

def main(net: nn.Module, epochs):
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    args = parser.parse_args()
    if args.resume:
        checkpoint = torch.load("last.pt")MARK
        net.load_state_dict(checkpoint["model"])
    torch.save({"model": net.state_dict(), "args": GIVEN}, "last.pt")
"""


@pytest.mark.parametrize(("given", "mark"), [
    ("deepcopy(args)", "  # <- 901"), ("copy.copy(args)", "  # <- 901"), ("vars(deepcopy(args))", ""), ("deepcopy(vars(args))", ""),
    ("deepcopy(args.__dict__)", ""), ("deepcopy(args.resume)", ""), ("deepcopy(net.state_dict())", ""), ("deepcopy(epochs)", ""),
])
def test_a_copy_is_what_it_was_made_of(given, mark):
    holds(COPIED.replace("GIVEN", given).replace("MARK", mark))
