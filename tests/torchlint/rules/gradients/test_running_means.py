"""109: what is called running is no step of the optimizer."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import unseen
from unseen import metrics

def train(net, loader, helper):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    {before}
    for x, y in loader:
        scheduler.step(){mark}
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


@table({
    "a score": PROGRAM.format(before="scores = metrics.runningScore(helper.classes)", mark="  # <- 109"),
    "a mean": PROGRAM.format(before="mean = metrics.RunningAverage()", mark="  # <- 109"),
    "a run": PROGRAM.format(before="unseen.run(net, optimizer)", mark=""),
    "a runner": PROGRAM.format(before="unseen.run_epochs(net, optimizer)", mark=""),
    "an epoch of running": PROGRAM.format(before="unseen.running_epoch(net, optimizer)", mark=""),
})
def test_running(code):
    holds(code)
