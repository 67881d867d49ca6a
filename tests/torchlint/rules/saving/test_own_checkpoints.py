"""905 where a training begins with a file that it writes itself, or with one that is numbered like those that it writes."""

import ast

import pytest

from tests.torchlint.dryrun.support import holds, table
from torchlint.rules.shared.blocks import exclude_each_other
from torchlint.rules.shared.file_names import bindings_of, numbered, one_file

MADE = """
def main(args, loader, folder):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
"""
LOOP = """
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""
AGENT = """
class Agent:
    def __init__(self, folder):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.load(folder)

    def load(self, folder):
        if os.path.exists(str(folder) + "/net.pkl"):
            self.net.load_state_dict(torch.load("{}/net.pkl".format(folder)))  # <- 905

    def save(self, folder):
        torch.save(self.net.state_dict(), "{}/net.pkl".format(folder))

    def learn(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.optimizer.step()
"""


@table({
    "the name has a name of its own where it is saved": "import os\n" + MADE + """
    if os.path.exists(os.path.join(folder, "model.pth")):
        checkpoint = torch.load(os.path.join(folder, "model.pth"))
        model.load_state_dict(checkpoint)  # <- 905
""" + LOOP + """
        path = f"{folder}/model.pth"
        torch.save(model.state_dict(), path)
""",
    "numbered by a template that has a name of its own": "NAMES = './weights/net_%d.pt'\n" + MADE + """
    if args.begun:
        model.load_state_dict(torch.load(NAMES % args.begun))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), NAMES % epoch)
""",
    "numbered by an f-string with nothing put into it, and the default of an option": "import argparse\n" + """
def main(loader):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrained_weights", default="weights/net_59.pt")
    parser.add_argument("--epochs", type=int, default=90)
    args = parser.parse_args()
    model = nn.Linear(4, 2)
    model.load_state_dict(torch.load(args.pretrained_weights))  # <- 905
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP + """
        torch.save(model.state_dict(), f"weights/net_%d.pt" % epoch)
""",
    "numbered by an f-string, and another option's default": "import argparse\n" + """
def main(loader):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrained_weights", default="weights/body.conv.74")
    parser.add_argument("--epochs", type=int, default=90)
    args = parser.parse_args()
    model = nn.Linear(4, 2)
    model.load_state_dict(torch.load(args.pretrained_weights))
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP + """
        torch.save(model.state_dict(), f"weights/net_%d.pt" % epoch)
""",
    "by a template of another name": "NAMES, BODIES = './weights/net_%d.pt', './weights/body_%d.pt'\n" + MADE + """
    if args.begun:
        model.load_state_dict(torch.load(BODIES % args.begun))
""" + LOOP + """
        torch.save(model.state_dict(), NAMES % epoch)
""",
    "without a question": MADE + """
    model.load_state_dict(torch.load("net.pt"))  # <- 905
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "called pretrained, and one of its own": "pretrained = './weights/59_net.pt'\n" + MADE + """
    model.load_state_dict(torch.load(pretrained))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), "./weights/%d_net.pt" % epoch)
""",
    "an optimizer of another package": "from transformers.optimization import AdamW" + MADE.replace("torch.optim.Adam", "AdamW") + """
    model.load_state_dict(torch.load("net.pt"))  # <- 905
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "an optimizer of another package that may remember nothing": "from tools import Steps" + MADE.replace("torch.optim.Adam", "Steps") + """
    model.load_state_dict(torch.load("net.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "called pretrained, and an option": MADE + """
    model.load_state_dict(torch.load(args.pretrained))
""" + LOOP + """
        torch.save(model.state_dict(), args.pretrained)
""",
    "the default of an option": "import argparse, os\n" + """
def main(loader):
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out-folder", default="./checkpoints")
    args = parser.parse_args()
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    if os.path.exists("./checkpoints/G.pth"):
        model.load_state_dict(torch.load("./checkpoints/G.pth"))  # <- 905
""" + LOOP + """
    torch.save(model.state_dict(), f"{args.out_folder}/G.pth")
""",
    "a number of an epoch": MADE + """
    model.load_state_dict(torch.load("model_epoch99.pth"))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), "model_epoch{}.pth".format(epoch))
""",
    "a number that an option gives": MADE + """
    if args.load_weights_before:
        model.load_state_dict(torch.load(folder + "epoch-{}.pth".format(args.load)))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), folder + "epoch-{}.pth".format(epoch))
