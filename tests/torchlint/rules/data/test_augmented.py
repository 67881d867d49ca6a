"""613: what a data set is for, as its path, its arguments by place, or the key of its transforms say."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import os
from torchvision import datasets, transforms
from torchvision.transforms import Compose, ToTensor, CenterCrop

flips = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
plain = transforms.Compose([transforms.CenterCrop(224), transforms.ToTensor()])
"""


@table({
    "a path that is put together": HEAD + """
def sets(root, args):
    test_set = datasets.ImageFolder(root + "/test", transform=flips)  # <- 613
    val_set = datasets.ImageFolder(os.path.join(root, "val"), flips)  # <- 613
    valid_set = datasets.ImageFolder(f"{args.root}/valid", transform=flips)  # <- 613
    train_set = datasets.ImageFolder(os.path.join(root, "train"), flips)
    test_part = datasets.ImageFolder(os.path.join(root, "test"), plain)
    whole = datasets.ImageFolder(os.path.join(root, "test", "train"), flips)
    named = datasets.ImageFolder(os.path.join(root, "test"), flips)
    return test_set, val_set, valid_set, train_set, test_part, whole, named
""",
    "arguments by their place": HEAD + """
test_set = datasets.CIFAR10("data", False, flips)  # <- 613
train_set = datasets.CIFAR10("data", True, flips)
test_digits = datasets.MNIST("data", False, plain)
""",
    "a table of transforms": HEAD + """
def sets(root):
    both = {"train": flips, "val": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])}
    sound = {"train": flips, "val": plain}
    parts = {x: datasets.ImageFolder(os.path.join(root, x), both[x]) for x in ["train", "val"]}  # <- 613
    others = {x: datasets.ImageFolder(os.path.join(root, x), sound[x]) for x in ["train", "val"]}
    alike = {"weak": flips, "strong": flips}
    pairs = {x: datasets.ImageFolder(os.path.join(root, x), alike[x]) for x in ["weak", "strong"]}
    return parts, others, pairs
""",
    "either of two": HEAD + """
def sets(root, small, whole):
    either = flips if small else transforms.Compose([transforms.RandomCrop(224), transforms.ToTensor()])
    one = flips if small else plain
    test_set = datasets.ImageFolder(root + "/test", transform=either)  # <- 613
    val_set = datasets.ImageFolder(root + "/val", transform=one)
    return test_set, val_set
""",
})
def test_augmented(code):
    holds(code)


LOADERS = """
import random
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import datasets, transforms

flips = transforms.Compose([{random}, transforms.ToTensor()])


class RandomMirror:
    def __call__(self, sample):
        return sample[::-1] if {drawn} else sample


class Pictures(Dataset):
    def __init__(self, files, transform, train=True):
        self.files, self.{name}, self.train = files, transform, train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = self.files[index]
        if {asked}:
            image = image.convert("RGB")
        return self.{name}(image)


def build(files, held_out):
    train_set = Pictures(files, flips)
    val_set = Pictures(held_out, flips){mark}
    return DataLoader(train_set, shuffle=True), evaluating(val_set)


def evaluating(data):
    val_loader = DataLoader(data)
    return val_loader
"""


def loaders(random="transforms.RandomHorizontalFlip()", drawn="random.random() < 0.5", name="transform", asked="image.size", mark=""):
    return LOADERS.format(random=random, drawn=drawn, name=name, asked=asked, mark=mark)


BAD = "  # <- 613"
PATHS = """
import os
from torchvision import datasets, transforms

flips = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])


def build(root):
    train_path = os.path.join(root, "training")
    test_path = os.path.join(root, "{test}")
    train_set = datasets.ImageFolder(train_path, transform=flips)
    test_set = datasets.{kind}(test_path, transform=flips){mark}
    return train_set, test_set
"""


