"""208 where the options of a loader stand in a dict, or a sampler makes its batches, and where layers are built for batches of its size."""

from tests.torchlint.dryrun.support import holds, table

OPTIONS = """
from torch.utils.data import DataLoader

def main(args, first, second, net: nn.Module):
    {options}
    train_loader = DataLoader(first, batch_size=args.size, shuffle=True, **options)
    val_loader = DataLoader(second, batch_size=args.size, **options){mark}
    net.eval()
    with torch.no_grad():
        print(sum((net(x).argmax(1) == y).sum().item() for x, y in val_loader))
"""
LAYERS = """
from torch.utils.data import DataLoader

class Rays(nn.Module):
    def __init__(self, {name}, height):
        super().__init__()
        self.register_buffer("ones", torch.ones({name}, 1, height))

    def forward(self, depth):
        return depth * self.ones

class Trainer:
    def __init__(self, opt, held_out):
        self.opt, self.rays = opt, {{}}
        self.val_loader = DataLoader(held_out, self.opt.{size}, drop_last=True){mark}
        for scale in opt.scales:
            self.rays[scale] = Rays(self.opt.batch, 64 // scale)

    @torch.no_grad()
    def validate(self):
        return sum(self.rays[scale](depth).mean().item() for depth in self.val_loader for scale in self.opt.scales)
"""
BAD = "  # <- 208"


@table({
    "on a GPU": OPTIONS.format(options='options = {"num_workers": 4, "drop_last": True} if args.cuda else {}', mark=BAD),
    "always": OPTIONS.format(options='options = {"num_workers": 4, "drop_last": True}', mark=BAD),
    "of training alone": OPTIONS.format(options='options = {"drop_last": True} if args.mode == "train" else {}', mark=""),
    "not dropped": OPTIONS.format(options='options = {"num_workers": 4, "drop_last": False} if args.cuda else {}', mark=""),
    "said at the loader": OPTIONS.format(options='options = {"drop_last": True} if args.cuda else {}', mark="")
    .replace("DataLoader(second, batch_size=args.size", "DataLoader(second, batch_size=args.size, drop_last=False"),
    "layers for batches of that size": LAYERS.format(name="batch_size", size="batch", mark=""),
    "layers for batches of another size": LAYERS.format(name="batch_size", size="val_batch", mark=BAD),
    "layers of that width": LAYERS.format(name="width", size="batch", mark=BAD),
})
def test_left_out(code):
    holds(code)


PHASES = """
from torch.utils.data import DataLoader

def main(sets, net: nn.Module, optimizer: torch.optim.Optimizer):
    loaders = {loaders}{mark}
    for epoch in range(10):
        for phase in ["train", "val"]:
            if phase == "train":
                net.train()
            else:
                net.eval()
            total = 0
            for x, y in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = F.cross_entropy(net(x), y)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                total += loss.item()
            print(total)
"""
TWO = """{{"train": DataLoader(sets["train"], 8, shuffle=True, drop_last=True), "val": DataLoader(sets["val"], 8, drop_last={drops})}}"""


@table({
    "a dict has it": PHASES.format(loaders=TWO.format(drops=True), mark=BAD),
    "a dict has one that is whole": PHASES.format(loaders=TWO.format(drops=False), mark=""),
    "batches of whole sequences": PHASES.format(loaders=TWO.format(drops=True).replace("8,", "8 * (seq_len + 1),"), mark="")
    .replace("(sets,", "(sets, seq_len,"),
    "a comprehension makes it": PHASES.format(loaders='{x: DataLoader(sets[x], 8, shuffle=True, drop_last=True) for x in ["train", "val"]}', mark=BAD),
    "a comprehension that asks": PHASES.format(loaders='{x: DataLoader(sets[x], 8, shuffle=True, drop_last=x == "train") for x in ["train", "val"]}', mark=""),
    "a comprehension for training": PHASES.format(loaders='{x: DataLoader(sets[x], 8, shuffle=True, drop_last=True) for x in ["train"]}', mark="").replace('["train", "val"]:', '["train"]:'),
})
def test_loaders_of_phases(code):
    holds(code)


HELD_OUT = """
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
SIZE = 64
test_loader = DataLoader(datasets.MNIST("data", train={train}, transform=transforms.ToTensor()), batch_size=SIZE, drop_last=True){mark}

def flat(x):
    return x.view({rows}, -1)

@torch.no_grad()
def test(net: nn.Module):
    net.eval()
    right = 0
    for x, y in test_loader:
        right += (net(flat(x)).argmax(1) == y).sum().item()
    return right

print(test(nn.Linear(784, 10)))
"""


