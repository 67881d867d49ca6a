"""Names that only a star import can bring, out of a file that is not at hand."""

import pytest

from .support import found

SAVES = """
def train(net, loader, path):
    model = nn.DataParallel(net.cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), path)
"""


@pytest.mark.parametrize("imports", [
    "import torch.nn as nn\nfrom utils.data_loader import *\n", "from torch import nn\nfrom .utils import *\n",
    "import torch\nfrom common import *\n",
])
def test_what_everybody_calls_so_is_that_where_a_star_may_bring_it(imports):
    assert [number for _, number in found(imports + SAVES)] == [808]


@pytest.mark.parametrize("imports", [
    "from torch import nn\n", "from common import *\nfrom paddle import nn\n", "from common import *\nfrom torch import nn\ntorch = other()\n",
    "from common import *\n",
])
def test_nothing_is_known_of_it_elsewhere(imports):
    assert not found(imports + SAVES)
