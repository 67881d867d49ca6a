"""613 of an augmentation of the program's own that the data for both are given, as they are."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import random
from torch.utils.data import DataLoader, Dataset


class ClipAugmentation:
    def __init__(self, size, crops=True):
        self.size, self.crops = size, crops

    def __call__(self, clip):
        if self.crops:
            clip = clip[random.randint(0, 8):]
        {draw}
        return clip[: self.size]


class ValClipAugmentation(ClipAugmentation):
    def __init__(self, size):
        super().__init__(size, crops=False)


class Clips(Dataset):
    def __init__(self, files, transform, held_out=False):
        self.files, self.transform, self.held_out = files, transform, held_out

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        clip = read(self.files[index])
        {item}
        return clip


def sets(train_files, val_files, args):
    train_set = Clips(train_files, transform={train})
    val_set = {val}
    train_loader = DataLoader(train_set, shuffle=True)
    val_loader = DataLoader(val_set)
    return train_loader, val_loader
"""
BAD = "Clips(val_files, transform=ClipAugmentation(args.size))  # <- 613"
ITEM = "clip = self.transform(clip) if self.transform is not None else clip"
DRAW = "clip = clip[::-1] if random.random() < 0.5 else clip"


def program(val=BAD, train="ClipAugmentation(args.size)", item=ITEM, draw=DRAW):
    return PROGRAM.format(val=val, train=train, item=item, draw=draw)


GOOD = BAD.removesuffix("  # <- 613")


@table({
    "the same": program(),
    "whatever else each item draws": program(item="if random.random() < 0.5:\n            clip = clip + 1\n        clip = self.transform(clip)"),
    "another one in training": program(GOOD, train="ValClipAugmentation(args.size)"),
    "one of its own": program("Clips(val_files, transform=ValClipAugmentation(args.size))"),
    "told to leave it": program("Clips(val_files, transform=ClipAugmentation(args.size, crops=False))"),
    "for the training alone": program(GOOD.replace("))", "), held_out=True)"), item="if self.held_out is False and self.mode == 'train':\n            clip = self.transform(clip)"),
    "which draws nothing": program(GOOD, draw="pass").replace("random.randint(0, 8)", "8"),
    "which asks what for": program(GOOD, draw="clip = clip[::-1] if self.size and random.random() < 0.5 else clip").replace("if self.crops:", "if self.training:"),
})
def test_augmented_as_in_training(code):
    holds(code)
