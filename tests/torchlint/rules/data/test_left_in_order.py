"""603: `shuffle=False` that is written out, set on some ways only, and data that are cut into slices."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""
DATA = "torchvision.datasets.MNIST('d')"
SLICES = """
def main(x, y, n):
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        {before}
        for i in range(0, n, 32):{mark}
            optimizer.zero_grad()
            F.cross_entropy(net({x}), y[i : i + 32]).backward()
            optimizer.step()
"""

GENERATOR = """
def batches(x, y, size):
    {before}
    for i in range(0, len(x), size):
        yield x[i : i + size], y[i : i + size]

def main(x, y):
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for a, b in batches(x, y, 32):{mark}
            optimizer.zero_grad()
            F.cross_entropy(net(a), b).backward()
            optimizer.step()
"""

METHOD = """
class Rows:
    def __init__(self, x):
        self.x = x

    def once(self, net, optimizer):
        {before}
        for i in range(0, len(self.x), 32):{mark}
            optimizer.zero_grad()
            net(self.x[i : i + 32]).sum().backward()
            optimizer.step()

def main(x):
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    rows = Rows(x)
    for epoch in range(9):
        rows.once(net, optimizer)
"""


ELSEWHERE = """
from sklearn.model_selection import train_test_split
from elsewhere import TextDataset

def train(loader, net, optimizer):
    print(len(loader))
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def main(rows, sampler):
    rows, _ = {split}(rows)
    {before}
    loader = torch.utils.data.DataLoader(TextDataset(rows), batch_size=8, sampler=sampler, shuffle=False){mark}
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        {inside}
        train(loader, net, optimizer)
"""


def elsewhere(split="read", before="sampler = None", mark="  # <- 603", inside="print(epoch)"):
    return ELSEWHERE.format(split=split, before=before, mark=mark, inside=inside)


@table({
    "no sampler, by name": elsewhere(),
    "or what was pickled of it": elsewhere(before="sampler = None").replace(
        "    loader = torch", "    data = TextDataset(rows) if len(rows) else pickle.load(open('data.pkl', 'rb'))\n    loader = torch"
    ).replace("DataLoader(TextDataset(rows)", "DataLoader(data").replace("from elsewhere", "import pickle\nfrom elsewhere"),
    "only what was pickled": elsewhere(before="sampler = None", mark="").replace(
        "DataLoader(TextDataset(rows)", "DataLoader(pickle.load(open('data.pkl', 'rb'))").replace("from elsewhere", "import pickle\nfrom elsewhere"),
    "a sampler that somebody gives": elsewhere(before="print(rows)", mark=""),
    "mixed once": elsewhere(split="train_test_split"),
    "mixed in each epoch": elsewhere(inside="rows, _ = train_test_split(rows)", mark=""),
})
def test_data_of_a_class_that_is_in_no_file(code):
    holds(code)


PARTED = """
from torch.utils.data import DataLoader, random_split
from mydata import Streets, Rooms, WebRooms, Rides

def main(kind, net, optimizer):
    {made}
    loader = DataLoader({given}, batch_size=8){mark}
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
"""
EITHER = """if kind == "streets":
        data = Streets("here")
    elif kind == "rooms":
        data = {other}
    else:
        raise ValueError(kind)
    {then}"""


def parted(given, made, mark=""):
    return PARTED.format(made=made, given=given, mark=mark)


@table({
    "one part": parted("parts[0]", "parts = random_split(Streets('here'), [0.8, 0.2])", "  # <- 603"),
    "the length of one of several is asked": parted("data", EITHER.format(other="Rooms('there')", then="print(len(data))"), "  # <- 603"),
    "a part of one of several": parted("parts[0]", EITHER.format(other="Rooms('there')", then="parts = random_split(data, [90, 10])"), "  # <- 603"),
    "a part of data in an order of time": parted("parts[0]", "parts = random_split(Rides('here', window=8), [0.8, 0.2])"),
    "one of several is only gone through": parted("data", EITHER.format(other="WebRooms('there')", then="print(len(data))")),
    "nothing says that they have numbers": parted("data", EITHER.format(other="Rooms('there')", then="print(kind)")),
})
def test_parts_of_what_is_in_no_file(code):
    holds(code)


@table({
    "written out": f"""
