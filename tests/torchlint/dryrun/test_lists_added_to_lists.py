"""What a list holds that other lists are added to, as the layers of a VGG are put together."""

from tests.torchlint.dryrun.support import holds, table

NETWORK = """
from torch.utils.data import DataLoader

def layers_of(widths):
    layers, block, channels = [], [], 3
    for width in widths:
        if width == "M":
            layers {adds}
            block = []
            layers += [nn.MaxPool2d(2)]
        else:
            block += [{layer}, nn.ReLU(inplace=True)]
            channels = width
    layers {adds}
    return layers

class Net(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = nn.Sequential(*layers_of(widths))

    def forward(self, x):
        return self.layers(x)

def main(train_set: torch.utils.data.Dataset, test_set: torch.utils.data.Dataset, widths):
    model = Net(widths)
    head = nn.LazyLinear(2)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
    for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(head(model(x).flatten(1)), y).backward()
        optimizer.step()
    model.eval()
    total = 0
    for x, y in DataLoader(test_set, batch_size=8):
        total += model(x).mean().item(){mark}
    print(total)
"""
CONV = "nn.Conv2d(channels, width, 3, padding=1)"


@table({
    "added": NETWORK.format(adds="+= block", layer=CONV, mark="  # <- 202"),
    "extended": NETWORK.format(adds=".extend(block)", layer=CONV, mark="  # <- 202"),
})
def test_what_a_network_of_blocks_holds(code):
    holds(code)


UNKNOWN = """
from torch.utils.data import DataLoader
from elsewhere import more_layers

def two_layers():
    return [nn.Upsample(scale_factor=2), nn.Tanh()]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.MaxPool2d(2)]
        layers += {more}
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)

def main(test_set: torch.utils.data.Dataset):
    model, total = Net(), 0
    model.eval()
    for x, y in DataLoader(test_set, batch_size=8):
        total += model(x).mean().item(){mark}
    print(total)
"""


@table({
    "from elsewhere": UNKNOWN.format(more="more_layers()", mark="  # <- 202"),
    "from here": UNKNOWN.format(more="two_layers()", mark=""),
})
def test_what_may_hold_more_may_learn(code):
    holds(code)
