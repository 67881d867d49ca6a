"""905 where no word says that a training goes on: its epochs begin at an option's number, or its checkpoints have the optimizer's state;
and where a helper loads the weights."""

import pytest

from tests.torchlint.dryrun.support import holds, table
from tests.torchlint.rules.saving.test_goes_on import LOOP, MADE
from tests.torchlint.support import write
from torchlint.api import check

SAVED = """
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
"""

MADE_BY = """
LOAD = None

def build(args):
    net = nn.Linear(4, 2)
"""
TRAINED_SO = """
def main(args, loader):
    model = build(args)
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP.format(start="0")


@table({
    "an option's number, and a file that is given": MADE + """
    if args.net != "":
        model.load_state_dict(torch.load(args.net))  # <- 905
""" + LOOP.format(start="args.start_iter") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a number that is made of an option's": MADE + """
    first = start = args.start_iter // len(loader)
    if args.net:
        model.load_state_dict(torch.load(args.net))  # <- 905
""" + LOOP.format(start="start") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a number that is no option's": MADE + """
    start = 0
    if args.net:
        model.load_state_dict(torch.load(args.net))
""" + LOOP.format(start="start") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "to resume, or for a test": MADE + """
    if args.resume or args.test:
        model.load_state_dict(torch.load(args.net))  # <- 905
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "resumed to be finetuned": MADE + """
    if args.resume:
        checkpoint = torch.load(args.resume)
        if not (args.evaluate or args.finetune):
            print(checkpoint["step"])
        else:
            model.load_state_dict(checkpoint["model"])
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "resumed, and not from the start": MADE + """
    if args.resume:
        checkpoint = torch.load(args.resume)
        if not args.quiet:
            print(checkpoint["step"])
        else:
            model.load_state_dict(checkpoint["model"])  # <- 905
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "an average of the weights, if the file has one": MADE + """
    checkpoint = torch.load("first.pt")
    if checkpoint["average"] is not None:
        model.load_state_dict(checkpoint["average"])
    else:
        model.load_state_dict(checkpoint["model"])
""" + LOOP.format(start="0") + SAVED,
    "a file, if there is one": MADE + """
    if os.path.exists("first.pt"):
        model.load_state_dict(torch.load("first.pt"))  # <- 905
""" + LOOP.format(start="0") + SAVED,
    "for a test of what is resumed": MADE + """
    if args.resume and args.test:
        model.load_state_dict(torch.load(args.net))
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "weights of something else": MADE + """
    if args.net:
        # weights that were pretrained on ImageNet
        model.load_state_dict(torch.load(args.net))
""" + LOOP.format(start="args.start_iter") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "the optimizer is saved, and never loaded": MADE + """
    if args.load:
        model.load_state_dict(torch.load(args.load)["model"])  # <- 905
""" + LOOP.format(start="0") + SAVED,
    "the optimizer is saved, and loaded": MADE + """
    if args.load:
        state = torch.load(args.load)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
""" + LOOP.format(start="0") + SAVED,
    "the optimizer is saved, and other weights are loaded": MADE + """
    if args.pretrained:
        model.load_state_dict(torch.load(args.pretrained)["model"])
""" + LOOP.format(start="0") + SAVED,
    "the optimizer is saved, and what loads it is not called any more": """
def load_optimizer(optimizer, path):
    optimizer.load_state_dict(torch.load(path)["optimizer"])
""" + MADE + """
    if args.load:
        model.load_state_dict(torch.load(args.load)["model"])  # <- 905
        # load_optimizer(optimizer, args.load)
""" + LOOP.format(start="0") + SAVED,
    "a helper, under a constant that is off": """
LOAD_MODEL = False

def load_checkpoint(checkpoint, model):
    model.load_state_dict(checkpoint["model"])
""" + MADE + """
    if LOAD_MODEL:
        load_checkpoint(torch.load("last.pt"), model)  # <- 905
""" + LOOP.format(start="0") + SAVED,
    "a helper that is in no file": "from tools import load_checkpoint, load_weights\n" + MADE + """
    if args.resume:
        model = load_weights(model, args.resume)  # <- 905
""" + LOOP.format(start="args.start_epoch") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a helper that takes the optimizer": "from tools import load_checkpoint\n" + MADE + """
    if args.resume:
        model, optimizer = load_checkpoint(model, optimizer, args.resume)
""" + LOOP.format(start="args.start_epoch") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a helper that gives the optimizer": "from tools import load_weights\n" + MADE + """
    if args.resume:
        model, optim = load_weights(model, args.resume)
""" + LOOP.format(start="args.start_epoch") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "the number in the file's name, as a number, and one more": MADE + """
    start = "0"
    if args.use_pretrained:
        model.load_state_dict(torch.load(args.weights))  # <- 905
        start = os.path.basename(args.weights).split(".")[0]