import torchvision
def main():
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=False)  # <- 603
{TRAIN}""",
    "written out, and a comment says why": f"""
import torchvision
def main():
    # sorted by difficulty: the order is meant
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=False)
{TRAIN}""",
    "written out, of a few samples": f"""
def main():
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(4, 4), torch.randint(0, 2, (4,))), batch_size=2, shuffle=False)
{TRAIN}""",
    "written out, of tensors, beside a recurrent layer": f"""
def main(a, b):
    layer = nn.LSTM(4, 4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(a, b), batch_size=2, shuffle=False)
{TRAIN}""",
    "written out, of tensors": f"""
def main(a, b):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(a, b), batch_size=2, shuffle=False)  # <- 603
{TRAIN}""",
    "written out in other words": f"""
import torchvision
def main():
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=not True)  # <- 603
{TRAIN}""",
    "by a name that stands for it": f"""
import torchvision
def main():
    shuffle = False
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=shuffle)  # <- 603
{TRAIN}""",
    "by a name, and a comment says why": f"""
import torchvision
def main():
    shuffle = False  # from easy to hard, in this order
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=shuffle)
{TRAIN}""",
    "by a name that stands for the other": f"""
import torchvision
def main():
    shuffle = True
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=shuffle)
{TRAIN}""",
    "by a name that somebody gives": f"""
import torchvision
def main(shuffle):
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=shuffle)
{TRAIN}""",
    "an option decides": f"""
import torchvision
def main(args):
    loader = torch.utils.data.DataLoader({DATA}, batch_size=8, shuffle=args.shuffle)
{TRAIN}""",
    "in keywords that one way adds to": f"""
import torchvision
def main(use_cuda):
    options, more = dict(batch_size=8), dict(num_workers=1, shuffle=True)
    if use_cuda:
        options.update(more)
    loader = torch.utils.data.DataLoader({DATA}, **options)  # <- 603
{TRAIN}""",
    "in keywords of both ways": f"""
import torchvision
def main(use_cuda):
    options = dict(batch_size=8, shuffle=True)
    if use_cuda:
        options.update(num_workers=1)
    loader = torch.utils.data.DataLoader({DATA}, **options)
{TRAIN}""",
    "in keywords that somebody else fills": f"""
import torchvision
def main(use_cuda, more):
    options = dict(batch_size=8)
    options.update(more)
    loader = torch.utils.data.DataLoader({DATA}, **options)
{TRAIN}""",
    "slices": SLICES.format(before="net.train()", mark="  # <- 603", x="x[i : i + 32]"),
    "slices by the number of a batch": SLICES.format(before="net.train()", mark="  # <- 603", x="x[i * 32 : (i + 1) * 32]"),
    "slices of a new order": SLICES.format(before="order = torch.randperm(n)", mark="", x="x[order[i : i + 32]]"),
    "slices of what is mixed": SLICES.format(before="x, y = mixed(x, y)", mark="", x="x[i : i + 32]"),
    "slices of what is mixed, behind a comment": SLICES.format(before="net.train()  # as it was\n        random.shuffle(x)", mark="", x="x[i : i + 32]"),
    "slices of what is mixed once": SLICES.format(before="net.train()", mark="  # <- 603", x="x[i : i + 32]") + "\ndef start(x):\n    np.random.shuffle(x)\n    main(x, x, 9)\n",
    "slices of a series": SLICES.format(before="hidden = net.start()", mark="", x="x[i : i + 32]"),
    "slices in a function, called once an epoch": """
def once(net, optimizer, x, y):
    for i in range(0, len(x), 32):  # <- 603
        optimizer.zero_grad()
        F.cross_entropy(net(x[i : i + 32]), y[i : i + 32]).backward()
        optimizer.step()

