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
CHOSEN = """if args.adam:
        optimizer = torch.optim.Adam(model.parameters())
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)"""
CHOSEN_SCHEDULE = """if args.cosine:
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    else:
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 20])"""
RESUME = """checkpoint = torch.load(args.resume)
        start = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])"""
SAVE = 'torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.path)'
SCALED = """            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()"""
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
    "beside the step of a scaler": with_(SCHEDULE=STEPS + '\n    scaler = torch.amp.GradScaler("cuda")', SAVE=TOLD.replace("<- 905", "<- 710, 905")).replace(
        "            F.cross_entropy(model(x), y).backward()\n            optimizer.step()", SCALED),
    "beside the step of an environment": "def play(env, action):\n    return env.step(action)\n\n" + with_(STEP="schedule.step()\n        play(args.env, 1)"),
    "steps that are told where they stand": with_(SAVE=SAVE, RESUME=RESUME + "\n        schedule.step(start)  # <- 942"),
    "steps of options that are told": with_(SAVE=SAVE, RESUME=RESUME + "\n        schedule.step(opt.start)  # <- 942").replace("main(args,", "main(args, opt,"),
    "steps of an epoch": with_(SAVE=SAVE, STEP="schedule.step(epoch)  # <- 942"),
    "steps that are caught up": with_(SAVE=SAVE, RESUME=RESUME + "\n        schedule.last_epoch = start - 1"),
    "steps that are made again": with_(
        RESUME=RESUME + "\n        for _ in range(start):\n            schedule.step()", SAVE=SAVE.replace('"epoch": ', '"mA": validate(model), "epoch": ')),
    "a helper that is in no file gives the epoch": "from tools import load_checkpoint\n" + with_(RESUME="start = load_checkpoint(model, optimizer, args.resume)"),
    "the epoch is an option": with_(RESUME="start = args.start_epoch\n        optimizer.load_state_dict(torch.load(args.resume))"),
    "rates that nobody sets": "def adjust(optimizer, rate):\n    for group in optimizer.param_groups:\n        group['lr'] = rate\n# adjust(optimizer, 0.1)\n" + with_(),
    "nothing is gone on from": with_(SAVE=SAVE, RESUME="start = args.start_epoch"),
    "a figure that is zero at first": with_(SAVE='best = validate(model) if epoch else best\n        ' + TOLD.replace('"epoch": ', '"acc": best, "epoch": ')),
    "a rate that is only looked at": with_(STEP='schedule.step()\n        rates = [group["lr"] for group in optimizer.param_groups]'),
    "a rate that is told, group by group": with_(STEP='schedule.step()\n        for group in optimizer.param_groups:\n            print(group["lr"])'),
    "a rate that is set, group by group": with_(
        SAVE=SAVE, STEP='schedule.step()\n        for group in optimizer.param_groups:\n            group["lr"] = max(group["lr"], 1e-5)'),
    "rates that a function sets which nobody calls": "def adjust(optimizer, rate):\n    for group in optimizer.param_groups:\n        group['lr'] = rate\n" + with_(),
    "schedules in a dict": with_(
        RESUME=RESUME + '\n        args.schedules["net"].load_state_dict(checkpoint["schedule"])', SAVE=SAVE,
        STEP='schedule.step()\n        print([group["lr"] for group in optimizer.param_groups])'),
    "a performance": with_(SAVE=TOLD.replace('"epoch": ', '"performance": validate(model), "epoch": ')),
    "one of several optimizers": with_(SCHEDULE=CHOSEN),
    "one of several optimizers, and something that is not known": with_(
        SCHEDULE=CHOSEN, RESUME=RESUME + "  # <- 905", SAVE=SAVE.replace('"epoch": ', '"mA": validate(model), "epoch": ')),
    "a word of acceleration": "HELP = 'whether to use acceleration by a GPU'\n" + with_(RESUME=RESUME + "  # <- 905", SAVE="pass"),
    "one of several schedules": with_(SCHEDULE=CHOSEN_SCHEDULE),
    "a figure of NumPy's": "import numpy as np\n" + with_(
        RESUME=RESUME.replace("(args.resume)", "(args.resume)  # <- 901"), SAVE=TOLD.replace('"epoch": ', '"mA": np.mean(validate(model)), "epoch": ')),
    "something that is not known": with_(RESUME=RESUME + "  # <- 905", SAVE=SAVE.replace('"epoch": ', '"mA": validate(model), "epoch": ')),
    "one of transformers'": "from transformers import get_linear_schedule_with_warmup\n" + with_(
        SCHEDULE="schedule = get_linear_schedule_with_warmup(optimizer, 10, 100)"),
    "one of transformers', by a name": "from transformers import get_scheduler\n" + with_(
        SCHEDULE='schedule = get_scheduler("cosine", optimizer, 10, 100)'),
    "a constant one of transformers'": "from transformers import get_constant_schedule\n" + with_(
        SCHEDULE="schedule = get_constant_schedule(optimizer)", SAVE=SAVE),
    "lists of figures": with_(SAVE=TOLD.replace('"epoch": epoch', '"train_losses": losses, "val_acc": args.accs, "epoch": epoch'),
                              STEP="losses = []\n        schedule.step()"),
    "the epochs are counted from the first again": with_(
        RESUME=RESUME.replace('start = checkpoint["epoch"]\n        ', ""), SAVE=TOLD.replace('"epoch": epoch + 1, ', "")),
    "nothing is saved in view": with_(
        RESUME=RESUME.replace('["optimizer"])', '["optimizer"])  # <- 905'), SAVE="pass"),
    "the optimizer's state has a file of its own": with_(
        RESUME='optimizer.load_state_dict(torch.load("optimizer.pt"))  # <- 905', SAVE='torch.save(optimizer.state_dict(), "optimizer.pt")'),
    "the schedule's state has one, too": with_(
        RESUME='optimizer.load_state_dict(torch.load("optimizer.pt"))\n        schedule.load_state_dict(torch.load("schedule.pt"))',
        SAVE='torch.save(optimizer.state_dict(), "optimizer.pt")\n        torch.save(schedule.state_dict(), "schedule.pt")'),
    "the optimizer is loaded for an evaluation": with_(RESUME="start = 0", SAVE='pass\n    optimizer.load_state_dict(torch.load("last.pt")["optimizer"])'),
    "a step back": with_(RESUME="start = 0", SAVE='optimizer.load_state_dict(torch.load("best.pt")["optimizer"])'),
    "the rate is multiplied at each step, and the optimizer keeps it": with_(
        SCHEDULE="schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", SAVE=SAVE),
    "a step is one epoch": with_(SCHEDULE="schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)", SAVE=SAVE),
    "the schedule of another optimizer": with_(
        SCHEDULE="other = torch.optim.Adam(model.parameters())\n    schedule = torch.optim.lr_scheduler.StepLR(other, 10)", SAVE=SAVE,
    ),
})
def test_schedule(code):
    holds(code)
