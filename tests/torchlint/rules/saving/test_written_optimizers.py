"""941 and 943: names of `torch.optim` that no release has had, and arguments that nothing there takes, on ways that are not gone."""

import pytest

from tests.torchlint.dryrun.support import holds, table

CHOICE = """
kind = "sgd"
net = nn.Linear(2, 2)
if kind == "sgd":
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
else:
    %s
"""


@table({
    "an argument of another's": CHOICE % "optimizer = torch.optim.Adam(net.parameters(), l2_reg=0.1)  # <- 943",
    "one that is taken": CHOICE % "optimizer = torch.optim.Adam(net.parameters(), weight_decay=0.1)",
    "arguments that are not seen": CHOICE % "optimizer = torch.optim.Adam(net.parameters(), **vars(kind))",
    "a name that no release has": CHOICE % "optimizer = torch.optim.Nadam(net.parameters())  # <- 941",
    "a class of today's": CHOICE % "optimizer = torch.optim.NAdam(net.parameters())",
    "a scheduler of another library": CHOICE % "scheduler = torch.optim.lr_scheduler.CosineAnnealingWithRestartsLR(None, 3)  # <- 941",
    "in small letters": CHOICE % "optimizer = torch.optim.sgd(net.parameters(), lr=0.1)  # <- 941",
    "in small letters, of what is imported": "from torch import optim\n" + CHOICE % "optimizer = optim.adam(net.parameters())  # <- 941",
    "in small letters, of functions of one's own": "import tools.optim as optim\n" + CHOICE % "optimizer = optim.adam(net.parameters())",
    "in small letters, put there": "torch.optim.sgd = torch.optim.SGD\n" + CHOICE % "optimizer = torch.optim.sgd(net.parameters(), lr=0.1)",
    "one that the program puts there": "torch.optim.Nadam = nn.Module\n" + CHOICE % "optimizer = torch.optim.Nadam(net.parameters())",
    "one that torch is asked for": CHOICE % "optimizer = torch.optim.Nadam(net.parameters()) if hasattr(torch.optim, 'Nadam') else None",
    "one that may be missing": CHOICE % "try:\n        optimizer = torch.optim.Nadam(net.parameters())\n    except AttributeError:\n        optimizer = None",
    "one of another module's": "import optim\n" + CHOICE % "optimizer = optim.Nadam(net.parameters(), l2_reg=1)",
    "an import": "from torch.optim.lr_scheduler import CosineAnnealingWithRestartsLR  # <- 941\nfrom torch.optim import Optimizer\n" + CHOICE % "pass",
})
def test_in_torch_optim(code):
    holds(code)


def test_torch_says_the_same():
    torch = pytest.importorskip("torch")
    assert not hasattr(torch.optim, "Nadam") and hasattr(torch.optim, "NAdam")
    assert not hasattr(torch.optim.lr_scheduler, "CosineAnnealingWithRestartsLR")
    with pytest.raises(TypeError):
        torch.optim.Adam(torch.nn.Linear(2, 2).parameters(), l2_reg=0.1)
