"""109: a step of the optimizer for which there is no gradient yet is no first step."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
def train(net, loader, helper):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {first}
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    {before}
    for epoch in range(3):
        {head}
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        {end}
"""
SILENCED = "optimizer.step()\n        scheduler.step()"


def program(head="pass", end="pass", before="pass", first="pass"):
    return PROGRAM.format(head=head, end=end, before=before, first=first)


@table({
    "in front of the scheduler": program(SILENCED + "  # <- 109"),
    "with the gradients cleared": program("optimizer.zero_grad()\n        " + SILENCED + "  # <- 109"),
    "the scheduler alone": program("scheduler.step()  # <- 109"),
    "behind the batches": program(end=SILENCED),
    "behind the batches alone": program(end="scheduler.step()"),
    "once, before the epochs": program(before="optimizer.step()\n    scheduler.step()", end="scheduler.step()"),
    "wound forward": program(before="for _ in range(helper.start):\n        " + SILENCED, end="scheduler.step()"),
    "with a gradient": program("F.mse_loss(net(helper.x), helper.y).backward()\n        " + SILENCED),
    "with a gradient that is not seen": program("helper.train_step(net)\n        " + SILENCED),
    "with a gradient by hand": program("for p in net.parameters():\n            p.grad = torch.zeros_like(p)\n        " + SILENCED),
    "where there was an epoch": program("if epoch:\n            optimizer.step()\n            scheduler.step()"),
    "with a gradient from before": program(SILENCED, first="F.mse_loss(net(helper.x), helper.y).backward()"),
    "with a closure": program("optimizer.step(helper.closure)\n        scheduler.step()"),
})
def test_steps_without_gradients(code):
    holds(code)
