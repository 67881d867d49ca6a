"""508: the sizes of the images that torchvision's data sets give, behind their transforms."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import torchvision
from torchvision import datasets, transforms
from torch.utils.data import DataLoader, random_split

SIDE = 64

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d({colours}, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear({features}, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x))){channels}
        return self.fc(torch.flatten(x, 1)){mark}

images = datasets.{data}
loader = DataLoader({given}, batch_size=32, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    {before}
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
"""
PLAIN = "transforms.ToTensor()"


def program(data, colours, features, mark="", given="images", before="pass", channels=""):
    return PROGRAM.format(data=data, colours=colours, features=features, mark=mark, given=given, before=before, channels=channels)


def composed(*steps, data="CIFAR10('data', transform="):
    return f"{data}transforms.Compose([{', '.join(steps)}]))"


@table({
    "as they are": program(f"CIFAR10('data', transform={PLAIN})", 3, 1024, "  # <- 508"),
    "one colour": program(f"MNIST('data', True, {PLAIN})", 3, 1568, channels="  # <- 508"),
    "resized": program(composed("transforms.Resize((64, 64))", PLAIN), 3, 2048, "  # <- 508"),
    "resized by one side": program(composed("transforms.Resize(64)", PLAIN, "transforms.Normalize((0.5,), (0.5,))"), 3, 2048, "  # <- 508"),
    "cropped": program(composed("transforms.RandomCrop(28, padding=4)", "transforms.RandomHorizontalFlip()", PLAIN), 3, 2048, "  # <- 508"),
    "padded": program(composed("transforms.Pad(2)", PLAIN, data="FashionMNIST('data', transform="), 1, 1568, "  # <- 508"),
    "grey": program(composed("transforms.Grayscale()", PLAIN), 3, 2048, channels="  # <- 508"),
    "of a folder": program(composed("transforms.RandomResizedCrop(224)", PLAIN, data="ImageFolder('data', "), 3, 1024, "  # <- 508"),
    "a part of them": program(f"CIFAR10('data', transform={PLAIN})", 3, 1024, "  # <- 508", given="random_split(images, [4, 6])[0]"),
    "said to be floats": program(f"CIFAR10('data', transform={PLAIN})", 3, 1024, "  # <- 508", before="x = x.float()"),
})
def test_found(code):
    holds(code)


@table({
    "as they are": program(f"CIFAR10('data', transform={PLAIN})", 3, 2048),
    "resized": program(composed("transforms.Resize([16, 16])", PLAIN), 3, 512),
    "resized to a size that is not read": program(composed("transforms.Resize(SIDE)", PLAIN), 3, 1024),
    "of folders, by the shorter side": program(composed("transforms.Resize(224)", PLAIN, data="ImageFolder('data', "), 3, 1024),
    "made to three colours": program(composed(PLAIN, "transforms.Lambda(lambda x: x.repeat(3, 1, 1))", data="MNIST('data', transform="), 3, 1568),
    "made grey in three colours": program(composed("transforms.Grayscale(3)", PLAIN, data="MNIST('data', transform="), 3, 1568),
    "a transform of the project": program(composed("Square()", PLAIN), 3, 1024),
    "a transform that is chosen": program("CIFAR10('data', transform=chosen)", 3, 1024),
    "resized in place": program(f"MNIST('data', transform={PLAIN})", 3, 1024, before="x.resize_(32, 3, 22, 22)"),
    "put together otherwise": program(f"CIFAR10('data', transform={PLAIN})", 3, 1024, given="images, collate_fn=joined"),
    "a reader of its own": program("ImageFolder('data', transform=transforms.Compose([transforms.CenterCrop(8), transforms.ToTensor()]), loader=grey)", 1, 128),
    "set afterwards": program(f"CIFAR10('data', transform={PLAIN})\nimages.transform = larger", 3, 1024),
})
def test_silent(code):
    holds(code)


@table({
    "labels have one dimension": f"""
from torchvision import datasets, transforms
loader = torch.utils.data.DataLoader(datasets.MNIST("data", transform={PLAIN}), batch_size=8, shuffle=True)
net = nn.Sequential(nn.Flatten(), nn.Linear(784, 1), nn.Sigmoid())
for x, y in loader:
    loss = F.binary_cross_entropy(net(x), y.float())  # <- 308
""",
})
def test_labels(code):
    holds(code)
