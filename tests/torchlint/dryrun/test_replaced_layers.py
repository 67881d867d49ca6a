"""Layers of a Sequential that are replaced or taken out: what it ends with is what it holds then."""

import pytest

from tests.torchlint.dryrun.support import holds

NET = """
criterion = nn.CrossEntropyLoss()

def go(x, y, i, make):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.ReLU())
    {change}
    return criterion(net(x), y){mark}
"""
ENDS_OTHERWISE = [
    "net[-1] = nn.Identity()", "net[3] = nn.Identity()", "net[i] = nn.Identity()", "net[3] = make()", "del net[-1]", "del net[i]",
    "net.pop(3)", "net.pop(-1)", 'net._modules["3"] = nn.Identity()', 'setattr(net, "3", nn.Identity())', 'net.add_module("3", nn.Identity())',
    "net.last = nn.Linear(3, 3)", "if i: net[-1] = nn.Identity()", "if i: del net[-1]", 'setattr(net, str(i), nn.Identity())',
]
ENDS_WITH_RELU = ["net[1] = nn.GELU()", "net[-2] = nn.Linear(8, 5)", "net[-1] = nn.ReLU(inplace=True)", "del net[1]", "net.pop(0)",
                  'setattr(net, "0", nn.Linear(4, 8))']


@pytest.mark.parametrize("change", ENDS_OTHERWISE)
def test_what_it_ended_with_is_gone(change):
    holds(NET.format(change=change, mark=""))


@pytest.mark.parametrize("change", ENDS_WITH_RELU)
def test_another_layer_changes_nothing_at_the_end(change):
    holds(NET.format(change=change, mark="  # <- 313"))


def test_a_relu_that_is_put_in():
    holds(NET.format(change="net[-1] = nn.Identity(); net[2] = nn.Linear(8, 3); net[3] = nn.ReLU()", mark="  # <- 313"))


def test_a_model_is_run_anew_once_a_layer_in_it_was_replaced():
    holds("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.ReLU())
        self.net[-1] = nn.Identity()

    def forward(self, x):
        return self.net(x)


def go(x, y):
    model, criterion = Net(), nn.CrossEntropyLoss()
    before = criterion(model(x), y)
    model.net[-1] = nn.ReLU()
    return before + criterion(model(x), y)  # <- 313
""")