@table({
    "a class of the project's own": loaders(mark=BAD),
    "the mode of an image is asked for": loaders(asked="image.mode != 'RGB'", mark=BAD),
    "something else is asked for, and split": loaders(asked="image").replace("self.files[index]", "self.files[index].split('/val')[0]", 1).replace(
        "return self.transform(image)", "value = image.split('x')\n        return self.transform(value)"
    ).replace("Pictures(held_out, flips)", "Pictures(held_out, flips)  # <- 613"),
    "the mode of the data is asked for": loaders(asked="self.mode == 'train'").replace("image = image.convert", "return self.transform(image)\n        image = image.convert").replace(
        "        return self.transform(image)\n\n", "        return image\n\n"
    ),
    "whether it trains is asked for": loaders(asked="self.train").replace('convert("RGB")', 'convert(self.transform(image))').replace(
        "        return self.transform(image)\n\n", "        return image\n\n"
    ),
    "whether it trains is asked for something else": loaders(asked="self.train", mark=BAD),
    "whether it trains is asked for, and it leaves": loaders(asked="not self.train").replace('image = image.convert("RGB")', "return image"),
    "a transform that is set later": loaders(asked="self.train").replace(
        "    def __len__", "        if not train:\n            self.transform = len\n\n    def __len__"
    ).replace("Pictures(held_out, flips)", "Pictures(held_out, flips, False)"),
    "one of its own, by another name": loaders(random="MirrorIt()", mark=BAD).replace("class RandomMirror", "class MirrorIt"),
    "one of its own, by another name, with a switch": loaders(random="MirrorIt(False)").replace(
        "class RandomMirror:", "class MirrorIt:\n    def __init__(self, on):\n        self.on = on\n"
    ),
    "one of its own, by another name, that asks": loaders(random="MirrorIt()").replace(
        "class RandomMirror:", "class MirrorIt:\n    on = 0\n"
    ).replace("        return sample[::-1]", "        if self.on:\n            return sample\n        return sample[::-1]"),
    "one of its own that changes no image": loaders(random="AddNoise()").replace("class RandomMirror", "class AddNoise"),
    "a short name": loaders(name="tfms", mark=BAD),
    "a transform of the project's own": loaders(random="RandomMirror()", mark=BAD),
    "a transform of the project's own that draws nothing": loaders(random="RandomMirror()", drawn="sample"),
    "a transform that draws nothing": loaders(random="transforms.CenterCrop(8)"),
    "a path that has a name": PATHS.format(test="testing", kind="ImageFolder", mark=BAD),
    "a year behind it": PATHS.format(test="val2017", kind="ImageFolder", mark=BAD),
    "a path of training data": PATHS.format(test="train2017", kind="ImageFolder", mark=""),
})
def test_loaders_and_paths(code):
    holds(code)


OWN = """
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

crops = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor()])
plain = transforms.Compose([transforms.CenterCrop(32), transforms.ToTensor()])


class Pictures(Dataset):
    def __init__(self, files, train=True):
        self.files = files
        {init}

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return {item}


def build(files, held_out):
    val_set = Pictures(held_out, train=False){mark}
    val_loader = DataLoader(val_set)
    return DataLoader(Pictures(files), shuffle=True), val_loader
"""


def own(init="self.transform = crops", item="self.transform(self.files[index])", mark=""):
    return OWN.format(init=init, item=item, mark=mark)


@table({
    "kept by itself": own(mark=BAD),
    "of its file": own(init="pass", item="crops(self.files[index])", mark=BAD),
    "of its file, and plain": own(init="pass", item="plain(self.files[index])"),
    "kept for training only": own(init="self.transform = crops if train else plain"),
    "set twice": own(init="self.transform = crops\n        if not train:\n            self.transform = plain"),
    "kept, and not used": own(item="plain(self.files[index])"),
    "asked for in the item": own(init="self.train, self.transform = train, crops", item="self.transform(self.files[index]) if self.train else 0"),
})
def test_transforms_of_its_own(code):
    holds(code)


CLIPS = """
import numpy as np
from torch.utils.data import DataLoader, Dataset
{outside}
class Clips(Dataset):
    def __init__(self, root, mode="train"):
        self.paths, self.mode = list_of(root, mode), mode

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        x = load(self.paths[index])
        {line}
        return x

    def crop(self, x):
        {asks}top = np.random.randint(x.shape[0] - 112)
        {asks}return x[top : top + 112]
        return x[:112]

def loaders(root):
    train_loader = DataLoader(Clips(root), shuffle=True)
    val_loader = DataLoader(Clips(root, mode="val")){mark}
    return train_loader, val_loader
"""
FUNCTION = """
def random_flip(x):
    return x[::-1] if np.random.rand() < 0.5 else x
"""


