"""606 of workers that a `worker_init_fn` seeds the same in every epoch."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import random

import numpy as np
from torch.utils.data import DataLoader, Dataset

SEED = 7


class Shift:
    def __call__(self, x):
        return x + np.random.rand()


def jitter(x):
    return x * np.random.uniform(0.9, 1.1)


class Rows(Dataset):
    def __init__(self, rows, train=True, transform=None):
        self.rows, self.train, self.transform, self.shift = rows, train, transform, Shift()

    def __len__(self):
        return len(self.rows)

    def pick(self):
        return np.random.randint(len(self.rows))

    def __getitem__(self, index):
        x, y = self.rows[index]
{item}
        return x, y


{function}


def train(rows, args):
    loader = DataLoader(Rows(rows{given}), batch_size=8, shuffle=True, num_workers={workers}, worker_init_fn={init})
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range({epochs}):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
"""
DRAWN = "x = x + np.random.rand()"
PLAIN = "def start(worker_id):\n    np.random.seed({seed}){mark}"


def code(item=DRAWN, seed="42 + worker_id", told=True, function=None, given="", workers="4", init="start", epochs="10"):
    mark = "  # <- 606" if told else ""
    text = "\n".join("        " + line for line in item.split("\n"))
    made = function if function is not None else PLAIN.format(seed=seed, mark=mark)
    return CODE.format(item=text, function=made, given=given, workers=workers, init=init, epochs=epochs)


@table({
    "a constant": code(),
    "a name": code(seed="worker_id + SEED"),
    "the first word of the state": code(seed="np.random.get_state()[1][0] + worker_id"),
    "by a name of its own": code(function="def start(worker):\n    seed = SEED * 100 + worker\n    np.random.seed(seed)  # <- 606"),
    "Python's": code("x = x + random.random()", function="def start(worker):\n    random.seed(worker)  # <- 606"),
    "torch's": code("x = x + torch.rand(1)", function="def start(worker):\n    torch.manual_seed(SEED + worker)  # <- 606"),
    "in a method": code("x, y = self.rows[self.pick()]"),
    "in a function": code("x = jitter(x)"),
    "in a part of the data set": code("x = self.shift(x)"),
    "in training": code("if self.train:\n    x = jitter(x)"),
    "in training, now and then": code("if self.train and np.random.rand() > 0.5:\n    x = -x"),
    "not lasting": code(init="start, persistent_workers=False"),
})
def test_the_same_in_every_epoch(code):
    holds(code)


@table({
    "by torch's seed": code(seed="torch.initial_seed() % 2**32", told=False),
    "by torch's seed and the number": code(
        function="def start(worker):\n    seed = torch.initial_seed()\n    np.random.seed((seed + worker) % 2**32)"),
    "by the clock": code(function="import time\n\ndef start(worker):\n    np.random.seed(int(time.time()) + worker)"),
    "by the epoch": code(function="EPOCH_SEED = 0\n\ndef start(worker):\n    np.random.seed(EPOCH_SEED + worker)"),
    "by what may change": code(seed="worker_id + np.random.randint(1000)", told=False),
    "workers that last": code(init="start, persistent_workers=True", told=False),
    "no workers": code(workers="0", told=False),
    "one epoch": code(epochs="1", told=False),
    "nothing drawn": code("pass", told=False),
    "another generator": code("x = x + random.random()", told=False),
    "switched off": code("if self.train:\n    x = jitter(x)", given=", train=False", told=False),
    "switched by what is not known": code("if self.train:\n    x = jitter(x)", given=", train=args.augment", told=False),
    "seeded for each item": code("np.random.seed(index)\nx = x + np.random.rand()", told=False),
    "a generator of its own": code("x = x + np.random.default_rng().random()", told=False),
})
def test_sound_forms(code):
    holds(code)


SEVERAL = """

class Others(Rows):
    def __getitem__(self, index):
{other}
        return x, y

"""


def one_of_several(other, told):
    """One of two data sets, whichever an option names."""
    text = code(told=told).replace("\n\ndef start", SEVERAL.format(other="        x, y = self.rows[index]\n        " + other) + "\ndef start")
    made = "    if args.wide:\n        data = Rows(rows)\n    elif args.other:\n        data = Others(rows)\n    else:\n        exit(1)\n"
    return text.replace("    loader = DataLoader(Rows(rows)", made + "    loader = DataLoader(data")


@table({
    "each draws": one_of_several("x = jitter(x)", True),
    "one of them does not": one_of_several("x = 2 * x", False),
})
def test_one_of_several_data_sets(code):
    holds(code)


CHOSEN = """

class Chosen(Rows):
    def __init__(self, rows, part="train"):
        super().__init__(rows)
        self.change = self.distort if part == "train" else self.leave

    def distort(self, x):
        return x * np.random.uniform(0.9, 1.1)

    def leave(self, x):
        return x

    def __getitem__(self, index):
        x, y = self.rows[index]
        if self.change is not None:
            x = self.change(x)
        return x, y

"""


def by_a_chosen_method(given, told):
    """A data set that keeps one of its own methods, by what it is for."""
    text = code(told=told).replace("\n\ndef start", CHOSEN + "\ndef start")
    return text.replace("Rows(rows), batch_size", f"Chosen(rows{given}), batch_size")


@table({
    "one that draws": by_a_chosen_method("", True),
    "one that does not": by_a_chosen_method(', "test"', False),
    "whichever is asked for": by_a_chosen_method(", args.part", False),
})
def test_a_method_that_is_kept(code):
    holds(code)
