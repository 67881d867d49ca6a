"""905 where a training goes on from weights alone, and the checkpoint is no dict that the program writes in view."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
    for epoch in range({start}, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""
MADE = """
def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
"""


@table({
    "the whole model comes out of the file": """
def main(args, loader, start=0):
    if args.resume:
        checkpoint = torch.load(args.resume, weights_only=False)
        model = checkpoint["net"]  # <- 905
        start = checkpoint["epoch"] + 1
    else:
        model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP.format(start="start"),
    "the whole model and the whole optimizer come out of the file": """
def main(args, loader, start=0):
    if args.resume:
        checkpoint = torch.load(args.resume, weights_only=False)
        model = checkpoint["net"]
        optimizer = checkpoint["optimizer"]
        start = checkpoint["epoch"] + 1
    else:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(model.parameters())
""" + LOOP.format(start="start"),
    "the epoch is an option": MADE + """
    if args.resume:
        print("resuming from", args.resume)
        model.load_state_dict(torch.load(args.resume))  # <- 905
""" + LOOP.format(start="args.start_epoch") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "the epoch stands in the name of the file": """
class Solver:
    def __init__(self, config, loader):
        self.config, self.loader = config, loader
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), config.lr, momentum=config.momentum)
        if config.trained_model:
            self.bring_back()

    def bring_back(self):
        self.model.load_state_dict(torch.load(self.config.trained_model))  # <- 905

    def step(self, x, y):
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()

    def train(self):
        if self.config.trained_model:
            start = int(self.config.trained_model.split("/")[-1])
        else:
            start = 0
        for epoch in range(start, self.config.epochs):
            for x, y in self.loader:
                self.step(x, y)
            torch.save(self.model.state_dict(), f"{epoch}.pt")
""",
    "the model loads itself": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x)

    def load_weights(self, path):
        self.load_state_dict(torch.load(path))

def main(args, loader):
    model = Net()
    if args.resume:
        model.load_weights(args.resume)  # <- 905
    else:
        model.body.load_state_dict(torch.load(args.pretrained))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for iteration in range(args.start_iter, args.max_iter):
        x, y = next(loader)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), "last.pt")
""",
    "another file writes the checkpoint": MADE.replace("nn.Linear(4, 2)", "build(args)").replace("\ndef", "from models import build\nfrom tools import save_checkpoint\n\ndef") + """
    if args.resume:
        checkpoint = torch.load(args.resume)
        args.start_epoch = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])  # <- 905
""" + LOOP.format(start="args.start_epoch") + """
        save_checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1})
""",
    "whole models, of which one was loaded": """
def main(args, loader):
    if args.resume:
        checkpoint = torch.load("c.pt", weights_only=False)
        net, start = checkpoint["G_A"], checkpoint["epoch"] + 1
    else:
        net, start = nn.Linear(4, 2), 0
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        torch.save({"G_A": net, "epoch": epoch}, "c.pt")  # <- 902, 905
""",
    "an option resumes, and the epochs are counted anew": MADE + """
    if args.resume:
        if os.path.isfile(args.resume):
            model.load_state_dict(torch.load(args.resume))  # <- 905
""" + LOOP.format(start="1") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "a constant of the file says so": "RESUME = True\n" + MADE + """
    if RESUME:
        model.load_state_dict(torch.load(newest("checkpoints")))  # <- 905
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), f"checkpoints/{epoch}.pt")
""",
    "the keys are renamed in between": MADE + """
    if args.resume_net is not None:
        state_dict = torch.load(args.resume_net)
        renamed = {}
        for key, value in state_dict.items():
            renamed[key[7:]] = value
        model.load_state_dict(renamed)  # <- 905
""" + LOOP.format(start="start_iter") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "a constant that is off, of a model whose class is in no file": """
from models import Net

RESUME = False

def main(args, loader):
    model = Net()
    if RESUME:
        model.load_state_dict(torch.load("last.pt"))  # <- 905
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP.format(start="0") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "in the constructor": """
class Trainer:
    def __init__(self, args, loader):
        self.args, self.loader = args, loader
        self.model = nn.Linear(4, 2)
        if self.args.resume_from:
            self.model.load_state_dict(torch.load(self.args.resume_from))  # <- 905
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def fit(self):
        for epoch in range(self.args.epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                self.optimizer.step()
            torch.save(self.model.state_dict(), f"{epoch}.pt")
""",
    "the help of the option says so": """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--netG", default="", help="path to netG (to continue training)")
opt = parser.parse_args()
model = nn.Linear(4, 2)
if opt.netG != "":
    model.load_state_dict(torch.load(opt.netG))  # <- 905
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "the help of the option says that the weights are pretrained": """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--netG", default="", help="path to weights to begin with")
opt = parser.parse_args()
model = nn.Linear(4, 2)
if opt.netG != "":
    model.load_state_dict(torch.load(opt.netG))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "the file that the training writes": MADE + """
    if os.path.exists(args.path):
        model.load_state_dict(torch.load(args.path))  # <- 905
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), args.path)
""",
    "the file that the training writes, where it is there instead of the training": MADE + """
    if os.path.exists(args.path):
        model.load_state_dict(torch.load(args.path))
    else:
        for epoch in range(args.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            torch.save(model.state_dict(), args.path)
""",
    "the file that the training writes, and there is an end of it": MADE + """
    if os.path.exists(args.path):
        model.load_state_dict(torch.load(args.path))
        return model
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), args.path)
""",
    "the loop begins at a number of the file's name": MADE + """
    if args.ctn:
        model.load_state_dict(torch.load(f"{args.ctn - 1}.pt"))  # <- 905
""" + LOOP.format(start="args.ctn") + """
        torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "episodes are counted on": MADE + """
    episode = 0
    if args.weights:
        checkpoint = torch.load(args.weights)
        model.load_state_dict(checkpoint["model"])  # <- 905
        episode = checkpoint["episode"]
    for _ in range(args.episodes):
        episode += 1
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save({"model": model.state_dict(), "episode": episode}, f"{episode}.pt")
""",
    "episodes are shown": MADE + """
    if args.weights:
        checkpoint = torch.load(args.weights)
        model.load_state_dict(checkpoint["model"])
        episode = checkpoint["episode"]
        print("weights of episode", episode)