@table({
    "data that are made for it, and say so": HELD_OUT.format(train="False", rows="len(x)", mark=BAD),
    "data of the training": HELD_OUT.format(train="True", rows="len(x)", mark=""),
    "a helper takes all batches to be full": HELD_OUT.format(train="False", rows="SIZE", mark=""),
})
def test_data_that_are_made_in_the_call(code):
    holds(code)


BATCHES = """
from torch.utils import data

def in_batches(sampler, size, rounds=None):
    batches = data.sampler.BatchSampler(sampler, size, {drop})
    return batches if rounds is None else Rounds(batches, rounds)

class Rounds(data.BatchSampler):
    def __init__(self, batches, rounds):
        self.batches, self.rounds = batches, rounds

def main(args, first, second, net: nn.Module):
    train_loader = data.DataLoader(first, batch_sampler=in_batches(data.RandomSampler(first), args.size, args.rounds))
    val_loader = data.DataLoader(second, batch_sampler=in_batches({sampler}, {size})){mark}
    net.eval()
    with torch.no_grad():
        for x, y in val_loader:
            print((net(x).argmax(1) == y).sum().item(), {used})
"""
IN_ORDER = {"sampler": "data.SequentialSampler(second)", "size": "args.size", "used": "x.size(0)"}


@table({
    "by a helper": BATCHES.format(**IN_ORDER, drop="drop_last=True", mark=BAD),
    "by place": BATCHES.format(**IN_ORDER, drop="True", mark=BAD),
    "mixed": BATCHES.format(**IN_ORDER | {"sampler": "data.RandomSampler(second)"}, drop="True", mark=BAD),
    "all of them": BATCHES.format(**IN_ORDER, drop="False", mark=""),
    "as training has it": BATCHES.format(**IN_ORDER, drop="args.drop", mark=""),
    "one by one": BATCHES.format(**IN_ORDER | {"size": "1"}, drop="True", mark=""),
    "other batches": BATCHES.format(**IN_ORDER | {"size": "args.size, args.rounds"}, drop="True", mark=""),
})
def test_batches_of_a_sampler(code):
    holds(code)


CHOSEN = """
from torch.utils.data import DataLoader

def main(first, second):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train_loader = DataLoader(first, 16, shuffle=True, drop_last=True)
    {name} = DataLoader(second, 16, drop_last=True){mark}
    loaders = {loaders}
    for epoch in range(10):
        for turn, phase in enumerate(["train", "val"]):
            net.train(phase == "train")
            for x, y in loaders[{key}]:
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x), y)
                {condition}loss.backward()
                optimizer.step()
"""


@table({
    "of a list": CHOSEN.format(name="val_loader", mark=BAD, loaders="[train_loader, val_loader]", key="turn", condition='if phase == "train": '),
    "of a dict of which the key is not known": CHOSEN.format(
        name="test_loader", mark=BAD, loaders='{"train": train_loader, "test": test_loader}', key="phase", condition="if net.training: ").replace('["train", "val"]', "PHASES"),
    "both are trained on": CHOSEN.format(name="val_loader", mark="", loaders="[train_loader, val_loader]", key="turn", condition=""),
    "none is for training": CHOSEN.format(name="val_loader", mark="", loaders="[val_loader, second]", key="turn", condition='if phase == "train": '),
})
def test_one_of_several_loaders(code):
    holds(code)


IN_FORWARD = """
from torch.utils.data import DataLoader

SIZE = 64

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(784, 10)

    def forward(self, x):
        {before}
        return self.out(x.view({rows}, -1))

net = Net()
net.load_state_dict(torch.load("net.pt"))
test_loader = DataLoader(data, batch_size={size}, drop_last=True){mark}
net.eval()
right = 0
with torch.no_grad():
    for x, y in test_loader:
        right += (net(x).argmax(1) == y).sum().item()
print(right)
"""


def in_forward(mark="", **other):
    return IN_FORWARD.format(mark=mark, **({"before": "x = x.float()", "rows": "SIZE", "size": "SIZE"} | other))


@table({
    "the size of a batch, by the file's name for it": in_forward(),
    "as many rows as there are": in_forward(BAD, rows="len(x)"),
    "another size": in_forward(BAD, size="100"),
    "a name of its own": in_forward(BAD, before="SIZE = x.size(0)"),
})
def test_a_model_that_knows_the_size_of_a_batch(code):
    holds(code.replace("data, batch_size", "HELD_OUT, batch_size"))
