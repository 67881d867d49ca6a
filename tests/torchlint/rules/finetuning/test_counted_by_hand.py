"""007: a sum over targets, divided by how many of them count, is the mean by hand."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

PROGRAM = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(32, 16), nn.Linear(16, 32)

    def forward(self, ids, labels):
        scores = self.head(self.words(ids)).view(-1, 32)
        criterion = nn.CrossEntropyLoss(ignore_index=0, reduction="sum")
        {loss}


def train(loader, k=4):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    for i, (ids, labels) in enumerate(loader):
        loss = model(ids, labels) / k
        loss.backward()
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(("loss", "told"), [
    ("n = labels.ne(0).long().sum().item(); return criterion(scores, labels.view(-1)) / n", True),
    ("loss = criterion(scores, labels.view(-1)); n = (labels != 0).sum(); loss = loss / n; return loss", True),
    ("return criterion(scores, labels.view(-1)) / (labels != 0).sum()", True),
    ("return criterion(scores, labels.view(-1)) / labels.size(0)", False),
    ("return criterion(scores, labels.view(-1)) / 512", False),
    ("n = labels.numel(); return criterion(scores, labels.view(-1)) / n", False),
    ("right = (scores.argmax(1) == labels.view(-1)).sum(); return criterion(scores, labels.view(-1)) / 100", False),
    ("n = (labels != 0).sum(); print(n); return criterion(scores, labels.view(-1))", False),
])
def test_a_sum_that_is_divided_by_the_count_of_its_own_targets(loss, told):
    source = IMPORTS + PROGRAM.replace("{loss}", "\n        ".join(loss.split("; ")))
    assert (7 in {number for _, number in found(source)}) is told, found(source)
