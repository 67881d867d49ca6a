"""905 of helpers that would load what no call hands to them."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
def load_checkpoint(path, model, optimizer=None, scheduler=None):
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    if optimizer is not None:
        optimizer.load_state_dict(state["optimizer"])
    if ASKED:
        scheduler.load_state_dict(state["scheduler"])
    return state["epoch"]


def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 20])
    start_epoch = 0
    if args.resume:
        start_epoch = load_checkpoint(HANDED)LOADED
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1MORE}, args.path)SAVED
"""
TOLD = "  # <- 905"
WITH_SCHEDULE = ', "scheduler": scheduler.state_dict()'


def program(handed, saved="", loaded="", asked="scheduler is not None", more=""):
    parts = {"HANDED": handed, "SAVED": saved, "LOADED": loaded, "ASKED": asked, "MORE": more}
    code = PROGRAM
    for name, text in parts.items():
        code = code.replace(name, text)
    return code


@table({
    "no schedule is handed over": program("args.resume, model, optimizer", TOLD),
    "by name": program("args.resume, model=model, optimizer=optimizer", TOLD),
    "over several lines": program("\n            args.resume,\n            model, optimizer,\n        ", TOLD),
    "none at all, in so many words": program("args.resume, model, optimizer, None", TOLD),
    "asked for short": program("args.resume, model, optimizer", TOLD, asked="scheduler"),
    "asked for with what is in the file": program("args.resume, model, optimizer", TOLD, asked='scheduler is not None and "scheduler" in state'),
    "it is handed over": program("args.resume, model, optimizer, scheduler", more=WITH_SCHEDULE),
    "it is handed over by name": program("args.resume, model, optimizer, scheduler=scheduler", more=WITH_SCHEDULE),
    "it is handed over, and may be lost in the file": program("args.resume, model, optimizer, scheduler"),
    "all is handed over": program("*args.all"),
    "all is handed over by names": program("args.resume, model, **args.all"),
    "another call hands it over": program("args.resume, model, optimizer") + "    load_checkpoint(args.last, model, optimizer, scheduler)\n",
    "the helper is handed on": program("args.resume, model, optimizer") + "    args.run(load_checkpoint, scheduler)\n",
    "asked for something else": program("args.resume, model, optimizer", asked='"scheduler" in state'),
    "the schedule is loaded beside it": program(
        "args.resume, model, optimizer", more=WITH_SCHEDULE,
        loaded='\n        scheduler.load_state_dict(torch.load(args.resume, weights_only=True)["scheduler"])'),
    "no optimizer is handed over": program("args.resume, model", loaded=TOLD, more=WITH_SCHEDULE),
    "the optimizer is loaded beside it": program(
        "args.resume, model", more=WITH_SCHEDULE,
        loaded='\n        optimizer.load_state_dict(torch.load(args.resume, weights_only=True)["optimizer"])'
               '\n        scheduler.load_state_dict(torch.load(args.resume, weights_only=True)["scheduler"])'),
})
def test_what_no_call_hands_over(code):
    holds(code)