""" + LOOP.format(start="0") + """
        torch.save(model.state_dict(), f"{epoch}.pt")
""",
    "a helper writes what it is given": """
def write(state, path):
    torch.save(state, path)

def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    start = 0
    if os.path.exists(args.path):
        checkpoint = torch.load(args.path)
        model.load_state_dict(checkpoint["model"])
        start = checkpoint["epoch"]
""" + LOOP.format(start="start") + """
        write({"model": model.state_dict(), "epoch": epoch + 1}, args.path)  # <- 905
""",
    "a bar around the range": MADE + """
    if args.weights:
        print("going on from the latest weights")
        model.load_state_dict(torch.load(args.weights))  # <- 905
    for epoch in tqdm(range(args.start_epoch, args.epochs), unit="epochs"):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    torch.save(model.state_dict(), "last.pt")
""",
    "a comment speaks of what is accelerated": MADE + """
    \"\"\"Uses the GPU to accelerate the training.\"\"\"
    if args.resume:
        model.load_state_dict(torch.load(args.resume))  # <- 905
""" + LOOP.format(start="args.start_epoch") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "an option that is used to fine-tune": MADE + """
    if args.resume is not None:
        print("finetune COCO trained")
        model.load_state_dict(torch.load(args.resume), strict=False)
""" + LOOP.format(start="0") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "the optimizer is made anew in each epoch": """
def main(args, loader):
    model = nn.Linear(4, 2)
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    for epoch in range(args.epochs):
        optimizer = torch.optim.RMSprop(model.parameters())  # <- 122
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    torch.save(model.state_dict(), "last.pt")
""",
    "an option, and other weights": MADE + """
    if args.resume_from_imagenet:
        model.load_state_dict(torch.load(args.resume_from_imagenet))
""" + LOOP.format(start="0") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "an option, and what is loaded is evaluated": MADE + LOOP.format(start="0") + """
    torch.save(model.state_dict(), "last.pt")

def evaluate(args, loader):
    model = nn.Linear(4, 2)
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    model.eval()
    with torch.no_grad():
        return [model(x) for x in loader]
""",
    "no option speaks of it": MADE + """
    if args.weights:
        model.load_state_dict(torch.load(args.weights))
""" + LOOP.format(start="0") + """
    torch.save(model.state_dict(), "last.pt")
""",
    "weights to begin with": MADE + """
    if args.pretrained:
        model.load_state_dict(torch.load(args.pretrained))
""" + LOOP.format(start="args.start_epoch"),
    "weights to begin with, in the else of what is gone on from": MADE + """
    if args.resume:
        resume(model, optimizer, args.resume)
    else:
        model.load_state_dict(torch.load(args.weights))
""" + LOOP.format(start="args.start_epoch"),
    "the optimizer's state comes back by a helper": MADE + """
    if args.resume:
        model.load_state_dict(torch.load(args.resume)["model"])
        restore_rest(args.resume, optimizer=optimizer)
""" + LOOP.format(start="args.start_epoch"),
    "the loop counts from one": MADE + """
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
""" + LOOP.format(start="1"),
    "nothing to remember": MADE.replace("Adam(model.parameters())", "SGD(model.parameters(), lr=0.1)") + """
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
""" + LOOP.format(start="args.start_epoch"),
})
def test_goes_on(code):
    holds(code)


def test_words_of_other_data():
    """`imagenet` stands for weights of something else, and neither does `miniimagenet` nor the number of samples."""
    for name, mark in (("miniimagenet_{args.sample_num}.pt", "  # <- 905"), ("imagenet_{args.num}.pt", ""), ("samples_{args.num}.pt", "")):
        holds(MADE + f"""
    if os.path.exists(f"{name}"):
        model.load_state_dict(torch.load(f"{name}")){mark}
""".replace("    if", "    import os\n    if", 1) + LOOP.format(start="0") + f"""
        torch.save(model.state_dict(), f"{name}")
""")
