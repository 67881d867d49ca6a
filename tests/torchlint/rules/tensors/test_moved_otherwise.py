"""401: a model that is moved on one way through a program only, and is given what was put on the GPU on another."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import argparse
from torchvision import datasets, transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
parser = argparse.ArgumentParser()
parser.add_argument("--weights", default="")
parser.add_argument("--test", action="store_true")
parser.add_argument("--gpu", action="store_true")
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(784, 10)

    def forward(self, x):
        return self.body(x.flatten(1))


loader = torch.utils.data.DataLoader(datasets.MNIST(".", transform=transforms.ToTensor()), batch_size=8, shuffle=True)
net = Net()
{first}
optimizer = torch.optim.Adam(net.parameters())


def train():
    net.to(device)
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x.to(device)), y.to(device)).backward()
        optimizer.step()


def test(net):
    net.eval()
    with torch.no_grad():
        for x, _ in loader:
            x = x.to({where})
            print(net(x).argmax(1)){mark}


def main():
    if {asked}:
        {before}
        test(net)
    else:
        train()
    {behind}


main()
"""


def program(asked="args.test", first="pass", before="pass", behind="pass", where="device", told=False):
    return PROGRAM.format(asked=asked, first=first, before=before, behind=behind, where=where, mark="  # <- 401" if told else "")


@table({
    "a switch": program(told=True),
    "weights that are given": program('args.weights != ""', "if args.weights != '':\n    net.load_state_dict(torch.load(args.weights))", told=True),
    "moved further down": program(behind="test(net)", told=True),
})
def test_the_other_way_moves_nothing(code):
    holds(code)


@table({
    "moved before": program(first="net.to(device)"),
    "moved on this way, too": program(before="net.to(device)"),
    "moved in the loading": program(first="if args.test:\n    net.load_state_dict(torch.load(args.weights))\n    net = net.to(device)"),
    "all on the CPU": program(where="'cpu'"),
    "no GPU is asked for": program("not args.gpu"),
    "no GPU is there": program("device.type == 'cpu'"),
    "by somebody who is not seen": program(before="prepare(net)"),
    "asked for by nobody": program(first="torch.set_default_device(device)"),
})
def test_it_was_moved_or_stays(code):
    holds(code)
