"""606 of what imgaug and others augment with, held by a dataset that workers copy."""

import pytest

from tests.torchlint.dryrun.support import holds

CODE = """
import albumentations as A
import imgaug.augmenters as iaa
from imgaug import augmenters
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


def start(worker):
    torch.utils.data.get_worker_info().dataset.augment.seed_(torch.initial_seed() % 2**32)


class Pictures(Dataset):
    def __init__(self, images, augment):
        self.images = images
        self.augment = {kept}{mark}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        {seed}
        return self.augment(image=self.images[index])


def build(images):
    flips = {made}
    return DataLoader(Pictures(images, flips), batch_size=8, shuffle=True, {options})
"""
WORKERS = "num_workers=4"


@pytest.mark.parametrize(("kept", "made", "seed", "options", "told"), [
    ("iaa.Sequential([iaa.Fliplr(0.5)])", "None", "pass", WORKERS, True),
    ("augment", "augmenters.Fliplr(0.5)", "pass", WORKERS, True),
    ("augment", "iaa.Fliplr(0.5)", "pass", "num_workers=0", False),
    ("augment", "iaa.Fliplr(0.5)", "pass", WORKERS + ", worker_init_fn=start", False),
    ("augment", "iaa.Fliplr(0.5)", "self.augment.seed_(torch.initial_seed() % 2**32)", WORKERS, False),
    ("A.Compose([A.HorizontalFlip()])", "None", "pass", WORKERS, False),  # it depends on the release
    ("v2.RandomHorizontalFlip()", "None", "pass", WORKERS, False),  # draws from torch's own generator
])
def test_augmentations(kept, made, seed, options, told):
    holds(CODE.format(kept=kept, made=made, seed=seed, options=options, mark="  # <- 606" if told else ""))