def clips(line, mark="", asks="", outside=""):
    return CLIPS.format(line=line, mark=mark, asks=asks, outside=outside)


@table({
    "a method crops": clips("x = self.crop(x)", "  # <- 613"),
    "a function of the file flips": clips("x = random_flip(x)", "  # <- 613", outside=FUNCTION),
    "a class that is there for tests": clips("x = self.crop(x)").replace("Clips(", "TestClips("),
    "under a condition": clips("if self.mode == 'train':\n            x = self.crop(x)"),
    "under no condition, beside one that asks": clips(
        "x = self.crop(x)\n        if self.mode == 'test':\n            x = x[::-1]", "  # <- 613"),
    "behind one that leaves": clips("if self.mode != 'train':\n            return x\n        x = self.crop(x)"),
    "the method is told": clips("x = self.crop(x) if index else self.crop(x, self.mode)"),
    "the method asks": clips("x = self.crop(x)", asks="if self.mode == 'train': "),
    "another item is drawn": clips("x = self.paths[np.random.randint(9)]"),
    "under a switch": clips("x = self.crop(x) if self.moves else x"),
    "an item flips itself": clips("if np.random.random_sample() > 0.5:\n            x = np.fliplr(x)", "  # <- 613"),
    "an item flips itself by a number that it has drawn": clips(
        "p = np.random.rand()\n        if p < 0.5:\n            x = np.fliplr(x).copy()", "  # <- 613"),
    "an item of Pillow's flips itself": clips(
        "x = x.transpose(Image.FLIP_LEFT_RIGHT) if random.random() > 0.5 else x", "  # <- 613", outside="import random\nfrom PIL import Image"),
    "a method that says nothing by its name flips": clips("x = self.prepare(x)", "  # <- 613").replace(
        "    def crop(self, x):", """    def prepare(self, x):
        if np.random.rand() < 0.5:
            x = np.flip(x, 1)
        return x

    def crop(self, x):"""),
    "such a method asks": clips("x = self.prepare(x)").replace("    def crop(self, x):", """    def prepare(self, x):
        if self.mode == "train":
            if np.random.rand() < 0.5:
                x = np.flip(x, 1)
        return x

    def crop(self, x):"""),
    "it flips in training alone": clips("if self.mode == 'train':\n            if np.random.rand() > 0.5:\n                x = np.fliplr(x)"),
    "it flips where it is told to": clips("if self.flips and np.random.rand() > 0.5:\n            x = np.fliplr(x)"),
    "it flips as often as it is told to": clips("if np.random.rand() > self.often:\n            x = np.fliplr(x)"),
    "it flips all": clips("x = np.fliplr(x)"),
    "it draws, and flips by something else": clips("y = np.random.rand()\n        if x.shape[0] > 0.5:\n            x = np.fliplr(x)"),
})
def test_drawn_by_itself(code):
    holds(code)


UNSEEN = """
import albumentations as A
from torch.utils.data import DataLoader, random_split
from torchvision import transforms
from parts import ParkDataset, read

crops = transforms.Compose([transforms.RandomCrop(3), transforms.ToTensor()])
flips = A.Compose([A.HorizontalFlip({p}), A.Normalize()])


def build(files, held):
    whole = {whole}
    one, other = random_split(whole, [80, 20])
    train_loader = DataLoader(one, shuffle=True)
    val_loader = DataLoader({given}){mark}
    return train_loader, val_loader
"""


def unseen(whole='ParkDataset("train", files, transform=crops)', given="other", p="p=0.5", mark=""):
    return UNSEEN.format(whole=whole, given=given, p=p, mark=mark)


