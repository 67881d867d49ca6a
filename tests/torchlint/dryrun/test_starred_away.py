"""`from models import *` of a file that is not at hand, and may bring torch itself."""

import pytest

from tests.torchlint.dryrun.support import RULES, found
from tests.torchlint.support import write
from torchlint.engine import Engine

MEMORY = "def used():\n    return torch.cuda.memory_cached()\n"
TRAIN = """
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).softmax(1), y)
        loss.backward()
        optimizer.step()
"""


def rows(folder, text):
    return found(text, folder / "main.py", Engine(RULES))


def test_torch_comes_by_a_star_of_a_file_that_is_away(tmp_path):
    assert rows(tmp_path, "from models import *\n" + MEMORY) == [(3, 942)]
    assert rows(tmp_path, "from models import *\n" + TRAIN) == [(6, 301)]


def test_torch_comes_by_a_star_in_a_file_at_hand(tmp_path):
    write(tmp_path, {"models.py": "import torch.nn.functional as F\nfrom utils.google_utils import *\n"})
    assert rows(tmp_path, "import torch.optim as optim\nfrom models import *\n" + MEMORY) == [(4, 942)]


@pytest.mark.parametrize("head", [
    "",
    "import models\n",
    "from math import *\n",
    "from os.path import *\n",
    "from numpy import *\n",
    "from models import *\nimport mytorch as torch\n",
    "from models import *\ntorch = object()\n",
    "from models import *\ndef torch():\n    pass\n",
])
def test_torch_is_another_or_nothing(tmp_path, head):
    assert rows(tmp_path, head + MEMORY) == []


def test_a_file_at_hand_has_another_torch(tmp_path):
    write(tmp_path, {"models.py": "from away import *\nclass torch:\n    cuda = None\n"})
    assert rows(tmp_path, "from models import *\n" + MEMORY) == []


def test_an_argument_of_the_name(tmp_path):
    assert rows(tmp_path, "from models import *\ndef used(torch):\n    return torch.cuda.memory_cached()\n") == []
