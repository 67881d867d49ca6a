"""905 of a schedule whose state is in no checkpoint."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
def main(args, loader, validate):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    SCHEDULE
    start, best = 0, 0
    if args.resume:
        RESUME
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        STEP
        SAVE
"""
PLATEAU = "schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)"
STEPS = "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)"
RESUME = """checkpoint = torch.load(args.resume)
        start = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])"""
SAVE = 'torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.path)'
TOLD = SAVE + "  # <- 905"


def with_(**parts):
    code = CODE
    for name, text in {"SCHEDULE": STEPS, "RESUME": RESUME, "STEP": "schedule.step()", "SAVE": TOLD, **parts}.items():
        code = code.replace(name, text, 1)
    return code


@table({
    "steps": with_(),
    "a plateau, which is told what it watches": with_(SCHEDULE=PLATEAU, STEP="schedule.step(validate(model))"),
    "a rate that is only shown": with_(STEP='schedule.step()\n        print(optimizer.param_groups[0]["lr"])'),
    "rates that are set": with_(SAVE=SAVE, RESUME=RESUME + '\n        optimizer.param_groups[0]["lr"] = args.lr'),
    "steps of an epoch": with_(SAVE=SAVE, STEP="schedule.step(epoch)  # <- 942"),
    "steps that are caught up": with_(SAVE=SAVE, RESUME=RESUME + "\n        schedule.last_epoch = start - 1"),
    "a helper that is in no file gives the epoch": "from tools import load_checkpoint\n" + with_(RESUME="start = load_checkpoint(model, optimizer, args.resume)"),
    "the epoch is an option": with_(RESUME="start = args.start_epoch\n        optimizer.load_state_dict(torch.load(args.resume))"),
    "rates that nobody sets": "def adjust(optimizer, rate):\n    for group in optimizer.param_groups:\n        group['lr'] = rate\n# adjust(optimizer, 0.1)\n" + with_(),
    "nothing is gone on from": with_(SAVE=SAVE, RESUME="start = args.start_epoch"),
    "a figure that is zero at first": with_(SAVE='best = validate(model) if epoch else best\n        ' + TOLD.replace('"epoch": ', '"acc": best, "epoch": ')),
    "the schedule of another optimizer": with_(
        SCHEDULE="other = torch.optim.Adam(model.parameters())\n    schedule = torch.optim.lr_scheduler.StepLR(other, 10)", SAVE=SAVE,
    ),
})
def test_schedule(code):
    holds(code)