@table({
    "a part of what is in no file": unseen(mark=BAD),
    "for a loader called so behind": unseen(mark=BAD).replace("val_loader", "loaderVal").replace("train_loader", "loaderTrain"),
    "for a loader of both": unseen().replace("val_loader", "loaderTrainVal"),
    "for a loader called something else": unseen().replace("val_loader", "loaderValues"),
    "a part of what a function reads": unseen(whole="read(files, transform=crops)"),
    "a part of what has no transform": unseen(whole="ParkDataset(files)"),
    "all of it": unseen(given="ParkDataset(held, transform=crops)", mark=BAD),
    "all of it, with an argument that says what for": unseen(given="ParkDataset(held, train=False, transform=crops)"),
    "all of it, by a path that says what for": unseen(given="ParkDataset('data/val', transform=crops)"),
    "flips of albumentations": unseen(given="ParkDataset(held, transform=flips)", mark=BAD),
    "flips of albumentations, all the time": unseen(given="ParkDataset(held, transform=flips)", p="p=1.0"),
    "flips of albumentations, never": unseen(given="ParkDataset(held, transform=flips)", p="p=0"),
})
def test_classes_that_are_in_no_file(code):
    holds(code)


SAMPLED = """
from torch.utils.data import DataLoader, SubsetRandomSampler
from torchvision import datasets, transforms

flips = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
plain = transforms.Compose([transforms.CenterCrop(28), transforms.ToTensor()])

def build(one, other):
    whole = datasets.CIFAR10("data", train=True, transform=flips)
    held = datasets.CIFAR10("data", train=True, transform={transform})
    train_loader = DataLoader(whole, sampler=SubsetRandomSampler(one))
    val_loader = DataLoader({data}{sampler}){mark}
    return train_loader, val_loader
"""


@table({
    "a part that is drawn": SAMPLED.format(transform="plain", data="whole", sampler=", sampler=SubsetRandomSampler(other)", mark=BAD),
    "a part of another set that is augmented": SAMPLED.format(transform="flips", data="held", sampler=", sampler=SubsetRandomSampler(other)", mark=BAD),
    "of a folder, given by its place": SAMPLED.format(transform="plain", data="whole", sampler=", sampler=SubsetRandomSampler(other)", mark=BAD)
    .replace('whole = datasets.CIFAR10("data", train=True, transform=flips)', 'whole = datasets.ImageFolder("data", flips)'),
    "a part of another set": SAMPLED.format(transform="plain", data="held", sampler=", sampler=SubsetRandomSampler(other)", mark=""),
    "all of it": SAMPLED.format(transform="plain", data="whole", sampler="", mark=""),
})
def test_parts_that_are_drawn(code):
    holds(code)


CUT = """
import random
from torch.utils.data import DataLoader, Dataset

class Photos(Dataset):
    def __init__(self, options, part, size=64):
        self.options, self.size, self.part = options, size, part
        self.paths = list_of(options.root, part)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        photo = load(self.paths[index])
        {condition}
            height, width = photo.shape[:2]
            top = random.randint(0, height - 64)
            left = random.randint(0, width - 64)
            photo = photo[{cut}]
        return photo

def loaders(options, others):
    train_loader = DataLoader(Photos(options, "train"), shuffle=True)
    val_loader = DataLoader(Photos({options}, "val"{more})){mark}
    return train_loader, val_loader
"""


def cut(condition="if self.options.size > 0:", pieces="top : top + 64, left : left + 64", options="options", more="", mark=""):
    return CUT.format(condition=condition, cut=pieces, options=options, more=more, mark=mark)


@table({
    "where an option says so, for training too": cut(mark=BAD),
    "always": cut(condition="if len(photo.shape) > 2:", mark=BAD),
    "where other options say so": cut(options="others"),
    "where the size says so that is given": cut(condition="if self.size > 0:", more=", size=0"),
    "in training": cut(condition="if self.part == 'train':"),
    "where a name of the function says so": cut(condition="crops = self.size\n        if crops:"),
    "in one dimension": cut(pieces="top : top + 64"),
    "up to a place that is not made of it": cut(pieces="top : 64, left : 64"),
})
def test_cut_out(code):
    holds(code)


NAMED = """
import random
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
{unseen}

class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths, self.transform = paths, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.transform(load(self.paths[index]))

class Augmenter:
    training = True
    def __call__(self, photo, rate=0.5):
        if {asked} random.random() < rate:
            photo = photo[::-1]
        return photo

def loaders(paths, held_out):
    both = transforms.Compose([{made}, transforms.ToTensor()])
    val_loader = DataLoader(Photos(held_out, both)){mark}
    return DataLoader(Photos(paths, both), shuffle=True), val_loader
"""


