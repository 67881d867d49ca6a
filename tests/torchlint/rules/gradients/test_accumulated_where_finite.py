"""104 and 105 where a backward is left out of a batch whose loss is no number."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

PROGRAM = """
import math


def is_number(value):
    return not (math.isnan(value) or math.isinf(value))


def is_wanted(value):
    return value > 0.1


def train(loader, k):
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        for i, (x, y) in enumerate(loader):
            loss = F.mse_loss(model(x), y)
            {asked}
                loss.backward()
            if (i + 1) % k == 0:
                optimizer.step()
                optimizer.zero_grad()
"""


@pytest.mark.parametrize(("asked", "told"), [
    ("if torch.isfinite(loss):", True),
    ("if not math.isnan(loss.item()):", True),
    ("if is_number(loss.item()):", True),
    ("if not math.isnan(loss.item()) and not math.isinf(loss.item()):", True),
    ("if torch.isfinite(loss) and i % 3:", False),
    ("if is_wanted(loss.item()):", False),  # some batches count, and others do not
    ("if loss.item() < 10:", False),
    ("if i % 3:", False),
])
def test_a_backward_that_is_left_out_of_what_is_no_number(asked, told):
    text = IMPORTS + PROGRAM.format(asked=asked)
    assert ({104, 105} <= {number for _, number in found(text)}) is told, found(text)
