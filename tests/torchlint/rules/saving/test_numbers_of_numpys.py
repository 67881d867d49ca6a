"""901 of numbers that are NumPy's because they were computed of such: sums, means of meters, comparisons of arrays."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
import numpy as np

class Meter:
    def __init__(self):
        self.total = 0
        self.count = 0
        self.mean = 0

    def add(self, value, n=1):
        self.total += value * n
        self.count += n
        self.mean = self.total / self.count

def run(net: nn.Module, batches, resume):
    if resume:
        checkpoint = torch.load("last.pt")MARK
        net.load_state_dict(checkpoint["model"])
        reached = checkpoint["reached"]
    for epoch in range(10):
        losses, hits, each, total = Meter(), Meter(), [], 0.0
        for x, y in batches:
            scores = net(x)
            loss = F.cross_entropy(scores, y)
            guess = scores.argmax(1).cpu().numpy()
            losses.add(loss.item(), x.size(0))
            hits.add(np.mean(guess == y.numpy()), x.size(0))
            each.append(np.mean(guess == y.numpy()))
            total += SUMMED
        torch.save({"model": net.state_dict(), "reached": GIVEN}, "last.pt")
"""

OF_NUMPY = ["hits.mean", "100 * hits.mean", "sum(each) / len(each)", "[hits.mean]", "np.mean(each) > 0.5"]
PLAIN = [
    "losses.mean", "float(hits.mean)", "'%.3f' % hits.mean", "str(hits.mean)", "hits.mean.item()", "losses.mean > 0.5",
]
SUMMED = ["loss.detach().cpu().numpy()", "(guess == y.numpy()).sum()", "((guess - y.numpy()) ** 2).mean()"]
SUMMED_PLAIN = ["loss.item()", "loss.detach()", "(guess == y.numpy()).sum().item()", "float(np.mean(each))", "(scores.argmax(1) == y).sum()"]


@pytest.mark.parametrize(("given", "mark"), [*((one, "  # <- 901") for one in OF_NUMPY), *((one, "") for one in PLAIN)])
def test_what_is_computed_of_them(given, mark):
    holds(PROGRAM.replace("GIVEN", given).replace("SUMMED", "loss.item()").replace("MARK", mark))


@pytest.mark.parametrize(("summed", "mark"), [*((one, "  # <- 901") for one in SUMMED), *((one, "") for one in SUMMED_PLAIN)])
def test_sums(summed, mark):
    holds(PROGRAM.replace("GIVEN", "total / len(batches)").replace("SUMMED", summed).replace("MARK", mark))


def test_meters_are_told_apart():
    """A call with a plain number is not taken for one like that with a number of NumPy's, whichever comes first."""
    turned = PROGRAM.replace("losses.add(", "first.add(").replace("hits.add(", "losses.add(").replace("first.add(", "hits.add(")
    holds(turned.replace("GIVEN", "losses.mean").replace("SUMMED", "0").replace("MARK", "  # <- 901"))
    holds(turned.replace("GIVEN", "hits.mean").replace("SUMMED", "0").replace("MARK", ""))
