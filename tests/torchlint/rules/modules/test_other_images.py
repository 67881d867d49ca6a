"""508: images of one channel for a classifier of torchvision, whose first layer takes three."""

import pytest

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
import torchvision
from torchvision import transforms
net = torchvision.models.%s
data = torchvision.datasets.%s(root="d", train=True, transform=%s)
opt = torch.optim.Adam(net.parameters())
net.train()
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()%s
        opt.step()
"""


@table({
    "digits": TRAIN % ("resnet18(num_classes=10)", "MNIST", "transforms.ToTensor()", "  # <- 508"),
    "made larger": TRAIN % ("vgg11(num_classes=10)", "FashionMNIST", "transforms.Compose([transforms.Resize(224), transforms.ToTensor()])", "  # <- 508"),
    "with a head of its own": (TRAIN % ("resnet18()", "MNIST", "transforms.ToTensor()", "  # <- 508")).replace("data =", "net.fc = nn.Linear(512, 10)\ndata =", 1),
    "made grey in three channels": TRAIN % (
        "resnet18(num_classes=10)", "MNIST", "transforms.Compose([transforms.Grayscale(num_output_channels=3), transforms.ToTensor()])", ""),
    "repeated": (TRAIN % ("resnet18(num_classes=10)", "MNIST", "transforms.ToTensor()", "")).replace("net(x)", "net(x.repeat(1, 3, 1, 1))"),
    "colours": TRAIN % ("resnet18(num_classes=10)", "CIFAR10", "transforms.ToTensor()", ""),
    "another first layer": (TRAIN % ("resnet18(num_classes=10)", "MNIST", "transforms.ToTensor()", "")).replace(
        "data =", "net.conv1 = nn.Conv2d(1, 64, 7, 2, 3, bias=False)\ndata =", 1),
    "another first layer, further in": (TRAIN % ("vgg11(num_classes=10)", "MNIST", "transforms.ToTensor()", "")).replace(
        "data =", "net.features[0] = nn.Conv2d(1, 64, 3, padding=1)\ndata =", 1),
})
def test_other_images(code):
    holds(code)


def test_torchvision_says_the_same():
    torch = pytest.importorskip("torch")
    torchvision = pytest.importorskip("torchvision")
    with pytest.raises(RuntimeError, match="3 channels"):
        torchvision.models.resnet18()(torch.zeros(2, 1, 28, 28))