def main(x, y):
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        once(net, optimizer, x, y)
""",
    "slices between two names": SLICES.format(before="net.train()", mark="  # <- 603", x="x[start:end]").replace(
        "            optimizer.zero_grad()", "            start = i\n            end = min(start + 32, n)\n            optimizer.zero_grad()"
    ),
    "slices by the numbers of a bar": SLICES.format(before="bar = tqdm(range(0, n, 32))", mark="  # <- 603", x="x[i : i + 32]").replace(
        "for i in range(0, n, 32)", "for k, i in enumerate(bar)"
    ),
    "slices between two names that are drawn": SLICES.format(before="net.train()", mark="", x="x[start:end]").replace(
        "            optimizer.zero_grad()", "            start = np.random.randint(n)\n            end = start + 32\n            optimizer.zero_grad()"
    ).replace("y[i : i + 32]", "y[start:end]"),
    "a generator that yields slices": GENERATOR.format(mark="  # <- 603", before="pass"),
    "a generator that yields slices of arrays made of them": GENERATOR.format(mark="  # <- 603", before="x = np.array(x)"),
    "a generator that mixes first": GENERATOR.format(mark="", before="x, y = shuffle(x, y)"),
    "a generator of pieces of a series": GENERATOR.format(mark="", before="series = x"),
    "a generator that is asked once": GENERATOR.format(mark="", before="pass").replace("range(9)", "range(1)"),
    "slices in a method, called once an epoch": METHOD.format(before="net.train()", mark="  # <- 603"),
    "slices in a method that mixes first": METHOD.format(before="random.shuffle(self.x)", mark=""),
    "slices, in one epoch": SLICES.format(before="net.train()", mark="", x="x[i : i + 32]").replace("range(9)", "range(1)"),
})
def test_left_in_order(code):
    holds(code)


UNSEEN = """
from torch.utils.data import DataLoader
from mydata import {name}

