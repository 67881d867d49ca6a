"""603: which datasets give their samples in an order that nobody thought of."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, holds, table
from tests.torchlint.support import write
from torchlint.api import check

CLASS = """
class Pictures(Dataset):
    def __init__(self, folder, labels):
        {init}
        self.files, self.labels = sorted(folder), labels

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        {item}
"""
PLAIN = "return self.files[index], self.labels[index]"
TRAIN = """
def main(folder, labels):
    {before}
    loader = DataLoader({data}, batch_size=8{options}){mark}
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""
HEAD = "import random\nimport torchvision\nfrom torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset\n"


def program(init="pass", item=PLAIN, before="pass", data="Pictures(folder, labels)", options="", mark="", name="Pictures", base="Dataset"):
    text = HEAD + CLASS.format(init=init, item=item) + TRAIN.format(before=before, data=data, options=options, mark=mark)
    return text.replace("class Pictures(Dataset)", f"class Pictures({base})").replace("Pictures", name)


BAD = "  # <- 603"


@table({
    "pinned": program(options=", pin_memory=True", mark=BAD),
    "samples by name": program(init="self.sample_rate, self.n_samples = 16000, 2", mark=BAD),
    "augmented at random": program(item="flip = random.random() < 0.5\n        return self.files[index], flip", mark=BAD),
    "turned over at random": program(init="self.flip = torchvision.transforms.RandomHorizontalFlip()", mark=BAD),
    "cropped at random": program(item="left = random.randint(0, 5)\n        return self.files[index][left:], self.labels[index]", mark=BAD),
    "read into memory": program(init="self.in_memory = True", mark=BAD),
    "a table": program(init="self.landmarks_frame = pd.DataFrame(folder)", mark=BAD),
    "without a base": program(base="", mark=BAD).replace("class Pictures()", "class Pictures"),
    "a data set of torchvision, with other labels": program(base="torchvision.datasets.MNIST", mark=BAD),
    "one of two": program(before="one = Pictures(folder, labels) if folder else torchvision.datasets.MNIST('d')", data="one", mark=BAD),
    "several, one behind the other": program(data="ConcatDataset([Pictures(folder, labels), torchvision.datasets.MNIST('d')])", mark=BAD),
    "a part": program(data="Subset(Pictures(folder, labels), range(100))", mark=BAD),
    "a tensor": program(before="rows = torch.tensor(labels)", data="rows", mark=BAD),
    "mixed in it": program(init="random.shuffle(folder)", mark=BAD),
    "mixed in it, by torch": program(init="order = torch.randperm(len(folder))\n        folder = [folder[k] for k in order]", mark=BAD),
    "mixed in it, by torch, in one of its cases": program(init="if labels:\n            labels = labels[torch.randperm(9)]", mark=BAD),
    "mixed by a method of its own, by torch, in each epoch": program().replace(
        "    def __len__", "    def mix(self):\n        self.files = self.files[torch.randperm(9)]\n\n    def __len__"
    ).replace("        for x, y in loader:", "        loader.dataset.mix()\n        for x, y in loader:"),
    "mixed in it, by a data frame": program(init="folder = folder.sample(frac=1)", mark=BAD),
    "drawn in it, by a data frame": program(init="folder = folder.sample(100)"),
    "mixed before": program(before="random.shuffle(folder)", mark=BAD),
    "mixed by who calls it": program(mark=BAD) + "\ndef start(files):\n    np.random.shuffle(files)\n    main(files, files)\n",
    "mixed in each epoch": program().replace("        for x, y in loader:", "        random.shuffle(folder)\n        for x, y in loader:"),
    "mixed in each epoch, by a function": program(before="mix(folder)")
    .replace("        for x, y in loader:", "        mix(folder)\n        for x, y in loader:") + "\ndef mix(files):\n    random.shuffle(files)\n",
    "mixed by a method that nobody is seen to call": program().replace(
        "    def __len__", "    def on_epoch_end(self):\n        random.shuffle(self.files)\n\n    def __len__"
    ),
    "mixed in a function that nobody calls": program(mark=BAD) + "\ndef again(files):\n    random.shuffle(files)\n",
    "mixed in a function of an object that is not seen": program().replace(
        "        for x, y in loader:", "        folder.again(labels)\n        for x, y in loader:"
    ) + "\nclass Others:\n    def again(self, files):\n        random.shuffle(files)\n",
    "mixed in a function that another one calls": program().replace(
        "        for x, y in loader:", "        folder.next(labels)\n        for x, y in loader:"
    ) + "\nclass Others:\n    def next(self, files):\n        again(files)\n\ndef again(files):\n    random.shuffle(files)\n",
    "mixed for each part of a cross-validation": program(mark=BAD)
    .replace("    net = nn", "    for fold in range(5):\n     random.shuffle(folder)\n     net = nn")
    .replace("    optimizer =", "     optimizer =").replace("    for epoch in range(9)", "     for epoch in range(9)"),
    "in a function for sequences": program().replace("def main", "def train_sequences"),
    "tensors, in a function for sequences": program(data="torch.utils.data.TensorDataset(folder, labels)").replace("def main", "def train_sequences"),
    "tensors": program(data="torch.utils.data.TensorDataset(folder, labels)", mark=BAD),
    "split at random before": program(before="folder, rest, labels, others = train_test_split(folder, labels)", mark=BAD),
    "split in its order before": program(before="folder, rest, labels, others = train_test_split(folder, labels, shuffle=False)"),
    "drawn at random": program(item="index = random.randint(0, 9)\n        return self.files[index], self.labels[index]"),
    "drawn at random, as it says": program(item='"""The index counts for nothing."""\n        return np.random.randn(4), 1'),
    "drawn at random, from a list": program(item="return random.choice(self.files), index"),
    "pieces that are drawn": program(
        item="at = random.randint(0, 9)\n        return self.files[index][at : at + 10], self.labels[index]", mark=BAD),
    "pieces of one array": program(item="return self.files[index : index + 10], self.labels[index + 10]"),
    "pieces that are cut before": program(init="pieces = [folder[i - 5 : i] for i in range(5, 99)]"),
    "a class of sequences": program(name="SequenceSet"),
    "frames of films": program(init="self.n_frames = 16"),
    "sorted by length": program(init="folder = sorted(folder, key=lambda x: len(x))"),
    "one of two is a series": program(before="one = Prices(folder) if folder else torchvision.datasets.MNIST('d')", data="one"),
    "several, one of them unknown": program(data="ConcatDataset([Pictures(folder, labels), labels])"),
})
def test_which_data_have_no_order(code):
    holds(code)


