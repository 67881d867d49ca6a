"""613: data sets of the project that change their items at random by what libraries have for it."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import random

import albumentations as A
import imgaug.augmenters as iaa
import kornia.augmentation as K
import numpy as np
import torchaudio.transforms as AT
import torchvision.transforms.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Leaves(Dataset):
    def __init__(self, paths, moves=True):
        self.paths, self.moves = paths, moves
        self.change = {kept}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        leaf = load(self.paths[index])
        {item}
        return leaf

    def both(self, leaf):
        {method}


def loaders(paths, held_out):
    train_loader = DataLoader(Leaves(paths), shuffle=True)
    val_loader = DataLoader(Leaves(held_out)){mark}
    return train_loader, val_loader
"""
BAD = "  # <- 613"


def made(item="pass", kept="None", method="return leaf", mark=""):
    return CODE.format(item=item, kept=kept, method=method, mark=mark)


def kept(kept, item="leaf = self.change(leaf)", mark=""):
    return made(item=item, kept=kept, mark=mark)


@table({
    "imgaug flips": kept("iaa.Fliplr(0.5)", "leaf, box = self.change(image=leaf, bounding_boxes=0)", BAD),
    "imgaug flips all": kept("iaa.Fliplr(1)"),
    "imgaug flips none": kept("iaa.Fliplr(0.0)"),
    "imgaug flips as often as it is told": kept("iaa.Fliplr(moves)"),
    "imgaug turns by what is drawn of a range": kept("iaa.Affine(rotate=(-20, 20))", mark=BAD),
    "imgaug turns by a number": kept("iaa.Affine(rotate=20)"),
    "imgaug turns by a range of one number": kept("iaa.Affine(rotate=(20, 20.0))"),
    "imgaug resizes": kept("iaa.Resize((224, 256))"),
    "imgaug, by the name of a method": kept("iaa.Flipud(p=0.2)", "leaf = self.change.augment_image(leaf)", BAD),
    "imgaug, one after the other": kept("iaa.Sequential([iaa.Resize(64), iaa.Sometimes(0.3, iaa.Grayscale())])", mark=BAD),
    "kornia": kept("K.RandomAffine(20)", mark=BAD),
    "kornia, always": kept("K.RandomHorizontalFlip(p=1.0)"),
    "torchaudio": kept("AT.TimeMasking(80)", mark=BAD),
    "torchaudio, the same each time": kept("AT.MelSpectrogram(16000)"),
    "torchvision flips all": kept("transforms.RandomHorizontalFlip(p=1)"),
    "torchvision turns": kept("transforms.RandomVerticalFlip()", mark=BAD),
    "it is applied where a switch is on": kept("iaa.Fliplr(0.5)", "if self.moves:\n            leaf = self.change(image=leaf)"),
    "it is applied where there is one": kept("iaa.Fliplr(0.5)", "if self.change is not None:\n            leaf = self.change(image=leaf)", BAD),
    "it is applied to large ones": kept("iaa.Fliplr(0.5)", "if leaf.shape[0] > 9:\n            leaf = self.change(image=leaf)", BAD),
    "it is kept, and not applied": kept("iaa.Fliplr(0.5)", "leaf = self.other(leaf)"),
    "one of two": kept("iaa.Fliplr(0.5) if paths.many else iaa.Fliplr(0)"),
})
def test_kept(code):
    holds(code)


COMPOSED = "change = transforms.Compose([transforms.{first}(32), transforms.ToTensor()])\n        "
PARTS = "parts = [A.Resize(64, 64), A.HorizontalFlip({p})]\n        change = A.Compose(parts)\n        leaf = change(image=leaf)['image']"


