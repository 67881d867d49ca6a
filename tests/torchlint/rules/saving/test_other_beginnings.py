"""905 where the number that a training begins at is told by other means than `range(start_epoch, epochs)`."""

from tests.torchlint.dryrun.support import holds, table
from tests.torchlint.rules.saving.test_goes_on import LOOP, MADE

SAVED = """
        torch.save(model.state_dict(), f"{epoch}.pt")
"""
TURNS = """
    for {number}, (x, y) in enumerate(loader):
        {moved}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if {number} % 1000 == 0:
            torch.save(model.state_dict(), f"{{{number}}}.pt")
"""
WHOLE = """
def main(args, loader):
    if args["load_path"] != "":
        model = torch.load(args["load_path"], weights_only=False)  # <- 905
    else:
        model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
"""
COUNTED = """
    for epoch in {counted}:
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""
ON_THE_COMMAND_LINE = """
import sys
from itertools import count

def main(args, loader):
    model = nn.Linear(4, 2)
    if {asked} in sys.argv:
        model.load_state_dict(torch.load("net.pt")){mark}
    optimizer = torch.optim.Adam(model.parameters())
    first_epoch = 0
"""


@table({
    "a name that is given an option's number first": WHOLE + """
    epoch = int(args["epoch_start"])
    for i in range(epoch, epoch + args["epochs"]):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model, f"{i}.pt")  # <- 902
""",
    "a name that is given something else": WHOLE.replace("  # <- 905", "") + """
    epoch = int(args["warm_up"])
    for i in range(epoch, epoch + args["epochs"]):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model, f"{i}.pt")  # <- 902
""",
    "the number of the batch is moved on": MADE + """
    state = torch.load(args.restore_from)
    model.load_state_dict(state)  # <- 905
""" + TURNS.format(number="i_iter", moved="i_iter += args.start_iters"),
    "another number is moved on": MADE + """
    state = torch.load(args.restore_from)
    model.load_state_dict(state)
""" + TURNS.format(number="i_iter", moved="args.seen += args.start_iters"),
    "moved on by a number that is the same in each run": MADE + """
    state = torch.load(args.restore_from)
    model.load_state_dict(state)
""" + TURNS.format(number="i_iter", moved="i_iter += 1"),
    "counted on for ever": MADE + """
    if args.net:
        model.load_state_dict(torch.load(args.net))  # <- 905
    from itertools import count
""" + COUNTED.format(counted="count(args.start_epoch)") + SAVED,
    "counted from the first one": MADE + """
    if args.net:
        model.load_state_dict(torch.load(args.net))
    from itertools import count
""" + COUNTED.format(counted="count()") + SAVED,
    "to continue, by a word on the command line": ON_THE_COMMAND_LINE.format(asked='"continue"', mark="  # <- 905")
    + COUNTED.format(counted="count()") + SAVED,
    "another word on the command line": ON_THE_COMMAND_LINE.format(asked='"colours"', mark="") + COUNTED.format(counted="count()") + SAVED,
    "the first epoch's number": MADE + """
    first_epoch = 0
    if args.again:
        model.load_state_dict(torch.load(args.net))  # <- 905
        first_epoch = len(open("log.csv").readlines())
""" + LOOP.format(start="first_epoch") + SAVED,
})
def test_goes_on(code):
    holds(code)
