"""104: which divisions of a file may be that of the loss by the number of batches."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
def train(model, loader, steps, many, sizes):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    other = {other}
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward(){mark}
        if (i + 1) % steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@table({
    "a power": TRAIN.format(other="[2 ** 0, 2 ** (1.0 / 3.0), 2 ** (1 / sizes)]", mark="  # <- 104"),
    "a known number": TRAIN.format(other="sizes * (1. / 255)", mark="  # <- 104"),
    "something else": TRAIN.format(other="sizes * (1.0 / many)", mark=""),
    "the number of batches": TRAIN.format(other="1.0 / steps", mark=""),
})
def test_other_divisions(code):
    holds(code)
