"""905 where the weights are put into another dict first, by which branch of an `if` they are loaded, and by what a file is called."""

from tests.torchlint.dryrun.support import holds, table
from tests.torchlint.rules.saving.test_goes_on import LOOP, MADE

SAVED = """
        torch.save(model.state_dict(), "last.pt")
"""
RENAMED = """
    if args.resume:
        state = {}
        for key, value in torch.load(args.resume).items():
            state[key[7:] if key.startswith("module.") else key] = value
        model.load_state_dict(state)  # <- 905
"""


@table({
    "keys that are written anew": MADE + RENAMED + LOOP.format(start="args.start_epoch") + SAVED,
    "keys that are written anew, in one expression": MADE + """
    if args.resume:
        state = torch.load(args.resume)["model"]
        model.load_state_dict({key.replace("module.", ""): value for key, value in state.items()})  # <- 905
""" + LOOP.format(start="args.start_epoch") + SAVED,
    "weights that another model has": MADE + """
    if args.resume:
        state = {key: value for key, value in args.teacher.state_dict().items()}
        model.load_state_dict(state)
""" + LOOP.format(start="args.start_epoch") + SAVED,
    "one of several models": """
def main(args, loader):
    if args.kind == "a":
        model = nn.Linear(4, 2)
    elif args.kind == "b":
        model = nn.Sequential(nn.Linear(4, 2))
    elif args.kind == "c":
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    else:
        model = nn.Bilinear(4, 4, 2)
    if args.resume:
        model.load_state_dict(torch.load(args.resume))  # <- 905
    if args.gpus > 1:
        model = nn.DataParallel(model)
    optimizer = torch.optim.Adam(model.parameters())
""" + LOOP.format(start="args.start_epoch") + SAVED,
    "only where nothing is resumed": MADE + """
    if args.resume is None:
        model.load_state_dict(torch.load(args.base))
""" + LOOP.format(start="args.start_epoch") + SAVED,
    "a base where nothing is resumed": MADE + """
    if args.resume == None:
        model.load_state_dict(torch.load(args.base))
    else:
        model.load_state_dict(torch.load(args.resume))  # <- 905
""" + LOOP.format(start="args.start_epoch") + SAVED,
    "the latest is no test": MADE + """
    if args.auto_continue:
        latest_model, done = newest(args.folder)
        if latest_model is not None:
            model.load_state_dict(torch.load(latest_model))  # <- 905
""" + LOOP.format(start="0") + SAVED,
    "a file with the number of the epoch in its name": MADE + """
    if args.start_epoch > 0:
        path = os.path.join(args.folder, f"epoch_{args.start_epoch}.pt")
        assert os.path.exists(path)
    else:
        path = args.base

    print("the weights")

    print("of the model")

    print("are loaded")
    if path:
        print("out of")
        print(path)
        print("now")
        print("so")
        model.load_state_dict(torch.load(path))  # <- 905
""" + LOOP.format(start="args.start_epoch") + SAVED,
})
def test_goes_on(code):
    holds(code)
