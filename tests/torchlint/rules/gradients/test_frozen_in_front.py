"""141 of a frozen model that is called by itself, in front of what learns; of a body made of another model's children; and of what is
let go in `__init__` and frozen later."""

from tests.torchlint.dryrun.support import holds, table

IN_FRONT = """
import copy
from torchvision import models

def train(loader, fine):
    head = nn.Linear(1000, 3)
    body = models.resnet18(weights="DEFAULT")
    {freeze}
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for epoch in range(3):
        {mode}
        for x, y in loader:
            {forward}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
FREEZE = """for p in body.parameters():
        p.requires_grad = False"""


def in_front(forward="loss = F.cross_entropy(head(body(x)), y)  # <- 141", freeze=FREEZE, mode="body.train()"):
    return IN_FRONT.format(freeze=freeze, mode=mode, forward=forward)


@table({
    "in front of a head": in_front(),
    "by one call": in_front(freeze="body.requires_grad_(False)"),
    "behind a name": in_front("features = body(x)  # <- 141\n            loss = F.cross_entropy(head(features), y)"),
    "evaluated between": in_front(mode="body.eval()\n        print(epoch)\n        body.train()"),
    "a VGG with batch norm": in_front().replace("resnet18", "vgg11_bn"),
    "a VGG without": in_front("loss = F.cross_entropy(head(body(x)), y)").replace("resnet18", "vgg11"),
    "in evaluation mode": in_front("loss = F.cross_entropy(head(body(x)), y)", mode="body.eval()"),
    "not frozen": in_front("loss = F.cross_entropy(head(body(x)), y)", freeze=""),
    "let go by turns": in_front("""for p in body.parameters():
                p.requires_grad = fine
            loss = F.cross_entropy(head(body(x)), y)"""),
    "without batch norm": in_front("loss = F.cross_entropy(head(body(x)), y)").replace("resnet18", "vgg16"),
    "behind what learns, as a measure": in_front("loss = body(head(x)).mean()"),
    "a copy that follows": in_front("loss = F.cross_entropy(head(target_body(x)), y)",
                                    freeze="target_body = copy.deepcopy(body)\n    target_body.requires_grad_(False)"),
    "before a head that is frozen, too": in_front("loss = F.cross_entropy(head(body(x)), y)", freeze=FREEZE + "\n    head.requires_grad_(False)")
        .replace("torch.optim.SGD(head", "torch.optim.SGD([w, *nn.Linear(2, 2)").replace(".parameters(), lr=0.1)", ".parameters()], lr=0.1)"),
})
def test_a_frozen_model_in_front_of_what_learns(code):
    holds(code)


ENCODER = """
from torchvision import models

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        resnet = models.resnet50(weights="DEFAULT")
        self.body = nn.Sequential(*list(resnet.children())[:-1])
        self.fine_tune({first})

    def forward(self, x):
        return self.body(x).flatten(1)

    def fine_tune(self, learns=True):
        for p in self.body.parameters():
            p.requires_grad = False
        for child in list(self.body.children())[5:]:
            for p in child.parameters():
                p.requires_grad = learns

def train(loader):
    encoder, head = Encoder(), nn.Linear(2048, 3)
    {then}
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for epoch in range(3):
        encoder.train()
        for x, y in loader:
            loss = F.cross_entropy(head(encoder(x)), y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@table({
    "frozen in the end": ENCODER.format(first="", then="encoder.fine_tune(False)", mark="  # <- 141"),
    "frozen from the beginning": ENCODER.format(first="False", then="", mark="  # <- 141"),
    "let go in the end": ENCODER.format(first="False", then="encoder.fine_tune(True)", mark=""),
    "let go": ENCODER.format(first="", then="", mark=""),
    "let go in some epochs": ENCODER.format(first="", then="encoder.fine_tune(False)", mark="").replace(
        "encoder.train()", "encoder.fine_tune(epoch < 2)\n        encoder.train()"),
    "frozen if asked for": ENCODER.format(first="", then="if loader.short:\n        encoder.fine_tune(False)", mark=""),
    "by turns": ENCODER.format(first="", then="", mark="").replace(
        "optimizer.zero_grad()", "encoder.fine_tune(False)\n            optimizer.zero_grad()").replace("optimizer.step()", "optimizer.step()\n            encoder.fine_tune()"),
})
def test_a_body_of_children_that_a_method_freezes(code):
    holds(code)


OF_TORCHVISION = """
from torchvision import models

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        body = models.{model}(weights="DEFAULT")
        for p in body.{part}.parameters():
            p.requires_grad = False
        self.body = body.{part}
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))

def train(loader):
    net = Net()
    {behind}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward(){mark}
            optimizer.step()
"""
MARK = "  # <- 141"


def of_torchvision(model, part, mark=MARK, behind="pass"):
    return OF_TORCHVISION.format(model=model, part=part, mark=mark, behind=behind)


@table({
    "a block of a ResNet": of_torchvision("resnet18", "layer1"),
    "the features of a VGG with batch norm": of_torchvision("vgg11_bn", "features"),
    "those of one without": of_torchvision("vgg11", "features", ""),
    "a convolution": of_torchvision("resnet18", "conv1", ""),
    "the head": of_torchvision("vgg11_bn", "classifier", ""),
    "let go again": of_torchvision("resnet18", "layer1", "", "for p in net.parameters(): p.requires_grad = True"),
    "another function keeps it": of_torchvision("resnet18", "layer1", "", "freeze_bn(net)"),
})
def test_a_part_of_torchvisions(code):
    holds(code)


ONE_OF_SEVERAL = """
from torchvision import models

def build(name):
    if name == "deep":
        model = models.resnet34(weights="DEFAULT")
    else:
        model = models.{other}(weights="DEFAULT")
    for p in model.parameters():
        p.requires_grad = False
    {head}
    return model

def train(loader, name):
    model = build({name})
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for epoch in range(3):
        model.train()
        {kept}
        for x, y in loader:
            loss = F.cross_entropy(model(x), y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                print(F.cross_entropy(model(x), y).item())
"""


def one_of_several(mark="  # <- 141", name="name", other="resnet18", head="model.fc = nn.Linear(512, 3)", kept=""):
    return ONE_OF_SEVERAL.format(mark=mark, name=name, other=other, head=head, kept=kept)


@table({
    "with one head for all": one_of_several(),
    "another family": one_of_several(other="googlenet"),
    "one has no batch norm, and may be the one that is made": one_of_several("", other="alexnet"),
    "the other one is asked for": one_of_several(name="'deep'", other="alexnet"),
    "the one without is asked for": one_of_several("", name="'small'", other="alexnet"),
    "a part is kept as it is": one_of_several("", kept="model.bn1.eval()"),
    "all is kept as it is": one_of_several("", kept="model.eval()"),
    "something unseen keeps batch norm": one_of_several("", kept="freeze_bn(model)"),
})
def test_a_frozen_model_that_is_one_of_several(code):
    holds(code)
