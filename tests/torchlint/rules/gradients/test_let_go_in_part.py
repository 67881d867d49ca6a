"""141 of a model that is frozen as a whole, of which some parts are let go again: the others stay frozen."""

from tests.torchlint.dryrun.support import holds, table

PRETRAINED = """
from torchvision import models

def train(loader, deep):
    model = models.{name}(weights="DEFAULT")
    for p in model.parameters():
        p.requires_grad = False
    {let_go}
    model.fc = nn.Linear(2048, 3)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for epoch in range(3):
        model.train()
        {keep}
        for x, y in loader:
            loss = F.cross_entropy(model(x), y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
LAST = "model.layer4.requires_grad_(True)"


def pretrained(let_go, told=True, name="resnet50", keep="print(epoch)"):
    return PRETRAINED.format(let_go=let_go, name=name, keep=keep, mark="  # <- 141" if told else "")


@table({
    "the last layer": pretrained(LAST),
    "in a loop": pretrained("for p in model.layer4.parameters():\n        p.requires_grad = True"),
    "the last two": pretrained(LAST + "\n    model.layer3.requires_grad_(True)"),
    "the last block of one": pretrained("model.layer4[2].requires_grad_(True)"),
    "where it is asked for": pretrained("if deep:\n        " + LAST),
    "all layers but the stem": pretrained("\n    ".join(f"model.layer{n}.requires_grad_(True)" for n in range(1, 5))),
    "each of them": pretrained("\n    ".join(f"model.{part}.requires_grad_(True)" for part in ("bn1", "layer1", "layer2", "layer3", "layer4")), told=False),
    "all of it": pretrained("model.requires_grad_(True)", told=False),
    "some of its children": pretrained("for child in list(model.children())[5:]:\n        child.requires_grad_(True)", told=False),
    "some, by their names": pretrained("for name, p in model.named_parameters():\n        if deep in name:\n            p.requires_grad = True", told=False),
    "where it is put in evaluation mode": pretrained(LAST, told=False, keep="model.bn1.eval()\n        model.layer1.eval()"),
    "of another family, whose parts are not known": pretrained("model.features[10].requires_grad_(True)", told=False, name="mobilenet_v2"),
})
def test_parts_of_a_pretrained_model(code):
    holds(code)


OWN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), {norm})
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))

def train(loader, path):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.requires_grad_(False)
    for part in ({let_go}):
        for p in part.parameters():
            p.requires_grad = True
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for epoch in range(3):
        net.train()
        for x, y in loader:
            loss = F.cross_entropy(net(x), y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@table({
    "the body learns": OWN.format(norm="nn.BatchNorm2d(8)", let_go="net.body, net.head", mark="  # <- 141"),
    "the stem learns, too": OWN.format(norm="nn.BatchNorm2d(8)", let_go="net.stem, net.body", mark=""),
    "the stem has another norm": OWN.format(norm="nn.GroupNorm(2, 8)", let_go="net.body, net.head", mark=""),
})
def test_parts_of_a_model_of_ones_own(code):
    holds(code)
