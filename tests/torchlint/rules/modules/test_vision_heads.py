"""508: heads that programs give to torchvision's classifiers, which get as many features as the model makes."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import torchvision
from torchvision import models

def main(loader, count):
    net = {made}
    {put}
    net = net.to("cuda")
    for x, y in loader:
        F.cross_entropy(net(x), y).backward()
"""


def head(made, *put):
    return HEAD.format(made=made, put="\n    ".join(put))


@table({
    "a linear layer": head("models.resnet18()", "net.fc = nn.Linear(2048, count)  # <- 508"),
    "layers in a row": head("torchvision.models.alexnet()", "net.classifier = nn.Sequential(nn.Dropout(), nn.Linear(512 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, 10))  # <- 508"),
    "of weights by name": head("models.densenet161(weights='DEFAULT')", "net.classifier = nn.Linear(1024, count)  # <- 508"),
    "one layer of the head": head("models.vgg16_bn()", "net.classifier[6] = nn.Linear(2048, count)  # <- 508"),
    "the last layer of the head": head("models.mobilenet_v2()", "net.classifier[-1] = nn.Linear(1000, count)  # <- 508"),
    "a linear layer on maps": head("models.squeezenet1_1()", "net.classifier = nn.Linear(512, count)  # <- 508"),
    "a row of layers on maps": head("models.squeezenet1_0()", "net.classifier = nn.Sequential(nn.Dropout(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, count))  # <- 508"),
    "a linear layer among those of maps": head("models.squeezenet1_0(weights='DEFAULT')", "net.classifier[-3] = nn.Linear(512, count)  # <- 508"),
    "a convolution on maps": head("models.squeezenet1_0()", "net.classifier[1] = nn.Conv2d(512, count, 1)"),
    "maps that are pooled first": head("models.squeezenet1_1()", "net.classifier = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, count))"),
    "maps of other features": head("models.squeezenet1_1()", "net.features = nn.Flatten()", "net.classifier = nn.Linear(512, count)"),
    "a norm": head("models.resnet50()", "net.fc = nn.Sequential(nn.BatchNorm1d(512), nn.Linear(512, count))  # <- 508, 508"),
    "a first layer of another kind": head("models.resnet34()", "net.conv1 = nn.Conv2d(1, 64, 7, 2, 3)", "net.fc = nn.Linear(2048, count)  # <- 508"),
    "of a vision transformer": head("models.vit_b_16()", "net.heads = nn.Linear(1024, count)  # <- 508"),
    "of one class": head("models.resnet18()", "net.fc = nn.Linear(512, count)"),
    "asked for": head("models.resnet18()", "net.fc = nn.Linear(net.fc.in_features, count)"),
    "all layers fit": head("models.alexnet()", "net.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 6 * 6, 512), nn.ReLU(), nn.Linear(512, 10))"),
    "each layer of the head": head("models.vgg16()", "net.classifier[6] = nn.Linear(4096, count)", "net.classifier[0] = nn.Linear(25088, 4096)"),
    "another pooling": head("models.vgg16()", "net.avgpool = nn.AdaptiveAvgPool2d(1)", "net.classifier = nn.Linear(512, count)"),
    "other features": head("models.resnet18()", "net.layer4 = nn.Sequential()", "net.fc = nn.Linear(256, count)"),
    "wider ones": head("models.mobilenet_v2(width_mult=1.4)", "net.classifier = nn.Linear(1792, count)"),
    "a head of its own before": head("models.vgg16()", "net.classifier = nn.Sequential(nn.Linear(25088, 64), nn.ReLU(), nn.Linear(64, 9))", "net.classifier[0] = nn.Linear(25088, 64)"),
    "which model is not known": head("models.resnet18() if count > 9 else models.resnet50()", "net.fc = nn.Linear(2048, count)"),
    "each with its own": """
from torchvision import models

def make(name, count):
    if name == "small":
        net = models.resnet18()
    else:
        net = models.resnet50()
    width = 512 if name == "small" else 2048
    net.fc = nn.Linear(width, count)
    return net

def main(loader, name):
    net = make(name, 4)
    for x, y in loader:
        F.cross_entropy(net(x), y).backward()
""",
    "in a module of the project": """
from torchvision import models

class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.body = models.resnet50()
        self.body.fc = nn.Linear(512, count)  # <- 508

    def forward(self, x):
        return self.body(x)

def main(loader):
    net = Net(4)
    for x, y in loader:
        F.cross_entropy(net(x), y).backward()
""",
})
def test_heads(code):
    holds(code)