""" + LOOP.format(start="int(start) + 1") + """
        torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "pretrained weights, and a number of something else": MADE + """
    start = "0"
    if args.use_pretrained:
        model.load_state_dict(torch.load(args.weights))
    if args.later:
        start = args.later
""" + LOOP.format(start="int(start) + 1").replace("args.epochs", "9") + """
        torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "a schedule of another package gives the optimizer back": "from schedules import Warmup\n" + MADE + """
    scheduler = Warmup(optimizer)
    start = "0"
    if args.weights:
        state = torch.load(args.weights)
        model.load_state_dict(state["model"])
        scheduler.load_state_dict(state["scheduler"])
        optimizer = scheduler.optimizer
        start = os.path.basename(args.weights).split(".")[0]
""" + LOOP.format(start="int(start) + 1") + """
        torch.save({"model": model.state_dict(), "scheduler": scheduler.state_dict()}, f"{epoch}.pt")
""",
    "how far it was trained is an option": MADE + """
    if args.trained_epochs:
        model.load_state_dict(torch.load(args.weights))  # <- 905
""" + LOOP.format(start="args.trained_epochs + 1") + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a function makes the model and fills it, under a constant that is off": MADE_BY + """
    if LOAD:
        checkpoint = torch.load(LOAD)
        net.load_state_dict(checkpoint["model"])  # <- 905
    return net
""" + TRAINED_SO + SAVED,
    "a function fills the model that it makes with weights of something else": MADE_BY + """
    if LOAD:
        # pretrained on ImageNet
        net.load_state_dict(torch.load(LOAD))
    return net
""" + TRAINED_SO + SAVED,
    "what a function fills is not what it gives back": MADE_BY + """
    if LOAD:
        teacher = nn.Linear(4, 2)
        teacher.load_state_dict(torch.load(LOAD))
        net.teacher = [teacher]
    return net
""" + TRAINED_SO + SAVED,
    "a function fills a model, and no state of the optimizer is saved": MADE_BY + """
    if LOAD:
        net.load_state_dict(torch.load(LOAD))
    return net
""" + TRAINED_SO + """
        torch.save(model.state_dict(), "last.pt")
""",
    "a method that may do more": """
class Trainer(Base):
    def fit(self, args, loader):
        model = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(model.parameters())
        if args.resume:
            self.load_checkpoint(model)
        for epoch in range(args.start_epoch, args.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            torch.save(model.state_dict(), "last.pt")
""",
})
def test_goes_on(code):
    holds(code)


OWN = MADE + """
    path = args.weights
    if args.use_pretrained:
        model.load_state_dict(torch.load(path))MARK
""" + LOOP.format(start="0") + """
    torch.save(model.state_dict(), path)
"""


@pytest.mark.parametrize(("option", "mark"), [
    ("parser.add_argument('--mode', default='train')", ""),  # it may be for a test
    ("parser.add_argument('--rate', default=0.1)", "  # <- 905"),
])
def test_pretrained_weights_of_its_own(option, mark):
    holds("import argparse\n\nparser = argparse.ArgumentParser()\n" + option + OWN.replace("MARK", mark))


SCRIPT = """
FILE = "resnet.pt"

def test(model, loader):
    print(F.cross_entropy(model(loader[0]), loader[1]))
    AFTER

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
is_pretrain = False
if is_pretrain == True:
    model.load_state_dict(torch.load(FILE))MARK
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    SAVED
"""


@pytest.mark.parametrize(("after", "saved", "told"), [
    ("pass", "torch.save(model.state_dict(), FILE)", True),
    ("pass", 'torch.save(model.state_dict(), "last.pt")', False),
    ("torch.save(model.state_dict(), FILE)", 'torch.save(model.state_dict(), "last.pt")', False),  # in a function that does not train
])
def test_pretrained_weights_of_a_script_of_its_own(after, saved, told):
    holds(SCRIPT.replace("AFTER", after).replace("SAVED", saved).replace("MARK", "  # <- 905" if told else ""))


HELPERS = """
import torch

def load_entire_model(model, path):
    return torch.load(path)

def save_entire_model(model, path):
    torch.save(model, path)
"""
WHOLE = """
import os
import torch
import torch.nn.functional as F
import utils
from models import Net

def train(model, loader):
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

def main(args, loader):
    file = args.model
    model = Net()
    if args.use_pretrain and os.path.isfile(file):
        model = utils.load_entire_model(model, file)
    train(model, loader)
    SAVE
"""


@pytest.mark.parametrize(("save", "told"), [
    ("utils.save_entire_model(model, file)", True),
    ("utils.save_entire_model(model, args.output)", False),  # it may be one of something else
])
def test_whole_models_of_helpers(tmp_path, save, told):
    text = WHOLE.replace("SAVE", save)
    write(tmp_path, {"pyproject.toml": "", "utils.py": HELPERS, "train.py": text})
    row = text[: text.index("utils.load_entire_model")].count("\n") + 1
    found = [(one.code, one.location.row) for one in check(tmp_path / "train.py", cache=False)]
    assert [one for one in found if one[0] == "TL905"] == [("TL905", row)] * told
