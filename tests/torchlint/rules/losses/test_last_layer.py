"""301 where a model's layers are put together bit by bit: what it ends with is known, whatever else is in it."""

import pytest

from tests.torchlint.dryrun.support import holds, table

BUILT = """
class Net(nn.Module):
    def __init__(self, sizes, last=None):
        super().__init__()
        {build}

    def forward(self, x):
        {run}

def go(loader):
    model = Net([3, 4])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y){mark}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LIST = """layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers.append(nn.Linear(a, b))
            layers.append(nn.ReLU())
"""
ADDED = """self.net = nn.Sequential()
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            self.net.add_module(f"linear{i}", nn.Linear(a, b))
"""
MODULES = """self.net = nn.ModuleList()
        for a, b in zip(sizes, sizes[1:]):
            self.net.append(nn.Linear(a, b))
"""
CALL = "return self.net(x)"
TURNS = """for layer in self.net:
            x = layer(x)
        return x"""
SOFT, PLAIN = "nn.Softmax(dim=1)", "nn.Linear(b, 3)"


def built(build: str, run: str, wrong: bool) -> str:
    return BUILT.format(build=build.replace("LAST", SOFT if wrong else PLAIN), run=run, mark="  # <- 301" if wrong else "")


@pytest.mark.parametrize("wrong", [True, False])
@table({
    "appended": (LIST + "        layers.append(LAST)\n        self.net = nn.Sequential(*layers)", CALL),
    "extended": (LIST + "        layers.extend([nn.Linear(4, 3), LAST])\n        self.net = nn.Sequential(*layers)", CALL),
    "added": (LIST + "        layers += [nn.Linear(4, 3), LAST]\n        self.net = nn.Sequential(*layers)", CALL),
    "behind the star": (LIST + "        self.net = nn.Sequential(*layers, nn.Linear(4, 3), LAST)", CALL),
    "add_module": (ADDED + "        self.net.add_module('last', LAST)", CALL),
    "turn by turn, all known": ("b = 4\n        self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh(), LAST)", TURNS),
    "turn by turn, two lists at once": (
        "b = 4\n        self.net = nn.ModuleList([nn.Linear(4, 4), LAST])\n        self.drops = nn.ModuleList([nn.Tanh(), nn.Identity()])",
        "for layer, drop in zip(self.net, self.drops):\n            x = layer(drop(x))\n        return x"),
    "turn by turn, not all known": (MODULES + "        self.net.append(LAST)", TURNS),
})
def test_what_is_last(code, wrong):
    holds(built(*code, wrong))


@table({
    "perhaps": LIST + "        if last:\n            layers.append(nn.Softmax(dim=1))\n        self.net = nn.Sequential(*layers)",
    "one or the other": LIST + "        layers.append(nn.Softmax(dim=1) if last else nn.Identity())\n        self.net = nn.Sequential(*layers)",
    "in between": LIST + "        layers.append(nn.Softmax(dim=1))\n        layers.append(nn.Linear(4, 3))\n        self.net = nn.Sequential(*layers)",
    "more behind it": LIST + "        layers.append(nn.Softmax(dim=1))\n        self.net = nn.Sequential(*layers, *sizes)",
})
def test_what_may_not_be_last(code):
    holds(BUILT.format(build=code, run=CALL, mark=""))
