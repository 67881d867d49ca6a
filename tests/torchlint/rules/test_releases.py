"""What is gone from torch, by the releases that a project's requirements admit: a fresh installation of `torch>=1.2` has the newest."""

import pytest

from tests.torchlint.support import write
from torchlint import check

PROGRAM = """
import argparse

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

args = argparse.Namespace()
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scheduler = ReduceLROnPlateau(optimizer, verbose=True)
saved = torch.load("a.pt")
model.load_state_dict(saved["model"])
torch.save({"model": model.state_dict(), "args": args}, "a.pt")
values, vectors = torch.symeig(torch.rand(2, 2))
"""
REFUSED, RUNS_CODE = "raises since torch 2.6", "runs whatever code"


def told(folder, **options):
    return {finding.code: finding.message for finding in check(folder, cache=False, **options)}


@pytest.mark.parametrize(("requirement", "codes", "load"), [
    ("torch", {"TL901", "TL941", "TL943"}, REFUSED),
    ("torch>=1.2", {"TL901", "TL941", "TL943"}, REFUSED),
    ("torch>=2.7", {"TL901", "TL941", "TL943"}, REFUSED),
    ("torch>=1.2,<=2.5", {"TL901", "TL941"}, RUNS_CODE),
    ("torch~=1.2.0", {"TL901"}, RUNS_CODE),
    ("torch==1.2", {"TL901"}, RUNS_CODE),
    ("torch<1.9", {"TL901"}, RUNS_CODE),
])
def test_by_requirements(tmp_path, requirement, codes, load):
    found = told(write(tmp_path, {"requirements.txt": requirement + "\n", "train.py": PROGRAM}))
    assert found.keys() == codes
    assert load in found["TL901"]


def test_the_option_is_one_release(tmp_path):
    write(tmp_path, {"requirements.txt": "torch>=1.2\n", "train.py": PROGRAM})
    assert told(tmp_path, torch_version="1.2").keys() == {"TL901"}
    assert told(tmp_path, torch_version="2.13").keys() == {"TL901", "TL941", "TL943"}


@pytest.mark.parametrize(("requirement", "gone"), [("torchvision>=0.5", True), ("torchvision==0.5", False), ("torchvision<0.9", False)])
def test_torchvision_by_its_own_release(tmp_path, requirement, gone):
    program = "from torchvision import transforms\n\nresize = transforms.Scale(256)\n"
    found = told(write(tmp_path, {"requirements.txt": requirement + "\n", "data.py": program}))
    assert set(found) == ({"TL941"} if gone else {"TL942"}), "gone, or it warns as long as it is there"
