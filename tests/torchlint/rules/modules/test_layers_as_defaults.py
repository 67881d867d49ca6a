"""507: a layer as the default of a parameter, which several places of one model hold."""

from tests.torchlint.dryrun.support import holds, table

NET = """
import copy

class Block(nn.Module):
    def __init__(self, width, {name}={default}):{mark}
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.act = {kept}

    def forward(self, x):
        return x + self.act(self.conv(x))

class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        {parts}

    def forward(self, x):
        return self.body(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 64, 8, 8)).mean().backward()
optimizer.step()
"""
TWO = "self.body = nn.Sequential(Block(width), Block(width))"
BAD = "  # <- 507"


def program(default="nn.PReLU()", kept="act", parts=TWO, mark="", name="act"):
    return NET.format(default=default, kept=kept, parts=parts, mark=mark, name=name)


@table({
    "a rate for each block": program(mark=BAD),
    "a norm": program("nn.BatchNorm2d(64)", mark=BAD),
    "behind a keyword": program(parts="self.body = nn.Sequential(Block(width=width), nn.Sequential(Block(width=width)))", mark=BAD),
    "without weights": program("nn.ReLU()"),
    "copied": program(kept="copy.deepcopy(act)"),
    "one block": program(parts="self.body = Block(width)"),
    "given to the others": program(parts="self.body = nn.Sequential(Block(width), Block(width, nn.PReLU()))"),
    "a class": program("nn.PReLU", kept="act()"),
    "made where it is None": program("None", kept="nn.PReLU() if act is None else act"),
    "one of two": program(parts="if width > 32:\n            self.body = nn.Sequential(Block(width))\n        else:\n            self.body = nn.Sequential(Block(32))"),
    "shared on purpose": program(name="shared", kept="shared"),
    "two models": program(parts="self.body = Block(width)") + "other = Net()\nother.load_state_dict(net.state_dict())\n",
})
def test_defaults(code):
    holds(code)


def test_handed_on():
    holds("""
class Conv(nn.Module):
    def __init__(self, width, act=None):
        super().__init__()
        layers = [nn.Conv2d(width, width, 3, padding=1)]
        if act is not None:
            layers.append(act)
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)

class Net(nn.Module):
    def __init__(self, width=64, act=nn.PReLU()):  # <- 507
        super().__init__()
        self.first = Conv(width, act)
        self.second = Conv(width, act)

    def forward(self, x):
        return self.second(self.first(x))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 64, 8, 8)).mean().backward()
optimizer.step()
""")
