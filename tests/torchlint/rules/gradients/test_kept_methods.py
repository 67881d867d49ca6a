"""132 where a method of a tensor is kept or shown in place of what it gives."""

from tests.torchlint.dryrun.support import holds, table

KEPT = """
def train(net: nn.Module, loader, optimizer, scores):
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append({kept}){mark}
    return losses
"""


@table({
    "a number": KEPT.format(kept="loss.item", mark="  # <- 132"),
    "a tensor without its graph": KEPT.format(kept="loss.detach", mark="  # <- 132"),
    "called": KEPT.format(kept="loss.item()", mark=""),
    "an attribute of something else": KEPT.format(kept="scores.item", mark=""),
})
def test_kept_methods(code):
    holds(code)


SHOWN = """
def train(net: nn.Module, loader, optimizer, writer, row, scores):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        {shown}{mark}
"""


@table({
    "printed": SHOWN.format(shown='print("loss:", loss.item)', mark="  # <- 132"),
    "in a text": SHOWN.format(shown='print(f"{step}: {loss.item}")', mark="  # <- 132"),
    "in a text with a form": SHOWN.format(shown='scores.title = f"{loss.item:.3f}"', mark="  # <- 132"),
    "formatted": SHOWN.format(shown='print("{}: {}".format(step, loss.item))', mark="  # <- 132"),
    "written for TensorBoard": SHOWN.format(shown='writer.add_scalar("loss", loss.item, step)', mark="  # <- 132"),
    "logged by name": SHOWN.format(shown='writer.log({"loss": loss.item}, step=step)', mark="  # <- 132"),
    "in a bar": SHOWN.format(shown="row.set_postfix(loss=loss.item)", mark="  # <- 132"),
    "printed, called": SHOWN.format(shown='print("loss:", loss.item(), f"{loss.item():.3f}")', mark=""),
    "printed, of something else": SHOWN.format(shown='print(row.item, f"{row.item}")', mark=""),
    "handed to what calls it": SHOWN.format(shown="row.defer(loss.item)", mark=""),
    "kept by name": SHOWN.format(shown='later = {"loss": loss.item}', mark=""),
    "its text": SHOWN.format(shown="print(loss.item.__doc__, f'{loss.item.__name__}')", mark=""),
})
def test_shown_methods(code):
    holds(code)


@table({
    "of a model": "model = nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters, lr=0.1)  # <- 132\n",
    "by its name, of what is annotated": "def f(model: nn.Module):\n    return torch.optim.Adam(params=model.parameters)  # <- 132\n",
    "of a wrapped one": "model = nn.DataParallel(nn.Linear(2, 2))\nopt = torch.optim.AdamW(model.parameters, lr=0.1)  # <- 132\n",
    "called": "model = nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    "of what may be anything": "def f(group):\n    return torch.optim.Adam(group.parameters)\n",
    "a list of that name": """
class Trainer:
    def __init__(self, model: nn.Module):
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.SGD(self.parameters, lr=0.1)
""",
    "in a class whose parameters are a property": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    @property
    def parameters(self):  # <- 521
        return list(self.fc.parameters())

opt = torch.optim.SGD(Net().parameters, lr=0.1)
""",
    "asked whether it raises": """
import pytest

def test_raises():
    model = nn.Linear(2, 2)
    with pytest.raises(TypeError):
        torch.optim.SGD(model.parameters, lr=0.1)
""",
})
def test_given_to_an_optimizer(code):
    holds(code)
