"""141: a pretrained part that its model calls under `no_grad` runs in training mode."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from torchvision import models


class Encoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        resnet = {made}
        self.{name} = nn.Sequential(*list(resnet.children())[:-1])
        self.linear = nn.Linear(resnet.fc.in_features, size)
        self.bn = nn.BatchNorm1d(size)

    def forward(self, images):
        {context}:
            features = self.{name}(images)
        return self.bn(self.linear(features.flatten(1)))
{more}

def train(loader, size, fine_tune):
    encoder = Encoder(size)
    decoder = nn.Linear(size, 10)
    optimizer = torch.optim.Adam([*decoder.parameters(), *encoder.linear.parameters(), *encoder.bn.parameters()])
    for epoch in range(10):
        {mode}
        for images, labels in loader:
            features = encoder(images){mark}
            loss = F.cross_entropy(decoder(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def program(made="models.resnet152(weights='DEFAULT')", context="with torch.no_grad()", more="", mode="pass", name="resnet", told=False):
    return PROGRAM.format(made=made, context=context, more=more, mode=mode, name=name, mark="  # <- 141" if told else "")


OWN_TRAIN = """
    def train(self, mode=True):
        super().train(mode)
        self.resnet.eval()
        return self
"""
MOVED_ALONG = """
    @torch.no_grad()
    def momentum_update(self, other):
        for mine, theirs in zip(self.resnet.parameters(), other.parameters()):
            mine.mul_(0.99).add_(theirs, alpha=0.01)

    def follow(self, other):
        self.momentum_update(other)
"""


@table({
    "training mode from the start": program(told=True),
    "train() in each epoch": program(mode="encoder.train()", told=True),
    "as torchvision was asked before": program("models.resnet50(pretrained=True)  # <- 942", told=True),
    "without weights": program("models.resnet50()"),
    "no weights asked for": program("models.resnet50(weights=None)"),
    "with gradients": program(context="with torch.enable_grad()"),
    "where it is not fine-tuned": program(context="with torch.set_grad_enabled(self.training)"),
    "no batch norm in it": program("models.vgg16(weights='DEFAULT')").replace("resnet.fc.in_features", "512"),
    "the part is put in evaluation mode": program(mode="encoder.train()\n        encoder.resnet.eval()"),
    "the whole is": program(mode="encoder.eval()"),
    "its class sees to it": program(mode="encoder.train()", more=OWN_TRAIN),
    "it follows another one": program(more=MOVED_ALONG),
    "it is called a teacher": program(name="teacher"),
    "it is called with gradients, too": program(more="\n    def learn(self, x):\n        return self.resnet(x)\n").replace(
        "encoder(images)", "encoder(images) + encoder.learn(images).sum()"),
    "it is let go later": program(mode="encoder.resnet.requires_grad_(epoch > 3)"),
})
def test_called_without_gradients(code):
    holds(code)


def test_an_evaluation_without_gradients():
    again = "encoder(images)\n            with torch.no_grad():\n                encoder(images)"
    holds(program(context="if True").replace("encoder(images)", again))


IN_FRONT = """
from torchvision import models


def train(loader, helper):
    body = models.resnet18(weights="DEFAULT")
    head = nn.Linear(1000, 3)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for epoch in range(3):
        {mode}
        for x, y in loader:
            with torch.no_grad():
                features = body(x){mark}
            {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
LOSS = "loss = F.cross_entropy(head(features), y)"
TOLD = "  # <- 141"


@table({
    "in front of what learns": IN_FRONT.format(mode="pass", mark=TOLD, loss=LOSS),
    "in training mode by name": IN_FRONT.format(mode="body.train()", mark=TOLD, loss=LOSS),
    "in evaluation mode": IN_FRONT.format(mode="body.eval()", mark="", loss=LOSS),
    "as a target": IN_FRONT.format(mode="pass", mark="", loss="loss = (head(x) - features.mean(1, True)).pow(2).mean()"),
    "trained as well": IN_FRONT.format(mode="pass", mark="", loss="loss = F.cross_entropy(head(body(x)), y) + head(features).sum()"),
    "put in evaluation mode by somebody who is not seen": IN_FRONT.format(mode="helper.set_eval(body)", mark="", loss=LOSS),
    "frozen by somebody who is not seen": IN_FRONT.format(mode="helper.freeze(body)", mark="", loss=LOSS),
})
def test_in_front_of_what_learns(code):
    holds(code)
