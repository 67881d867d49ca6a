"""942 of the epoch that a schedule is told, and of the rate that it is asked for, where an option chooses among several."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
class Warm(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, after):
        self.after = after
        super().__init__(optimizer)
    def get_lr(self):
        return self.base_lrs
    def step(self, epoch=None):
        super().step(epoch)

class Counted:
    def __init__(self, optimizer):
        self.optimizer = optimizer
    def step(self, epoch):
        self.optimizer.param_groups[0]["lr"] = 0.1 / (epoch + 1)

def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = None
    if args.cosine:
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    MORE
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        STEP
"""
TOLD = """if scheduler is not None:
            scheduler.step(epoch)  # <- 942"""
SILENT = TOLD.replace("  # <- 942", "")


def with_(more, step):
    return CODE.replace("MORE", more, 1).replace("STEP", step, 1)


@table({
    "one or none": with_("pass", TOLD),
    "by its name": with_("pass", TOLD.replace("(epoch)", "(epoch=epoch)")),
    "one of two": with_("else:\n        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)", TOLD),
    "one of the program's own that does without": with_("if args.warm:\n        scheduler = Warm(optimizer, scheduler)", TOLD),
    "one of the program's own that needs it": with_("else:\n        scheduler = Counted(optimizer)", SILENT),
    "one that looks at a figure": with_("else:\n        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)", SILENT),
    "one that takes parts of epochs": with_("else:\n        scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3)", SILENT),
    "one of elsewhere": "from schedules import Slow\n" + with_("else:\n        scheduler = Slow(optimizer)", SILENT),
    "it is asked which it is": with_(
        "else:\n        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)", SILENT.replace("scheduler is not None", "not isinstance(scheduler, str)")),
})
def test_told_epochs(code):
    holds(code)


ASKED = "scheduler.step()\n        print(scheduler.get_lr())  # <- 942"
UNASKED = ASKED.replace("  # <- 942", "")


@table({
    "one of two": with_("else:\n        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)", ASKED),
    "one of them has none": with_("else:\n        scheduler = Counted(optimizer)", UNASKED.replace("step()", "step(epoch)")),
    "one computes its own": with_("if args.warm:\n        scheduler = Warm(optimizer, scheduler)", UNASKED),
    "it is asked which it is": with_(
        "else:\n        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)",
        "scheduler.step()\n        if not isinstance(scheduler, Counted):\n            print(scheduler.get_lr())"),
})
def test_asked_for_the_rate(code):
    holds(code)
