"""307 of the class numbers that torchvision's data sets come with."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from torch.utils.data import DataLoader, Subset, random_split
from torchvision import datasets
from torchvision.datasets import CIFAR10, CIFAR100, EMNIST, MNIST

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.out = nn.Linear(784, classes)

    def forward(self, x):
        return self.out(x.flatten(1))

def train(device, transform, rows):
    data = {data}
    {more}
    loader = DataLoader({loaded})
    net = Net({classes})
    optimizer, criterion = torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss()
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        {before}
        optimizer.zero_grad()
        loss = criterion(net(images), {labels}){mark}
        loss.backward()
        optimizer.step()
"""
MARK = "  # <- 307"


def program(data, classes, mark="", more="pass", loaded="data, batch_size=8, shuffle=True", before="pass", labels="labels"):
    return PROGRAM.format(data=data, classes=classes, mark=mark, more=more, loaded=loaded, before=before, labels=labels)


@table({
    "five of ten": program("CIFAR10('data', transform=transform)", 5, MARK),
    "as many as there are": program("CIFAR10('data', transform=transform)", 10),
    "ten of a hundred": program("datasets.CIFAR100('data', True, transform)", 10, MARK),
    "letters are counted from one": program("EMNIST('data', 'letters', transform=transform)", 26, MARK),
    "letters, and none": program("EMNIST('data', split='letters', transform=transform)", 27),
    "a split that is not known": program("EMNIST('data', rows, transform=transform)", 10),
    "as numbers of another kind": program("MNIST('data', transform=transform)", 2, MARK, labels="labels.long()"),
    "a part by chance": program("MNIST('data', transform=transform)", 2, MARK, more="data, rest = random_split(data, [50000, 10000])"),
    "chosen rows": program("MNIST('data', transform=transform)", 2, more="data = Subset(data, rows)"),
    "a sampler": program("MNIST('data', transform=transform)", 2, loaded="data, batch_size=8, sampler=rows"),
    "a collate function": program("MNIST('data', transform=transform)", 2, loaded="data, batch_size=8, shuffle=True, collate_fn=rows"),
    "other labels": program("MNIST('data', transform=transform, target_transform=lambda label: label % 2)", 2),
    "other labels, by place": program("MNIST('data', True, transform, rows)", 2),
    "set labels": program("MNIST('data', transform=transform)", 2, more="data.targets = data.targets % 2"),
    "set labels of some": program("MNIST('data', transform=transform)", 2, more="data.targets[data.targets > 1] = 1"),
    "given to something": program("MNIST('data', transform=transform)", 2, more="rows.only(data, [0, 1])"),
    "computed labels": program("MNIST('data', transform=transform)", 2, before="labels = labels % 2"),
    "changed labels": program("MNIST('data', transform=transform)", 2, before="labels[labels > 1] = 1"),
    "even or odd": program("MNIST('data', transform=transform)", 2, labels="labels.eq(3).long()"),
    "left out": program("MNIST('data', transform=transform)", 9).replace("CrossEntropyLoss()", "CrossEntropyLoss(ignore_index=9)"),
    "one of two": program("MNIST('data', transform=transform) if rows else CIFAR100('data', transform=transform)", 10),
})
def test_labels(code):
    holds(code)
