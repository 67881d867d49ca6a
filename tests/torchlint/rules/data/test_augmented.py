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
