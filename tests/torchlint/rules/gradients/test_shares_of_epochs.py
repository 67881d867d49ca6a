"""111: marks that are parts of the number of epochs, counted for each batch."""

import pytest

from tests.torchlint.dryrun.support import holds, table

LOOP = """
def train(model, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{made}
    for epoch in range(args.first, {epochs}):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
{step}
"""
MULTI, STEP = "torch.optim.lr_scheduler.MultiStepLR", "torch.optim.lr_scheduler.StepLR"


def program(made, epochs="args.epochs", mark="  # <- 111", indent=12):
    lines = "\n".join("    " + line for line in made.split("\n"))
    return LOOP.format(made=lines, epochs=epochs, step=" " * indent + "scheduler.step()" + mark)


@pytest.mark.parametrize(("made", "epochs"), [
    (f"scheduler = {MULTI}(optimizer, [int(args.epochs * 0.5), int(args.epochs * 0.75)])", "args.epochs"),
    (f"scheduler = {MULTI}(optimizer, milestones=[args.epochs // 2, args.epochs // 4 * 3], gamma=0.5)", "args.epochs + 1"),
    (f"scheduler = {STEP}(optimizer, step_size=args.epochs // 3)", "args.epochs"),
    (f"epochs = int(args.iters // len(loader))\nbase = int(epochs // 8)\nmarks = [base, base * 2, base * 6]\n"
     f"scheduler = {MULTI}(optimizer, milestones=marks)", "epochs"),
    (f"third = args.epochs // 3  # of all\nscheduler = {STEP}(optimizer, third, 0.1)", "args.epochs"),
], ids=["a half and three quarters", "in whole numbers", "a third", "of a part of them", "by its name"])
def test_told_per_batch(made, epochs):
    holds(program(made, epochs))


@pytest.mark.parametrize(("made", "epochs"), [
    (f"scheduler = {MULTI}(optimizer, [int(args.epochs * len(loader) * 0.5)])", "args.epochs"),
    (f"steps = args.epochs * len(loader)\nscheduler = {MULTI}(optimizer, [steps // 2, steps // 4 * 3])", "args.epochs"),
    (f"scheduler = {STEP}(optimizer, args.epochs * 500)", "args.epochs"),
    (f"scheduler = {STEP}(optimizer, args.epochs * args.per_epoch // 3)", "args.epochs"),
    (f"third = args.epochs // 3\nthird *= len(loader)\nscheduler = {STEP}(optimizer, third)", "args.epochs"),
    (f"scheduler = {STEP}(optimizer, args.steps // 3)", "args.epochs"),
    (f"scheduler = {STEP}(optimizer, args.epochs // 3)", "args.rounds"),
], ids=["times the batches", "by a name", "times many", "times an option", "changed behind", "of steps", "another number"])
def test_what_may_be_batches_is_left_alone(made, epochs):
    holds(program(made, epochs, mark=""))


@table({
    "per epoch": program(f"scheduler = {MULTI}(optimizer, [args.epochs // 2])", mark="", indent=8),
})
def test_told_per_epoch(code):
    holds(code)
