"""201 of models that are in no file, whose family has batch norm, or that are made with a dropout."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from nets.zoo import {name}
from elsewhere import evaluate

def main(loader, test_loader):
    net = {made}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        {first}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        {asks}
        right = 0
        with torch.no_grad():
            for x, y in test_loader:
                right += (net(x).argmax(1) == y).sum().item(){mark}
        print(right)
"""


def program(name, made="", asks="pass", first="pass", mark=""):
    return PROGRAM.format(name=name, made=made or f"{name}(10)", asks=asks, first=first, mark=mark)


MARK = "  # <- 201"


@table({
    "ResNeXt": program("ResNeXt", mark=MARK),
    "resnet18 on a device": program("resnet18", "resnet18(num_classes=10).to('cuda')", mark=MARK),
    "a wide one": program("WideResNet", mark=MARK),
    "a dense one": program("DenseNet121", mark=MARK),
    "mobile": program("MobileNetV2", mark=MARK),
    "in a wrapper": program("ResNet50", "nn.DataParallel(ResNet50(10)).cuda()", mark=MARK),
    "preactivated": program("PreActResNet18", mark=MARK),
})
def test_of_a_family_with_batch_norm(code):
    holds(code)


@table({
    "any net with skips": program("ResNet"),
    "any other class": program("Net"),
    "group norm, by its name": program("resnet50_gn"),
    "a part": program("ResNet18Encoder"),
    "with weights, in evaluation mode": program("EfficientNet", "EfficientNet.from_pretrained('b0')"),
    "put in evaluation mode": program("ResNet18", asks="net.eval()", first="net.train()"),
    "a mode of its own": program("ResNet18", asks="net.set_mode('test')"),
    "handed to what may put it in a mode": program("ResNet18", asks="evaluate(net, test_loader)"),
    "handed to what may, by a keyword": program("ResNet18", asks="evaluate(model=net, data=test_loader)"),
})
def test_not_known(code):
    holds(code)


ASKED = "right += (net(x).argmax(1) == y)"


@table({
    "with a share that it drops": program("Tagger", "Tagger(100, dropout=0.5).to('cuda')", mark=MARK),
    "by another name": program("build_tagger", "build_tagger(100, dropout_rate=0.1)", mark=MARK),
    "that drops nothing": program("Tagger", "Tagger(100, dropout=0.0)"),
    "a share that is not known": program("Tagger", "Tagger(100, dropout=share)"),
    "something else": program("Tagger", "Tagger(100, drop_last=0.5)"),
    "put in evaluation mode, by whoever calls it": program("Tagger", "Tagger(100, dropout=0.5)", asks="net.set_mode('eval')"),
    "told in the call what it is asked for": program("Tagger", "Tagger(100, dropout=0.5)").replace(ASKED, "right += (net(x, is_training=False).argmax(1) == y)"),
    "told so by its place": program("ResNet18", "ResNet18(10)").replace(ASKED, "right += (net(x, False).argmax(1) == y)"),
})
def test_with_a_dropout(code):
    holds(code)
