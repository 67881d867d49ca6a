"""319: losses over one class, as far as sizes are known, of rows and of maps, and scores that only pass through a layer of one output."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

PROGRAM = """
class Net(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, out)

    def forward(self, x):
        return self.head(F.relu(self.body(x)))


def train(loader: torch.utils.data.DataLoader, count, criterion=nn.CrossEntropyLoss()):
    model = {model}
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        loss = {loss}
        loss.backward()
        optimizer.step()
"""
TWO = "nn.Sequential(nn.Linear(8, 1), nn.Softmax(dim=1))"


@pytest.mark.parametrize(("model", "loss", "told"), [
    ("Net(1)", "F.cross_entropy(model(x), y)", True),
    ("Net(1)", "nn.CrossEntropyLoss()(model(x), y.long())", True),
    ("nn.Sequential(nn.Linear(8, 1), nn.LogSoftmax(dim=-1))", "F.nll_loss(model(x), y)", True),
    (TWO, "F.mse_loss(model(x), y.float().unsqueeze(1))", True),
    (TWO.replace("dim=1", "dim=0"), "F.mse_loss(model(x), y.float().unsqueeze(1))", False),
    ("Net(2)", "F.cross_entropy(model(x), y)", False),
    ("Net(count)", "F.cross_entropy(model(x), y)", False),
    ("Net(1)", "F.cross_entropy(model(x).view(-1, 4), y)", False),
    ("Net(1)", "F.cross_entropy(model(x).squeeze(-1), y)", False),
    ("Net(1)", "F.cross_entropy(torch.cat([model(x), model(-x)], 1), y)", False),
    ("Net(1)", "F.cross_entropy(model(torch.randn(4, 7, 8)), torch.zeros(4, 1, dtype=torch.long))", False),
    ("Net(1)", "F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)", False),
])
def test_one_class(model, loss, told):
    text = IMPORTS + PROGRAM.format(model=model, loss=loss)
    assert (319 in {number for _, number in found(text)}) is told, found(text)


MAPS = """
class Net(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.body, self.norm, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, out, 1)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.body(x))))


def plain(out):
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, out, 1))


def train(loader: torch.utils.data.DataLoader, image, mask):
    model = {model}
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        loss = {loss}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("model", "loss", "told"), [
    ("plain(1)", "F.cross_entropy(model(x), y)", True),
    ("Net(1)", "nn.CrossEntropyLoss()(model(image), mask)", True),  # batch norm takes batches alone
    ("plain(1)", "F.cross_entropy(model(image), mask)", False),  # it may be (1, H, W): H classes
    ("plain(2)", "F.cross_entropy(model(x), y)", False),
    ("Net(21)", "nn.CrossEntropyLoss()(model(image), mask)", False),
    ("Net(1)", "F.cross_entropy(torch.cat([model(x), -model(x)], 1), y)", False),
    ("Net(1)", "F.cross_entropy(model(x).flatten(1), y)", False),
    ("Net(1)", "F.cross_entropy(model(x).squeeze(1), y)", False),
    ("Net(1)", "F.cross_entropy(model(x).view(x.size(0), -1), y)", False),
    ("Net(1)", "F.cross_entropy(model(x) * torch.ones(4, 2, 1, 1), y)", False),
    ("Net(1)", "F.nll_loss(model(x), y)", False),
    ("Net(1)", "F.binary_cross_entropy_with_logits(model(x), y)", False),
])
def test_one_map_of_scores_for_each_image(model, loss, told):
    text = IMPORTS + MAPS.format(model=model, loss=loss)
    assert (319 in {number for _, number in found(text)}) is told, found(text)