@table({
    "of the name that it is made of": program(mark=BAD).replace("Pictures", "Dataset"),
    "of the name that it is made of, a series": program(init="self.window = 9").replace("Pictures", "Dataset"),
    "a function takes the place of what was imported": "from mytools import order\n" + program(mark=BAD, data="order(folder, labels)")
    + "\ndef order(folder, labels):\n    return Pictures(folder, labels)\n",
})
def test_names_that_are_given_again(code):
    holds(code)


MIXED_ELSEWHERE = """
import random
from torch.utils.data import Dataset

class Pictures(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.files[index], index
{more}
files = open("list.txt").read().split()
{mixing}
pictures = Pictures(files)
"""
TRAINED_HERE = """
import data
from torch.utils.data import DataLoader

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(data.pictures, batch_size=8)
for epoch in range(9):
    {each}
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("mixing, more, each, told", [
    ("random.shuffle(files)", "", "net.train()", True),
    ("def again():\n    random.shuffle(files)", "", "data.again()", False),
    ("def again():\n    random.shuffle(files)", "", "net.train()", True),
    ("def again():\n    random.shuffle(files)\n\nHOOKS = [again]", "", "net.train()", False),
    ("def again():\n    random.shuffle(files)", "", "getattr(data, 'again')()", False),
    ("again = lambda: random.shuffle(files)", "", "data.again()", False),
    ("files, rest = train_test_split(files, shuffle=False)", "", "net.train()", False),
    ("", "\n    def again(self):\n        random.shuffle(self.files)\n", "data.pictures.again()", False),
])
def test_mixed_where_a_file_is_imported(tmp_path, mixing, more, each, told):
    write(tmp_path, {
        "pyproject.toml": "", "data.py": MIXED_ELSEWHERE.format(mixing=mixing, more=more),
        "train.py": IMPORTS + TRAINED_HERE.format(each=each),
    })
    found = [one.code for one in check(tmp_path / "train.py", cache=False) if one.code == "TL603"]
    assert found == ["TL603"] * told


@table({
    f"{name}: {'shuffled' if not told else 'in order'}": program(before=f"more = {before}", options=f"{options}, **more", mark=BAD * told)
    for name, before, options, told in (
        ("one dict or none", '{"num_workers": 4, "pin_memory": True} if folder else {}', "", True),
        ("one of two dicts", '{"num_workers": 4} if folder else {"drop_last": True}', "", True),
        ("both say so", '{"num_workers": 4, "shuffle": False} if folder else {"shuffle": False}', "", True),
        ("one or the other", '{"sampler": labels} if folder else {"shuffle": True}', "", False),
        ("maybe", '{"shuffle": True} if folder else {}', "", False),
        ("maybe, by arguments", '{"num_workers": 4} if folder else dict(labels)', "", False),
        ("beside", '{"num_workers": 4} if folder else {}', ", shuffle=True", False),
    )
})
def test_options_in_one_dict_or_another(code):
    holds(code)


@table({
    "labels are drawn": program(
        init="pass", options="", mark="  # <- 603", item=PLAIN + """

    def spoil(self, wrong):
        self.labels[wrong] = numpy.random.choice(self.num_classes, wrong.sum())"""
    ).replace("import random", "import random, numpy"),
    "samples are drawn": program(
        init="pass", options="", item=PLAIN + """

    def spoil(self, wrong):
        self.files = numpy.random.choice(self.files, wrong.sum())"""
    ).replace("import random", "import random, numpy"),
})
def test_wrong_labels(code):
    holds(code)
