"""606 of generators that objects of imgaug and albumentations hold: stand-ins with the attributes that tell, and the libraries
themselves where they are installed."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

PROGRAM = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MAKE


class Pictures(Dataset):
    def __init__(self):
        self.augment = MADE  # MARK

    def __len__(self):
        return 8

    def __getitem__(self, index):
        picture = self.augment(image=np.full((4, 4, 3), 128, np.uint8))
        picture = picture["image"] if isinstance(picture, dict) else picture
        return torch.from_numpy(np.ascontiguousarray(picture)).float().flatten()


def start(worker):
    pass


model = nn.Linear(48, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for inputs in DataLoader(Pictures(), batch_size=4, num_workers=GIVEN):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
"""


class Stand:
    def __call__(self, image):
        return image


class OfImgaug(Stand):
    def __init__(self):
        self.random_state = object()


class Compose(Stand):
    def __init__(self, seed=None):
        import numpy as np

        self.random_generator = np.random.default_rng(seed)


class Synced(Compose):
    def _check_worker_seed(self): ...


class Old(Stand):
    pass


OfImgaug.__module__, Compose.__module__, Synced.__module__, Old.__module__ = "imgaug.augmenters.meta", *["albumentations.core.composition"] * 3


@pytest.mark.parametrize(("made", "given", "told"), [
    ("OfImgaug", "2", True), ("Compose", "2", True), ("Synced", "2", False), ("Old", "2", False), ("Compose", "0", False),
    ("OfImgaug", "2, worker_init_fn=start", False),
])
def test_generators_of_libraries(run, monkeypatch, made, given, told):
    module = ModuleType("stand_ins")
    setattr(module, made, globals()[made])
    monkeypatch.setitem(sys.modules, "stand_ins", module)
    code = PROGRAM.replace("MAKE", f"from stand_ins import {made}").replace("MADE", f"{made}()").replace("GIVEN", given)
    ran = run(code.replace("MARK", "<- 606" if told else "sound"))
    assert ran.error is None, ran.error
    assert {mark for mark in ran.lines if mark[0] == 606} == ran.marked, ran.san.report()
    assert not told or "worker_init_fn" in next(finding for finding in ran.findings if finding.number == 606).help


@pytest.mark.parametrize(("library", "make", "made"), [
    ("imgaug", "import imgaug.augmenters as iaa", "iaa.Sequential([iaa.Add((-100, 100))])"),
    ("albumentations", "import albumentations as A", "A.Compose([A.RandomBrightnessContrast(p=1.0)])"),
])
def test_the_libraries_themselves(run, library, make, made):
    module = pytest.importorskip(library, exc_type=ImportError)
    if library == "albumentations" and not (1, 4, 21) <= tuple(int(part) for part in module.__version__.split(".")[:3]) <= (2, 0, 8):
        pytest.skip("a release whose objects hold no generator, or give each worker one")
    ran = run(PROGRAM.replace("MAKE", make).replace("MADE", made).replace("GIVEN", "2").replace("MARK", "<- 606"))
    assert ran.error is None and {mark for mark in ran.lines if mark[0] == 606} == ran.marked, ran.san.report()
