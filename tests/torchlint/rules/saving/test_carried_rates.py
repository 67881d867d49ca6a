"""905 of a rate that a training keeps for itself and multiplies on."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
state = {{key: value for key, value in args._get_kwargs()}}


def adjust(optimizer, epoch{parameter}):
    if epoch in (30, 60):
        {decay}
        for group in optimizer.param_groups:
            group["lr"] = {rate}
    {returned}


def main(model: nn.Module, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    start = 0
    {before}
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"]
        {after}
    {begin}
    for epoch in range({first}, args.epochs):
        {adjusting}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1{more}}}, "last.pt"){mark}


main(build(), make_loader())
"""
BAD = "  # <- 905"
OF_AN_OPTION = {"decay": "args.lr *= 0.1", "rate": "args.lr"}
HANDED = {
    "parameter": ", lr", "decay": "lr *= 0.1", "rate": "lr", "returned": "return lr", "begin": "lr = args.lr",
    "adjusting": "lr = adjust(optimizer, epoch, lr)",
}
IN_THE_LOOP = {
    "begin": "lr = 0.1",
    "adjusting": """if epoch in (30, 60):
            lr = lr / 10
            for group in optimizer.param_groups:
                group["lr"] = lr""",
}
MADE_ANEW = """lr = args.lr
        for decay in (30, 60):
            if epoch >= decay:
                lr = lr / 10
        for group in optimizer.param_groups:
            group["lr"] = lr"""


def program(mark="", **other):
    parts = {
        "parameter": "", "decay": 'state["lr"] *= 0.1', "rate": 'state["lr"]', "returned": "", "before": "", "after": "", "begin": "",
        "first": "start", "adjusting": "adjust(optimizer, epoch)", "more": "",
    }
    return PROGRAM.format(mark=mark, **(parts | other))


@table({
    "among the options": program(BAD),
    "an option": program(BAD, **OF_AN_OPTION),
    "an option, for the size of a batch": program(BAD, **OF_AN_OPTION, before="args.lr *= args.batch / 256"),
    "handed on and taken back": program(BAD, **HANDED),
    "in the loop": program(BAD, **IN_THE_LOOP),
    "lowered by the same number": program(BAD, **OF_AN_OPTION | {"decay": "args.lr -= 0.01"}),
    "a global name": program(BAD, decay="global rate; rate = rate * 0.1", rate="rate").replace("state =", "rate = args.lr\nstate ="),
    "saved, and not loaded": program(BAD, more=', "lr": args.lr', **OF_AN_OPTION),
})
def test_a_rate_that_begins_anew(code):
    holds(code)


@table({
    "set from the checkpoint": program(after='state["lr"] = kept["lr"]', more=', "lr": state["lr"]'),
    "an option set from the checkpoint": program(**OF_AN_OPTION, after='args.lr = kept["lr"]', more=', "lr": args.lr'),
    "all options from the checkpoint": program(**OF_AN_OPTION, after='args.__dict__.update(kept["args"])', more=', "args": vars(args)'),
    "set from the groups": program(after='state["lr"] = optimizer.param_groups[0]["lr"]'),
    "a name set from the groups": program(**(HANDED | {"begin": 'lr = optimizer.param_groups[0]["lr"]'})),
    "a name set from the groups where it goes on": program(
        **(IN_THE_LOOP | {"before": "lr = 0.1", "begin": "", "after": 'lr = kept["optimizer"]["param_groups"][0]["lr"]'}),
    ),
    "made of the epoch": program(**(IN_THE_LOOP | {"begin": "lr = args.lr * 0.1 ** (start // 30)"})),
    "multiplied to where it was": program(begin="for epoch in range(start): adjust(optimizer, epoch)"),
    "a name multiplied to where it was": program(
        **(IN_THE_LOOP | {"begin": "lr = 0.1\n    for epoch in range(start): lr = lr * 0.1 ** (epoch in (30, 60))"}),
    ),
    "asked for anew": program(**OF_AN_OPTION, after='for group in optimizer.param_groups: group["lr"] = args.lr'),
    "made anew in each epoch": program(adjusting=MADE_ANEW),
    "epochs from the first one on": program(first="0"),
    "epochs from the first one on, beside other numbers": program(first="0", **OF_AN_OPTION | {"decay": "args.lr -= 0.01"})
    + "\ndef some(start, end):\n    return [at for at in range(start, end)]\n",
    "the group's own": program(decay="pass", rate='group["lr"] * 0.1'),
    "multiplied, and only shown": program(**(HANDED | {"rate": 'group["lr"] * 0.1'})),
})
def test_a_rate_that_goes_on(code):
    holds(code)