""",
    "an object that is made with its weights": "import os\n" + AGENT,
    "an object that is told to load": """
class Solver:
    def __init__(self, path):
        self.path = path
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def load(self):
        self.net.load_state_dict(torch.load(self.path))  # <- 905

    def save(self):
        torch.save(self.net.state_dict(), self.path)

    def train(self, loader, again=True):
        if again == True:
            self.load()
        while True:
            for x, y in loader:
                self.optimizer.zero_grad()
                F.cross_entropy(self.net(x), y).backward()
                self.optimizer.step()
            self.save()


def main(loader, path):
    solver = Solver(path)
    solver.train(loader)
""",
    "helpers that are given the name": """
def load_model(model, path):
    model.load_state_dict(torch.load(path))

def save_model(model, path):
    torch.save(model.state_dict(), path)
""" + MADE + """
    load_model(model, f"{folder}/net.pt")  # <- 905
""" + LOOP + """
        save_model(model, folder + "/net.pt")
""",
    "helpers that are given two names": """
def load_model(model, path):
    model.load_state_dict(torch.load(path))

def save_model(model, path):
    torch.save(model.state_dict(), path)
""" + MADE + """
    load_model(model, f"{folder}/before.pt")
""" + LOOP + """
        save_model(model, folder + "/after.pt")