@table({
    "made and applied": made("leaf = transforms.RandomCrop(32)(leaf)", mark=BAD),
    "made and applied, the same each time": made("leaf = transforms.CenterCrop(32)(leaf)"),
    "made and applied under a condition": made("if self.moves:\n            leaf = transforms.RandomCrop(32)(leaf)"),
    "made and applied where a switch is on": made("leaf = self.moves and transforms.RandomCrop(32)(leaf)"),
    "made and applied behind where it may end": made(
        "if not self.moves:\n            return leaf\n        leaf = transforms.RandomCrop(32)(leaf)"),
    "made and applied, with a seed": made("random.seed(index)\n        leaf = transforms.RandomCrop(32)(leaf)"),
    "composed": made(COMPOSED.format(first="RandomCrop") + "leaf = change(leaf)", mark=BAD),
    "composed of what is the same each time": made(COMPOSED.format(first="CenterCrop") + "leaf = change(leaf)"),
    "composed, and not applied": made(COMPOSED.format(first="RandomCrop")),
    "composed, and replaced": made(COMPOSED.format(first="RandomCrop") + "change = self.change or len\n        leaf = change(leaf)"),
    "composed of a list": made(PARTS.format(p=""), mark=BAD),
    "composed of a list, and always": made(PARTS.format(p="p=1.0")),
    "in a method": made("leaf = self.both(leaf)", method="return transforms.RandomCrop(32)(leaf)", mark=BAD),
    "in a method under a condition": made("leaf = self.both(leaf)", method="return transforms.RandomCrop(32)(leaf) if self.moves else leaf"),
    "in a method that is not called": made(method="return transforms.RandomCrop(32)(leaf)"),
})
def test_made_in_the_item(code):
    holds(code)


PLACE = "i, j, h, w = transforms.{of}.get_params(leaf, output_size=(64, 64))\n        leaf = F.crop(leaf, i, j, h, w)"
ANGLE = "angle = {drawn}\n        leaf = {turned}"


@table({
    "the place of a crop": made(PLACE.format(of="RandomCrop"), mark=BAD),
    "the place of a crop that is not drawn": made("leaf = F.crop(leaf, 0, 0, 64, 64)"),
    "an angle": made(ANGLE.format(drawn="random.uniform(-9, 9)", turned="F.rotate(leaf, angle)"), mark=BAD),
    "one of some angles": made(ANGLE.format(drawn="random.choice([-90, 0, 90])", turned="F.rotate(leaf, angle)"), mark=BAD),
    "an angle where it stands": made("leaf = leaf.rotate(random.randint(-9, 9))", mark=BAD),
    "an angle that may be another": made(
        "angle = random.uniform(-9, 9)\n        if not self.moves:\n            angle = 0\n        leaf = F.rotate(leaf, angle)"),
    "another sample": made("leaf = load(random.choice(self.paths))\n        leaf = F.rotate(leaf, 90)"),
    "a box": made("x, y = random.randint(0, 9), random.randint(0, 9)\n        leaf = leaf.crop((x, y, x + 64, y + 64))", mark=BAD),
    "a box that begins at the edge": made("x = random.randint(0, 9)\n        leaf = leaf.crop((0, x, 64, x + 64))"),
    "a number that picks a frame": made("x = random.randint(0, 9)\n        leaf = leaf[x]"),
    "a coin": made("flips = random.random() > 0.5\n        if flips:\n            leaf = F.hflip(leaf)", mark=BAD),
    "a coin of two": made("if random.choice([True, False]):\n            leaf = F.hflip(leaf)", mark=BAD),
    "a coin of bits": made("if not random.getrandbits(1):\n            leaf = F.hflip(leaf)", mark=BAD),
    "a coin of numbers": made("if np.random.randint(0, 2):\n            leaf = F.hflip(leaf)", mark=BAD),
    "no coin": made("if np.random.randint(0, 1):\n            leaf = F.hflip(leaf)"),
    "a coin that is thrown in training": made("flips = self.moves and random.random() > 0.5\n        if flips:\n            leaf = F.hflip(leaf)"),
})
def test_drawn_by_the_item(code):
    holds(code)