@table({
    "of the project": NAMED.format(unseen="", asked="", made="Augmenter()", mark=BAD),
    "of the project, and asks": NAMED.format(unseen="", asked="self.training and", made="Augmenter()", mark=""),
    "of the project, and called otherwise": NAMED.format(unseen="", asked="", made="Augmenter()", mark="").replace("Augmenter", "Rescaler"),
    "in no file": NAMED.format(unseen="from mytools import Augmentation", asked="", made="Augmentation()", mark=BAD),
    "in no file, and told what for": NAMED.format(unseen="from mytools import Augmentation", asked="", made="Augmentation(False)", mark=""),
    "in no file, and something else": NAMED.format(unseen="from mytools import Resizer", asked="", made="Resizer()", mark=""),
})
def test_classes_that_say_that_they_augment(code):
    holds(code)


BY_A_HELPER = """
from torchvision import datasets, transforms


def transforms_of(part="train"):
    if part == "train":
        return transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.ToTensor()])
    return transforms.Compose([transforms.ToTensor()])


def get(train=True):
    return datasets.CIFAR10("data", train=train, transform=transforms_of({part})){mark}


train_data = get(True)
{name} = get({train})
"""


@table({
    "the same for both": BY_A_HELPER.format(part="", name="val_data", train="train=False", mark="  # <- 613"),
    "its own for each": BY_A_HELPER.format(part='"train" if train else "test"', name="val_data", train="train=False", mark=""),
    "what it is for is not said": BY_A_HELPER.format(part="", name="more", train="train=False", mark=""),
    "the part to train on": BY_A_HELPER.format(part="", name="val_data", train="train=True", mark=""),
})
def test_made_by_a_helper(code):
    holds(code)


HOOK = """
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

class Pictures(Dataset):
    def __init__(self, root, train, transform=None):
        self.root, self.train, self.transform = root, train, transform

    def __len__(self):
        return 9

    def __getitem__(self, index):
        image = self.root[index] if self.train else self.root[-index]
        if self.transform:
            image = self.transform(image)
        return image


class Net(LightningModule):
    def _loader(self, train):
        data = Pictures("data", train=train, transform=transforms.Compose([{first}, transforms.ToTensor()])){mark}
        loader = DataLoader(data, batch_size=8, shuffle=train)
        return loader

    def train_dataloader(self):
        return self._loader(train=True)

    def {hook}(self):
        return self._loader(train=False)
"""


@table({
    "asked for by a trainer": HOOK.format(first="transforms.RandomCrop(8)", hook="val_dataloader", mark=BAD),
    "asked for by a trainer, and plain": HOOK.format(first="transforms.CenterCrop(8)", hook="val_dataloader", mark=""),
    "asked for by somebody": HOOK.format(first="transforms.RandomCrop(8)", hook="more", mark=""),
})
def test_hooks_of_a_trainer(code):
    holds(code)


CHOSEN = """
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms


class Birds(Dataset):
    def __init__(self, root, train=False, valid=False, transform=None):
        self.files, self.transform = sorted(root.glob("train/*" if train else "valid/*")), transform

    def __getitem__(self, index):
        return self.transform(self.files[index])

    def __len__(self):
        return len(self.files)


def loaders(args):
    if args.dataset == "mnist":
        transform = transforms.ToTensor()
        train_set = datasets.MNIST(args.root, train=True, transform=transform)
        valid_set = datasets.MNIST(args.root, train=False, transform=transform)
    else:
        transform = transforms.Compose([{first}, transforms.ToTensor()])
        train_set = Birds(args.root, train=True, transform=transform)
        valid_set = Birds(args.root, valid=True, transform=transform){mark}
    valid_loader = DataLoader(valid_set)
    return DataLoader(train_set, shuffle=True), valid_loader
"""


@table({
    "one of them at random": CHOSEN.format(first="transforms.RandomResizedCrop(128)", mark=BAD),
    "none at random": CHOSEN.format(first="transforms.CenterCrop(128)", mark=""),
})
def test_data_that_branches_choose_among(code):
    holds(code)