def main():
    model = nn.Linear(4, 10)
    optimizer = torch.optim.Adam(model.parameters())
    data = {name}("train.csv")
    loader = DataLoader(data, batch_size=8){mark}
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        {last}
"""


@table({
    "its length is asked for": UNSEEN.format(name="ReviewDataset", last="print(epoch, len(data))", mark="  # <- 603"),
    "the loader's length is asked for": UNSEEN.format(name="ReviewDataset", last="print(epoch, len(loader.dataset))", mark="  # <- 603"),
    "its rows are mixed before": UNSEEN.format(name="ReviewDataset", last="print(epoch, len(data))", mark="") + "\nrows = train_test_split([1, 2])\n",
    "nobody asks for its length": UNSEEN.format(name="ReviewDataset", last="print(epoch)", mark=""),
    "it is given what torchvision's are": UNSEEN.format(name="NoisyDigits", last="pass", mark="  # <- 603").replace(
        '("train.csv")', '("data", train=True, transform=None)'
    ),
    "another of the class is mixed": UNSEEN.format(name="ReviewDataset", last="pass", mark="  # <- 603").replace(
        "    for epoch", '    other = DataLoader(ReviewDataset("more.csv"), batch_size=8, shuffle=True)\n    for epoch'
    ),
    "one of another class is": UNSEEN.format(name="ReviewDataset", last="pass", mark="").replace(
        "    for epoch", "    other = DataLoader(TextDataset(), batch_size=8, shuffle=True)\n    for epoch"
    ).replace("import ReviewDataset", "import ReviewDataset, TextDataset"),
    "a function makes it": UNSEEN.format(name="reviews", last="print(epoch, len(data))", mark=""),
    "sequences": UNSEEN.format(name="SequenceDataset", last="print(epoch, len(data))", mark=""),
    "it goes through by itself": UNSEEN.format(name="IterableReviews", last="print(epoch, len(data))", mark=""),
})
def test_a_class_that_is_in_no_file(code):
    holds(code)


FITTED = """
import pytorch_lightning as pl
import torchvision
from torch.utils.data import DataLoader

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 10)

    def training_step(self, batch, number):
        x, y = batch
        return F.cross_entropy(self.layer(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

def main():
    train_loader = DataLoader(torchvision.datasets.MNIST("d"), batch_size=8{options}){mark}
    val_loader = DataLoader(torchvision.datasets.MNIST("d", train=False), batch_size=8)
    trainer = pl.Trainer({trainer})
    trainer.fit(Net(), {given})
"""


def fitted(options="", mark="", trainer="max_epochs=10", given="train_loader, val_loader"):
    return FITTED.format(options=options, mark=mark, trainer=trainer, given=given)


@table({
    "by its place": fitted(mark="  # <- 603"),
    "by its name": fitted(mark="  # <- 603", given="val_dataloaders=val_loader, train_dataloaders=train_loader"),
    "shuffled": fitted(options=", shuffle=True"),
    "one epoch": fitted(trainer="max_epochs=1"),
    "of a trainer that is made of options": fitted(mark="  # <- 603").replace("pl.Trainer(", "pl.Trainer.from_argparse_args("),
    "given for validation": fitted(options=", shuffle=True", given="train_loader, val_dataloaders=val_loader"),
})
def test_given_to_a_trainer(code):
    holds(code)


SAMPLED = """
import torchvision
from torch.utils.data import DataLoader, DistributedSampler, WeightedRandomSampler

def main(distributed, sampler=None):
    data = torchvision.datasets.MNIST('d')
    {given}
    loader = DataLoader(data, batch_size=4, {options}){mark}
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        if distributed:
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""
_ONE = "sampler = None\n    if distributed: sampler = DistributedSampler(data)"
_TWO = "sampler = DistributedSampler(data) if distributed else None"


@table({
    "none in one process": SAMPLED.format(given=_ONE, options="sampler=sampler", mark="  # <- 603"),
    "one or none": SAMPLED.format(given=_TWO, options="sampler=sampler, num_workers=2", mark="  # <- 603"),
    "one or none, and shuffle=False": SAMPLED.format(given=_TWO, options="sampler=sampler, shuffle=False", mark="  # <- 603"),
    "shuffled without one": SAMPLED.format(given=_TWO, options="sampler=sampler, shuffle=(sampler is None)", mark=""),
    "shuffled in the other run": SAMPLED.format(given=_TWO, options="sampler=sampler, shuffle=not distributed", mark=""),
    "always one": SAMPLED.format(given="sampler = DistributedSampler(data)", options="sampler=sampler", mark=""),
    "whatever is given": SAMPLED.format(given="pass", options="sampler=sampler", mark=""),
    "drawn in each run": SAMPLED.format(
        given="sampler = DistributedSampler(data) if distributed else WeightedRandomSampler([1.0] * 9, 9)", options="sampler=sampler", mark="",
    ),
})
def test_a_sampler_of_several_processes_alone(code):
    holds(code)


OTHERS = """
import torchvision
from torch.utils.data import DataLoader
from ignite.engine import Engine, create_supervised_trainer
from poutyne import Model
from torchbearer import Trial

def batches(x, size):
    while True:
        for i in range(0, len(x), size):{inside}
            yield x[i : i + size]

def main(net, optimizer, step, x):
    loader = DataLoader(torchvision.datasets.MNIST("d"), batch_size=8{options}){mark}
    {call}
"""


def others(call, mark="  # <- 603", options="", inside=""):
    return OTHERS.format(call=call, mark=mark, options=options, inside=inside)


@table({
    "Ignite": others("create_supervised_trainer(net, optimizer, F.nll_loss).run(loader, max_epochs=10)"),
    "Ignite, shuffled": others("create_supervised_trainer(net, optimizer, F.nll_loss).run(loader, max_epochs=10)", "", ", shuffle=True"),
    "an engine of Ignite": others("Engine(step).run(loader, max_epochs=10)"),
    "an engine of Ignite that evaluates": others("Engine(step).run(loader)", ""),
    "Poutyne": others("Model(net, 'sgd', 'mse').fit_generator(loader, epochs=5)"),
    "Poutyne, for validation": others("Model(net, 'sgd', 'mse').fit_generator(x, loader, epochs=5)", ""),
    "Poutyne, evaluated": others("Model(net, 'sgd', 'mse').evaluate_generator(loader)", ""),
    "Torchbearer": others("Trial(net, optimizer).with_generators(train_generator=loader, val_generator=x).run(10)"),
    "a class that is called so": others("step.Model(net, 'sgd').fit_generator(loader, epochs=5)", ""),
    "a generator of slices": others("Model(net, 'sgd', 'mse').fit_generator(batches(x, 8), epochs=5)", "", inside="  # <- 603"),
    "a generator of slices, once": others("Model(net, 'sgd', 'mse').fit_generator(batches(x, 8), epochs=1)", ""),
    "a generator that is not seen": others("Model(net, 'sgd', 'mse').fit_generator(step(x, 8), epochs=5)", ""),
})
def test_given_to_other_trainers(code):
    holds(code)


NEXT = """
import torchvision
from torch.utils.data import DataLoader

def main(net, optimizer):
    loader = DataLoader(torchvision.datasets.MNIST("d"), batch_size=8{options}){mark}
    {before}
    for epoch in range({epochs}):
        {inside}
        for i in range({count}):
            x, y = next(batches)
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""


def by_next(mark="", options="", before="pass", epochs=9, inside="batches = iter(loader)", count="len(loader)"):
    return NEXT.format(mark=mark, options=options, before=before, epochs=epochs, inside=inside, count=count)


@table({
    "asked for by next": by_next("  # <- 603"),
    "asked for by next, shuffled": by_next(options=", shuffle=True"),
    "begun before all epochs": by_next(before="batches = iter(loader)", inside="pass"),
    "one epoch": by_next(epochs=1),
    "a few of them": by_next(count="100"),
})
def test_asked_for_by_next(code):
    holds(code)


SINGLY = """
def rows_of(data):
    return [list(row) for row in data]

training_set = np.loadtxt("ratings.csv")
training_set = rows_of(training_set)
training_set = {made}
net = nn.Linear(4, 10)
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
for epoch in range({epochs}):
    {before}
    for i in {numbers}:{mark}
        x = training_set[{number}].unsqueeze(0)
        if torch.sum(x > 0) > 0:
            optimizer.zero_grad()
            F.mse_loss(net(x), x).backward()
            optimizer.step()
"""


def singly(made="torch.FloatTensor(training_set)", epochs="9", before="net.train()", numbers="range(n)", mark="", number="i"):
    return SINGLY.format(made=made, epochs=epochs, before=before, numbers=numbers, mark=mark, number=number)


@table({
    "by the loop's number": singly(mark="  # <- 603"),
    "up to the length": singly(mark="  # <- 603", numbers="range(len(training_set))"),
    "in a bar": singly(mark="  # <- 603", numbers="tqdm(range(0, n))"),
    "of a data set of torchvision": singly(made='datasets.MNIST("d")', mark="  # <- 603"),
    "mixed once": singly(mark="  # <- 603").replace("net = nn", "np.random.shuffle(training_set)\nnet = nn"),
    "mixed in each epoch": singly(before="np.random.shuffle(training_set)"),
    "in an order that is drawn": singly(before="order = torch.randperm(n)", number="order[i]"),
    "over an order that is drawn": singly(numbers="torch.randperm(n).tolist()"),
    "one epoch": singly(epochs="1"),
    "a few": singly(numbers="range(4)"),
    "written down": singly(made="torch.tensor([[0.0, 1, 2, 3], [1, 2, 3, 4]])"),
    "drawn in the program": singly(made="torch.randn(n, 4)"),
    "of a class of its own": singly(made="Rows(training_set)"),
    "read anew in each turn": singly(before="training_set = torch.FloatTensor(rows)"),
    "a series": singly(before="series = training_set"),
    "a model for each turn of the outer loop": singly(before="optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"),
    "one step of all": singly().replace("            optimizer.step()", "            if i == n - 1:\n                optimizer.step()"),
    "a part of them": singly().replace("        x = ", "        if i in held_out:\n            continue\n        x = "),
    "by numbers in a list": singly(mark="  # <- 603", before="numbers = [k for k in range(n)]", numbers="numbers"),
    "by numbers in a list of indices": singly(mark="  # <- 603", before="indices = list(range(n))", numbers="indices"),
    "by numbers that are mixed": singly(before="numbers = [k for k in range(n)]; np.random.shuffle(numbers)", numbers="numbers"),
    "by indices that are mixed": singly(before="indices = list(range(n)); np.random.shuffle(indices)", numbers="indices"),
    "by numbers that are chosen": singly(before="numbers = [k for k in range(n) if good[k]]", numbers="chosen"),
    "by numbers of two kinds": singly(before="numbers = list(range(n)); numbers = other(numbers)", numbers="numbers"),
})
def test_samples_taken_by_their_number(code):
    holds(code)


READ = """
{above}
net = nn.Linear(4, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(9):
    {first}
    for i in {numbers}:{mark}
        y = {sample}
        optimizer.zero_grad()
        F.mse_loss(net(torch.zeros(4)), y).backward()
        optimizer.step()
"""


def read(above="x, y_train, names = load_data(path)", first="pass", numbers="range(len(y_train))", sample="torch.FloatTensor(y_train[i])", mark=""):
    return READ.format(above=above, first=first, numbers=numbers, sample=sample, mark=mark)


@table({
    "of what a function read, beside others": read(mark="  # <- 603"),
    "of what a function read": read(above="y_train = read_csv_file(path)", mark="  # <- 603"),
    "of what is computed": read(above="x, y_train = transitions(path)"),
    "of what is read and mixed in each epoch": read(first="random.shuffle(y_train)"),
    "of what is read twice": read(above="x, y_train = load_data(path)\ny_train = sort_by_length(y_train)"),
    "not made a tensor": read(sample="y_train[i].targets()"),
    "episodes": read(above="x, y_train = load_data(path)\nepisode_length = 5"),
})
def test_samples_made_tensors_by_their_number(code):
    holds(code)


FILES = """
import numpy as np
from PIL import Image

BATCHES = {batches}

def load_batch(k, train):
    names = [{name} for j in range(128)]
    images = []
    for name in names:
        images.append(np.array({reads}))
    return torch.tensor(np.stack(images))

net = nn.Conv2d(3, 3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

def train(epoch):
    for k in BATCHES:{mark}
        {before}
        x = {x}
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()

for epoch in range(9):
    train(epoch)
"""
NUMBER = "str(k * 128 + j)"


def numbered(batches="range(2080)", name=NUMBER, reads='Image.open("d/%s.jpg" % name)', before="pass", x="load_batch(k, True)", mark=""):
    return FILES.format(batches=batches, name=name, reads=reads, before=before, x=x, mark=mark)


@table({
    "in a function of the number": numbered(mark="  # <- 603"),
    "in the loop": numbered(x='torch.from_numpy(np.load(f"d/{k}.npy"))', mark="  # <- 603"),
    "numbers in a list": numbered(batches="list(range(2080))", mark="  # <- 603"),
    "numbers that are mixed": numbered(batches="list(range(2080))", before="np.random.shuffle(BATCHES)"),
    "a number that is drawn": numbered(before="k = np.random.randint(2080)"),
    "another name than the number's": numbered(name="str(j)"),
    "a list of names, which may be in any order": numbered(name="files[k * 128 + j]"),
    "frames": numbered(reads='Image.open("d/frames/%s.jpg" % name)'),
    "a few": numbered(batches="range(5)"),
    "beside a path of models": numbered(before='torch.save(net.state_dict(), "../models/net.pth")', mark="  # <- 603"),
    "of clients": numbered(before="clients = k"),
    "an optimizer for each epoch": numbered().replace("def train(epoch):", "def train(epoch):\n    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)"),
    "models": numbered(x='torch.from_numpy(np.load(f"model_{k}.npy"))'),
})
def test_files_read_by_number(code):
    holds(code)


HELPER = """
import torchvision
def loader_of({params}):
    data = torchvision.datasets.CIFAR10("d", train=train)
    return torch.utils.data.DataLoader(data, batch_size=32, shuffle={handed}){inside}

def main():
    loader = {made}{mark}
    held_out = loader_of(False, shuffles=False)
""" + TRAIN


def helped(made, mark="", params="train, shuffles=False", handed="shuffles", inside=""):
    return HELPER.format(made=made, mark=mark, params=params, handed=handed, inside=inside)


@table({
    "told by name": helped("loader_of(True, shuffles=False)", "  # <- 603"),
    "told by place": helped("loader_of(True, False)", "  # <- 603"),
    "left out": helped("loader_of(True)", inside="  # <- 603"),
    "told by another name": helped("loader_of(True, shuffles=OFF)", inside="  # <- 603").replace("def loader", "OFF = False\n\ndef loader"),
    "told to shuffle": helped("loader_of(True, shuffles=True)"),
    "a comment at the call": helped("loader_of(True, shuffles=False)", "  # easy samples first: the order is meant"),
    "not handed on": helped("loader_of(True, shuffles=False)", handed="train"),
})
def test_a_function_that_is_told(code):
    holds(code)


HUB = """
from datasets import load_dataset
from torch.utils.data import DataLoader

def main(name):
    raw = load_dataset({of})
    loader = DataLoader({data}, batch_size=8){mark}
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for batch in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(batch["x"]), batch["y"]).backward()
            optimizer.step()
"""
MARK = "  # <- 603"


@table({
    "a part": HUB.format(of="'glue', 'sst2'", data="raw['train']", mark=MARK),
    "mapped": HUB.format(of="'glue', 'sst2'", data="raw.map(len, batched=True)['train'].with_format('torch')", mark=MARK),
    "the split by name": HUB.format(of="'glue', 'sst2', split='train'", data="raw.remove_columns(['idx'])", mark=MARK),
    "streamed": HUB.format(of="'glue', 'sst2', streaming=True", data="raw['train']", mark=""),
    "mixed": HUB.format(of="'glue', 'sst2'", data="raw['train'].shuffle(seed=1)", mark=""),
    "chosen": HUB.format(of="'glue', 'sst2'", data="raw['train'].select(torch.randperm(8))", mark=""),
    "for the loader": HUB.format(of="'glue', 'sst2'", data="raw['train'], shuffle=True", mark=""),
    "of time": HUB.format(of="'frames', 'video_stream'", data="raw['train']", mark=""),
    "of a function of the file": HUB.format(of="'glue', 'sst2'", data="raw['train'].to_iterable_dataset()", mark=""),
})
def test_of_the_hub(code):
    holds(code)


LIGHTNING = """
import datasets
import pytorch_lightning as pl
from torch.utils.data import DataLoader

class Module(pl.LightningDataModule):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def setup(self, stage=None):
        self.parts = datasets.load_dataset(self.name)
        for part in self.parts.keys():
            self.parts[part] = self.parts[part].map(len, batched=True)

    def train_dataloader(self):
        return DataLoader(self.parts["train"], batch_size=8%s

    def val_dataloader(self):
        return DataLoader(self.parts["validation"], batch_size=8)
"""


@table({"left": LIGHTNING % ")  # <- 603", "mixed": LIGHTNING % ", shuffle=True)"})
def test_of_the_hub_in_a_data_module(code):
    holds(code)


ZIPPED = """
import numpy as np
from tqdm import tqdm

def main(rows, kinds, n):
    x = torch.from_numpy(rows)
    y = {y}
    net = nn.Linear(4, 10)
    {before}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        {mixes}
        for {names} in {over}:{mark}
            optimizer.zero_grad()
            F.cross_entropy(net(a[None]), b[None]).backward()
            {step}
"""


def side_by_side(names="a, b", over="zip(x, y)", mixes="pass", before="pass", y="torch.tensor(kinds)", step="optimizer.step()", mark=""):
    return ZIPPED.format(names=names, over=over, mixes=mixes, before=before, y=y, step=step, mark=mark)


@table({
    "as they lie": side_by_side(mark=MARK),
    "counted": side_by_side("i, (a, b)", "enumerate(zip(x, y))", mark=MARK),
    "with a bar": side_by_side("i, (a, b)", "enumerate(tqdm(zip(x, y)))", mark=MARK),
    "mixed in each epoch": side_by_side(mixes="order = torch.randperm(n); x, y = x[order], y[order]"),
    "given anew in each epoch": side_by_side(mixes="x = augment(x)"),
    "not known what": side_by_side(y="kinds"),
    "of models": side_by_side(over="zip(x, models)"),
    "of what is made there": side_by_side(over="zip(chosen(x), y)"),
    "a toy": side_by_side(y="torch.arange(8)"),
})
def test_side_by_side(code):
    holds(code)


BY_NAME = """
import torchvision
{imports}

def main(name, train_only):
    loader = torch.utils.data.DataLoader({made}("d", {given}), batch_size=32){mark}
""" + TRAIN


def by_name(made, mark=MARK, given="train=True, transform=plain", imports="from torchvision import datasets, transforms"):
    return BY_NAME.format(made=made, mark=mark, given=given, imports=imports)


@table({
    "by getattr": by_name("getattr(datasets, name)"),
    "by getattr of the package": by_name("getattr(torchvision.datasets, name.upper())"),
    "by eval": by_name("eval('datasets.' + name)"),
    "by eval of a formatted text": by_name('eval(f"datasets.{name}")'),
    "out of the module": by_name("datasets.__dict__[name]"),
    "of a module of the project": by_name("getattr(datasets, name)", "", imports="import datasets"),
    "no data for training": by_name("getattr(datasets, name)", "", "train=train_only, transform=plain"),
    "another module of torchvision": by_name("getattr(torchvision.models, name)", ""),
})
def test_a_data_set_of_torchvision_that_a_name_chooses(code):
    holds(code)


WITHOUT_A_LOADER = """
import torchvision
from random import shuffle
from torch.utils.data import Dataset, random_split

class Digits(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path, weights_only=True)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index, 1:], self.rows[index, 0].long()
    {method}

def main(paths):
    digits = {made}
    net = nn.Linear(4, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range({epochs}):
        {before}
        for x, y in {over}:{mark}
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""


def without_a_loader(mark=MARK, made="Digits('train.pt')", over="digits", before="pass", method="", epochs="9"):
    return WITHOUT_A_LOADER.format(mark=mark, made=made, over=over, before=before, method=method, epochs=epochs)


@table({
    "of the project": without_a_loader(),
    "of torchvision": without_a_loader(made=DATA),
    "a part of one": without_a_loader(made="random_split(Digits('train.pt'), [800, 200])[0]"),
    "its own way through": without_a_loader("", method="""
    def __iter__(self):
        order = torch.randperm(len(self.rows)).tolist()
        return (self[i] for i in order)
"""),
    "mixed in each epoch": without_a_loader("", before="shuffle(digits.rows)"),
    "once": without_a_loader("", epochs="1"),
    "a comment says why": without_a_loader("  # the same order, to compare the runs"),
    "a handful": without_a_loader("", made="torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randint(0, 9, (8,)))"),
    "each of a class that is in no file": without_a_loader("", made="unseen.Digits('train.pt')"),
})
def test_a_data_set_without_a_loader(code):
    holds(code)
