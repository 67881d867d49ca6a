"""122: an optimizer that is built behind each batch of certain epochs: its condition is the same for all batches."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
def train(net, loader, epochs, patience):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(epochs):
        {before}
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            if {asked}:
                {given}
                optimizer = torch.optim.SGD(net.parameters(), lr={rate}{more}){mark}
"""


def built(asked, mark="", before="pass", given="pass", rate="0.01", more=", momentum=0.9"):
    return TRAIN.format(asked=asked, mark=mark, before=before, given=given, rate=rate, more=more)


BAD = "  # <- 122"


@table({
    "from an epoch on": built("epoch >= 100", BAD),
    "between two": built("epoch >= 100 and epoch < 150", BAD),
    "its rate by name": built("epoch > 30", BAD, given="rate = 0.01", rate="rate"),
    "in one epoch": built("epoch == 30", BAD),
    "every so many batches": built("i % 1000 == 0"),
    "once": built("epoch == 30 and i == 0"),
    "where the loss is high": built("loss.item() > patience"),
    "a rate of its own for each": built("epoch > 30", rate="0.1 / (i + 1)"),
    "without a memory": built("epoch >= 100", more=""),
    "a new start": built("epoch == 30", given="reset(net)"),
    "before the batches": built("epoch < 0", before="if epoch >= 100: optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)").replace(
        "if epoch < 0:\n                pass\n                optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)", "print(i)"),
})
def test_built(code):
    holds(code)