""",
    "the optimizer comes out of its own file": MADE + """
    model.load_state_dict(torch.load("net.pt"))
    optimizer.load_state_dict(torch.load("optimizer.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
    torch.save(optimizer.state_dict(), "optimizer.pt")
""",
    "nothing is remembered": """
def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.load_state_dict(torch.load("net.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "another file": MADE + """
    model.load_state_dict(torch.load("before.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "after.pt")
""",
    "a file that is written before": MADE + """
    torch.save(model.state_dict(), "net.pt")
    model.load_state_dict(torch.load("net.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "a stage that comes before": MADE + """
    if args.stage == 2:
        model.load_state_dict(torch.load("stage%d/net_%d.pt" % (1, args.load)))
""" + LOOP + """
        if args.stage == 1:
            torch.save(model.state_dict(), "stage%d/net_%d.pt" % (1, epoch))
        else:
            torch.save(model.state_dict(), "stage%d/net_%d.pt" % (2, epoch))
""",
    "the level below": MADE + """
    model.load_state_dict(torch.load("net_level_" + str(args.level + 1) + "_epoch_" + str(args.load) + ".pth"))
""" + LOOP + """
        torch.save(model.state_dict(), "net_level_" + str(args.level) + "_epoch_" + str(epoch) + ".pth")
""",
    "for an evaluation": """
def main(args, loader):
    model = nn.Linear(4, 2)
    if args.mode == "train":
        model.load_state_dict(torch.load("imagenet.pt"))
    else:
        model.load_state_dict(torch.load("own.pt"))
    if args.mode == "train":
        train(model, loader)


def train(model, loader):
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), "own.pt")
""",
    "what a method trains before another one": """
import os

class Solver:
    def __init__(self, args, loader):
        self.loader, self.net, self.path = loader, nn.Linear(4, 2), args.path
        if args.method != "source":
            if os.path.exists(os.path.join(self.path, "source.pt")):
                self.net.load_state_dict(torch.load(os.path.join(self.path, "source.pt")))
            else:
                self.source()

    def source(self):
        self.optimizer = torch.optim.Adam(self.net.parameters())
        for x, y in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.optimizer.step()
        torch.save(self.net.state_dict(), os.path.join(self.path, "source.pt"))

    def adapt(self):
        self.optimizer = torch.optim.Adam(self.net.parameters())
        for x, y in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.optimizer.step()
        torch.save(self.net.state_dict(), os.path.join(self.path, "adapted.pt"))
""",
    "a model of another kind, out of a whole one": MADE + """
    if args.kind == "yolo":
        checkpoint = torch.load("yolo.pt", weights_only=False)
        state = checkpoint["model"].float().state_dict()
        model.load_state_dict(state, strict=False)
""" + LOOP + """
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
""",
    "after the training": MADE + LOOP + """
    torch.save(model.state_dict(), "net.pt")
    model.load_state_dict(torch.load("net.pt"))
""",
    "to be tuned": MADE + """
    if args.finetune:
        model.load_state_dict(torch.load("net.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
    "to be made smaller": MADE + """
    if args.prune:
        model.load_state_dict(torch.load("net.pt"))
""" + LOOP + """
    torch.save(model.state_dict(), "net.pt")
""",
})
def test_own_files(code):
    holds(code)


@table({
    "a method of the model": "from models import build\n" + """
def main(args, loader):
    net = build()
    model = torch.nn.DataParallel(net)
    if args.resume:
        net.load_weights(args.resume)  # <- 905
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP + """
    torch.save(net.state_dict(), "last.pt")
""",
    "a method of the model that takes the optimizer": "from models import build\n" + """
def main(args, loader):
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    if args.resume:
        model.load_weights(args.resume, optimizer)
""" + LOOP + """
    torch.save(model.state_dict(), "last.pt")
""",
    "the step comes out of the helper": "from tools import load_model\n" + """
def main(args, loader):
    model, step = nn.Linear(4, 2), 0
    if args.load_path:
        model, step = load_model(model, args.load_path)  # <- 905
    optimizer = torch.optim.Adam(lr=args.lr, params=model.parameters())
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            step += 1
        torch.save({"model": model.state_dict(), "step": step}, "last.pt")
""",
    "the state of another optimizer": """
def main(args, loader):
    model, scale = nn.Linear(4, 2), nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    optimizer2 = torch.optim.Adam(scale.parameters())
    if args.resume:
        checkpoint = torch.load(args.resume)
        model.load_state_dict(checkpoint["model"])  # <- 905
        optimizer2.load_state_dict(checkpoint["optimizer2"])
    for epoch in range(args.start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            optimizer2.zero_grad()
            F.cross_entropy(scale(model(x)), y).backward()
            optimizer.step()
            optimizer2.step()
""",
    "a state that was kept in memory": MADE.replace(", folder", "") + """
    if args.resume:
        model.load_state_dict(torch.load(args.resume))  # <- 905
    first = optimizer.state_dict()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    optimizer.load_state_dict(first)
    for epoch in range(args.start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), "last.pt")
""",
    "one of many trainings": """
def main(args, loader, sizes):
    for size in sizes:
        model = nn.Linear(4, size)
        optimizer = torch.optim.Adam(model.parameters())
        start_epoch = 0
        if args.resume:
            checkpoint = torch.load(f"{size}.pt")
            model.load_state_dict(checkpoint["model"])  # <- 905
            start_epoch = checkpoint["epoch"]
        for epoch in range(start_epoch, args.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
""",
    "parts of the model have rates of their own": "from tools import load_model\n" + """
def main(args, loader, model):
    optimizer = torch.optim.Adam([{"params": model.head.parameters(), "lr": 1e-3}, {"params": model.body.parameters()}], lr=1e-4)
    if args.resume:
        load_model(model, args.resume)  # <- 905
        print("pre-trained model is loaded")
    for epoch in range(args.start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), "last.pt")
""",
    "the step before the first": MADE.replace(", folder", "") + """
    if args.resume:
        model.load_state_dict(torch.load(args.resume))  # <- 905
    optimizer.step()
    for epoch in range(args.start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
""",
    "an optimizer that a dict hands on": """
def train(loader, **kwargs):
    model, optimizer = kwargs["model"], None
    optimizer = kwargs["optimizer"]
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def main(args, loader):
    model = nn.Linear(4, 2)
    start_epoch = 0
    if args.checkpoint:
        checkpoint = torch.load(args.checkpoint)
        start_epoch = int(checkpoint["logs"]["epoch"])
        model.load_state_dict(checkpoint["model"])  # <- 905
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(start_epoch, args.epochs):
        train(loader, model=model, optimizer=optimizer)
""",
    "an option to resume that brings weights of before": MADE.replace(", folder", "") + """
    if len(args.restore_path):
        model.load_state_dict(torch.load(args.restore_path))  # <- 905
        print("Pretrained model is loaded")
""" + LOOP + """
        torch.save(model.state_dict(), f"{epoch}.pth")
""",
    "a method that restores": """
class Trainer:
    def __init__(self, net, options):
        self.net, self.options = net, options
        self.restore_model()

    def restore_model(self):
        if self.options["folder"] == "":
            self.step = 0
        else:
            self.step = int(self.options["file"].split("-")[1])
            self.net.load_state_dict(torch.load(self.options["file"] + "-G.pth"))  # <- 905

    def train(self, loader):
        optimizer = torch.optim.Adam(self.net.parameters())
        while True:
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(self.net(x), y).backward()
                optimizer.step()
            self.save(f"{self.step}")

    def save(self, name):
        torch.save(self.net.state_dict(), name + "-G.pth")


def main(loader, options):
    Trainer(nn.Linear(4, 2), options).train(loader)
""",
    "a method that restores the best": """
class Trainer:
    def __init__(self, net):
        self.net = net
        self.restore_best()

    def restore_best(self):
        self.net.load_state_dict(torch.load("best.pth"))

    def train(self, loader):
        optimizer = torch.optim.Adam(self.net.parameters())
        while True:
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(self.net(x), y).backward()
                optimizer.step()
            torch.save(self.net.state_dict(), "last.pth")


def main(loader):
    Trainer(nn.Linear(4, 2)).train(loader)
""",
    "an optimizer for each epoch": """
def main(args, loader):
    model = nn.Linear(4, 2)
    for epoch in range(args.start_epoch, args.epochs):
        optimizer = torch.optim.Adam(model.parameters())
        if args.resume:
            model.load_state_dict(torch.load(args.resume))
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
""",
})
def test_goes_on(code):
    holds(code)


KNOWN = """
known = "net.pt"
parts = "%s/net.pt"
fields = "{}/net.pt"
many = 5
"""


def name(text, code=""):
    return bindings_of(code).name(ast.parse(text, mode="eval").body, 0)


@pytest.mark.parametrize("read, written", [
    ("'a/net.pt'", "'./a/net.pt'"), ("f'{d}/net.pt'", "d + '/net.pt'"), ("os.path.join(d, 'net.pt')", "'%s/net.pt' % d"), ("path", "path"),
    ("'{0}/{1}.pt'.format(d, name)", "d + '/' + str(name) + '.pt'"), ("Path(d) / 'net.pt'", "os.path.join(d, 'net.pt')"), ("known", "'net.pt'"),
    ("parts % d", "f'{d}/net.pt'"), ("fields.format(d)", "f'{d}/net.pt'"), ("f'%s/net.pt' % d", "f'{d}/net.pt'"),
])
def test_one_file(read, written):
    assert one_file(name(read, KNOWN), name(written))


@pytest.mark.parametrize("read, written", [("'a.pt'", "'b.pt'"), ("path", "where"), ("f'{a}/net.pt'", "f'{b}/net.pt'"), ("'1.pt'", "f'{n}.pt'")])
def test_two_files(read, written):
    assert not one_file(name(read), name(written))
    assert not numbered(name(read), name(written))


def test_a_remainder_is_no_name():
    assert not one_file(name("epoch % many", KNOWN), name("'5'"))
    assert len(name("'net_' + str(epoch % many)", KNOWN)) == 2


@pytest.mark.parametrize("read, written, is_one", [
    ("'net_9.pt'", "f'net_{epoch}.pt'", True), ("f'net_{args.load}.pt'", "f'net_{epoch + 1}.pt'", True), ("'net_best.pt'", "f'net_{epoch}.pt'", False),
    ("'old/net_9.pt'", "f'new/net_{epoch}.pt'", False), ("f'{d}/net_9.pt'", "f'new/net_{epoch}.pt'", True), ("'net_9.pt'", "f'net_{level}.pt'", False),
    ("f'net_{args.load}'", "'net_1'", False), ("'net_1666076923.pt'", "f'net_{begin_time}.pt'", True), ("'net_7.pt'", "f'net_{begin_time}.pt'", False),
    ("'net_12_0.93.pt'", "'net_%d_%.2f.pt' % (epoch, acc)", True), ("'net_12_best.pt'", "'net_%d_%s.pt' % (epoch, kind)", False),
])
def test_numbered(read, written, is_one):
    assert numbered(name(read), name(written)) == is_one


@pytest.mark.parametrize("here, there, so", [
    ("if a:\n    x", "if a:\n    y", False), ("if a:\n    z\nelse:\n    x", "if a:\n    y", True), ("if m == 1:\n    x", "if m == 2:\n    y", True),
    ("if m == 1:\n    z\nelif m == 2:\n    x", "if m == 1:\n    y", True), ("for a in b:\n    z\nelse:\n    x", "if a:\n    y", False),
    ("if m == 1:\n    x", "if n == 2:\n    y", False),
])
def test_exclude_each_other(here, there, so):
    lines = [*here.split("\n"), *there.split("\n")]
    rows = [lines.index(f"    {name}") + 1 for name in "xy"]
    assert exclude_each_other(lines, *rows) == so
