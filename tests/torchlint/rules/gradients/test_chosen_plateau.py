"""139 of a scheduler that an option chooses: a ReduceLROnPlateau among several, and a call that does not tell them apart."""

from tests.torchlint.dryrun.support import holds, table

CHOSEN = """
from torch.optim import lr_scheduler


def made(options, optimizer, other):
    if options.schedule == "step":
        scheduler = lr_scheduler.StepLR(optimizer, 10)
    elif options.schedule == "plateau":
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer)
    else:
        {last}
    return scheduler


def fit(options, loader, other):
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = made(options, optimizer, other)
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
        {step}
"""
NONE, OTHER = "scheduler = None", "scheduler = other(optimizer)"


@table({
    "for all of them": CHOSEN.format(last="raise ValueError(options.schedule)", step="scheduler.step()  # <- 139"),
    "where there is one": CHOSEN.format(last=NONE, step="if scheduler is not None:\n            scheduler.step()  # <- 139"),
    "every other round": CHOSEN.format(last=NONE, step="if scheduler and epoch % 2:\n            scheduler.step()  # <- 139"),
    "from some round on": CHOSEN.format(last="raise ValueError", step="if epoch > 3:\n            scheduler.step()  # <- 139"),
    "with a number": CHOSEN.format(last="raise ValueError", step="scheduler.step(loss.item())"),
    "asked for": CHOSEN.format(last="raise ValueError", step="if options.schedule != 'plateau':\n            scheduler.step()"),
    "asked for by something else": CHOSEN.format(last="raise ValueError", step="if options.by_itself:\n            scheduler.step()"),
    "another call gives it": CHOSEN.format(
        last="raise ValueError",
        step="if options.measured:\n            scheduler.step(loss.item())\n        else:\n            scheduler.step()",
    ),
    "one that is not seen": CHOSEN.format(last=OTHER, step="scheduler.step()"),
    "it may raise": CHOSEN.format(
        last="raise ValueError", step="try:\n            scheduler.step()\n        except TypeError:\n            scheduler.step(loss.item())"
    ),
})
def test_one_of_several(code):
    holds(code)
