"""111 of a schedule that a function gives: it divides by the number of epochs, and is asked for each batch."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import math


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    FUNCTION
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=factor)
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            BATCH
        EPOCH
"""
EACH_BATCH = {"BATCH": "scheduler.step()MARK", "EPOCH": "print(epoch)"}
EACH_EPOCH = {"BATCH": "print(x.shape)", "EPOCH": "scheduler.step()"}


def _program(function, places, mark=""):
    text = PROGRAM.replace("FUNCTION", function)
    for place, line in places.items():
        text = text.replace(place, line)
    return text.replace("MARK", mark)


@table({
    "a cosine": _program("factor = lambda x: (1 + math.cos(x * math.pi / args.epochs)) / 2", EACH_BATCH, "  # <- 111"),
    "a line, by a function with a name": _program("""
    def factor(step):
        return 1 - step / args.epochs
""", EACH_BATCH, "  # <- 111"),
    "asked for each epoch": _program("factor = lambda x: (1 + math.cos(x * math.pi / args.epochs)) / 2", EACH_EPOCH),
    "by the batches of all epochs": _program("factor = lambda x: 1 - x / (args.epochs * len(loader))", EACH_BATCH),
    "by a number for each epoch": _program("factor = lambda x: 1 - x / (args.epochs * args.length)", EACH_BATCH),
    "of the epoch that it is": _program("factor = lambda x: 1 - x // args.iterations / args.epochs", EACH_BATCH),
})
def test_a_function_of_the_epoch(code):
    holds(code)
