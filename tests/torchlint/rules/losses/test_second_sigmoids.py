"""303 of losses that the project has written itself, and that apply sigmoid to what a model has applied it to already."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1){end})

    def forward(self, x):
        return self.layers(x)

"""
TRAIN = """
def train(loader, masks_of):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    criterion = {loss}
    for x, y in loader:
        optimizer.zero_grad()
        out = {out}
        loss = criterion(out, y){mark}
        loss.backward()
        optimizer.step()
"""
DICE = """
class DiceLoss(nn.Module):
    def __init__(self, logits=True):
        super().__init__()
        self.logits, self.act = logits, nn.Sigmoid()

    def forward(self, inputs, targets):
        {made}
        inputs, targets = inputs.view(-1), targets.view(-1)
        return 1 - (2 * (inputs * targets).sum() + 1) / (inputs.sum() + targets.sum() + 1)
"""
FUNCTION = """
def {name}(inputs, targets):
    inputs = torch.sigmoid(inputs)
    return 1 - (2 * (inputs * targets).sum() + 1) / (inputs.sum() + targets.sum() + 1)
"""


def program(loss, name="DiceLoss()", end=", nn.Sigmoid()", out="net(x)", mark=""):
    return MODEL.format(end=end) + loss + TRAIN.format(loss=name, out=out, mark=mark)


@table({
    "a function of functional's": program(DICE.format(made="inputs = F.sigmoid(inputs)"), mark="  # <- 303"),
    "a method": program(DICE.format(made="inputs = inputs.sigmoid()"), mark="  # <- 303"),
    "a layer": program(DICE.format(made="inputs = self.act(inputs)"), mark="  # <- 303"),
    "a function": program(FUNCTION.format(name="dice_loss"), "dice_loss", mark="  # <- 303"),
    "reshaped in between": program(DICE.format(made="inputs = torch.sigmoid(inputs.flatten(1))"), mark="  # <- 303"),
    "added to another": program(DICE.format(made="inputs = torch.sigmoid(inputs)") + """
class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.dice_loss = DiceLoss()

    def forward(self, inputs, targets):
        return F.binary_cross_entropy(inputs, targets) + self.dice_loss(inputs, targets)  # <- 303
""", "Both()"),
    "raw scores": program(DICE.format(made="inputs = torch.sigmoid(inputs)"), end=""),
    "a loss that takes probabilities": program(DICE.format(made="pass")),
    "only if it is told": program(DICE.format(made="inputs = torch.sigmoid(inputs) if self.logits else inputs"), "DiceLoss(logits=False)"),
    "only under a condition that is not known": program(
        DICE.format(made="if masks_in(inputs):\n            inputs = torch.sigmoid(inputs)"),
    ),
    "scaled in between": program(DICE.format(made="inputs = torch.sigmoid(10 * inputs - 5)")),
    "a gate that is no loss": program(DICE.format(made="pass") + FUNCTION.format(name="gated"), out="gated(net(x), x)"),
    "a score that is only shown": program(
        DICE.format(made="pass") + FUNCTION.format(name="dice_loss"), out="net(x); print(dice_loss(out.detach(), y))",
    ),
    "a score that is only printed": program(
        DICE.format(made="pass") + FUNCTION.format(name="dice_loss"), out="net(x); print(dice_loss(out, y).item())",
    ),
})
def test_a_second_sigmoid_in_a_loss_of_the_project(code):
    holds(code)
