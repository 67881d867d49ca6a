"""518: batches of one sample by an option's default, and batches that are dicts."""

from tests.torchlint.dryrun.support import holds, table

_NET = """
import argparse
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 2)

    def forward(self, x):
        x = x["image"] if isinstance(x, dict) else x
        return self.head(torch.relu(self.norm(self.conv(x))).mean(dim=(2, 3)))

"""


@table({
    "one by default": _NET + """
def main(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", "-b", type=int, default=1)
    parser.add_argument("--eval-size", type=int, default=1)
    args = parser.parse_args()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for images, labels in DataLoader(data, batch_size=args.batch_size, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()  # <- 518
        optimizer.step()
    net.eval()
    with torch.no_grad():
        return [net(images).argmax(1) for images, _ in DataLoader(data, batch_size=args.eval_size)]
""",
    "more by default, or nobody knows": _NET + """
def main(data, config):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for size in (args.batch_size, config.size):
        for images, labels in DataLoader(data, batch_size=size, shuffle=True, num_workers=args.workers):
            optimizer.zero_grad()
            F.cross_entropy(net(images), labels).backward()
            optimizer.step()
""",
    "a dict that is moved item by item": _NET + """
def train(data, device):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in DataLoader(data, shuffle=True):
        batch = {key: value.to(device) for key, value in batch.items()}
        optimizer.zero_grad()
        F.cross_entropy(net(batch), batch["label"]).backward()  # <- 518
        optimizer.step()
""",
    "a dict of several batches": _NET + """
def train(data, more, device):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for one, other in zip(DataLoader(data), DataLoader(more, batch_size=8)):
        batch = {"image": torch.cat([one["image"], other["image"]]), "label": torch.cat([one["label"], other["label"]])}
        optimizer.zero_grad()
        F.cross_entropy(net(batch), batch["label"]).backward()
        optimizer.step()
""",
})
def test_batches_of_one(code):
    holds(code)
