"""117: losses without a graph that are marked as if they had one, and new leaves made of numbers."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
from torch.autograd import Variable

def train(model, optimizer, loader):
    criterion = nn.MSELoss()
    for x, y in loader:
        optimizer.zero_grad()
        {output}
        {loss}
        {mark}
        loss.backward(){told}
        optimizer.step()
"""


def cut(output, loss="loss = criterion(out, y)", mark="loss.requires_grad = True", told="  # <- 117"):
    return TRAIN.format(output=output, loss=loss, mark=mark, told=told)


ITEM = "loss = criterion(model(x), y).item()"


@table({
    "class numbers": cut("out = model(x).argmax(1).float()"),
    "class numbers, asked to require": cut("out = model(x).argmax(1).float()", mark="loss.requires_grad_()"),
    "places": cut("_, out = torch.max(model(x), 1)", "loss = criterion(out.float(), y)"),
    "places, the target first": cut("_, out = torch.max(model(x), 1)", "loss = criterion(y, out.float())"),
    "a variable": cut("_, out = torch.max(model(x), 1)", "loss = criterion(y, out.float())", "loss = Variable(loss, requires_grad=True)"),
    "whole numbers": cut("out = model(x).long()", "loss = criterion(out.float(), y)"),
    "a list of a loss": cut("out = model(x)", "loss = torch.FloatTensor([criterion(out, y)])"),
    "a list of numbers": cut("losses = [criterion(model(x), y).item()]", "loss = torch.tensor(losses, requires_grad=True).mean()", "pass"),
    "a sum of numbers": cut("total = 0", "total += criterion(model(x), y).item()", "loss = torch.tensor(total, requires_grad=True)"),
    "the loss": cut("out = model(x)", told=""),
    "the mean of losses": cut("losses = [criterion(model(x), y)]", "loss = torch.stack(losses).mean()", "pass", ""),
    "the target first": cut("out = model(x)", "loss = criterion(y, out)", "pass", ""),
    "a second part": cut("out = model(x)", "loss = criterion(out.argmax(1).float(), y) + criterion(out, y)", "pass", ""),
    "a target that the model makes": cut("out = model(x)", "loss = criterion(out, model(x).detach())", "pass", ""),
})
def test_losses(code):
    holds(code)


@table({
    "what is compared": """
def train(loader):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss((model(x) > 0.5).float(), y)
        loss.requires_grad = True
        loss.backward()  # <- 117
        optimizer.step()
""",
    "a mask of what is compared": """
def train(loader):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.mse_loss(out * (out > 0.5).float(), y)
        loss.backward()
        optimizer.step()
""",
})
def test_comparisons(code):
    holds(code)
