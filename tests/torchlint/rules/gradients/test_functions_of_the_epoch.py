"""111 of a schedule that a function gives: it divides by the number of epochs, or is a power of the epoch, and is asked for each batch."""

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


FACTORS = PROGRAM.replace("LambdaLR", "MultiplicativeLR")
FALLS = PROGRAM.replace("LambdaLR(optimizer, lr_lambda=factor)", "ExponentialLR(optimizer, 0.5)")
NOT_EACH = """if EVERY:
                print(epoch)
            else:
                scheduler.step()MARK"""


@table({
    "a power of the epoch": _program("factor = lambda epoch: 0.965 ** epoch", EACH_BATCH, "  # <- 111"),
    "by a function with a name": _program("""
    def factor(epoch):
        return .9 ** epoch
""", EACH_BATCH, "  # <- 111"),
    "asked for each epoch": _program("factor = lambda epoch: 0.965 ** epoch", EACH_EPOCH),
    "of a step": _program("factor = lambda step: 0.965 ** step", EACH_BATCH),
    "that falls slowly": _program("factor = lambda epoch: 0.9999 ** epoch", EACH_BATCH),
    "that stays above a bound": _program("factor = lambda epoch: max(0.1, 0.9 ** epoch)", EACH_BATCH),
    "the same factor each time": FACTORS.replace("FUNCTION", "factor = lambda epoch: 0.95").replace("BATCH", "scheduler.step()  # <- 111"),
    "of another name": FACTORS.replace("FUNCTION", "factor = lambda step: 0.95").replace("BATCH", "scheduler.step()"),
})
def test_a_power_of_the_epoch(code):
    holds(code.replace("EPOCH", "print(epoch)"))


@table({
    "but for each hundredth batch": FALLS.replace("BATCH", NOT_EACH).replace("EVERY", "len(y) % 100 == 0").replace("MARK", ""),
    "but for each hundredth number": FALLS.replace("BATCH", NOT_EACH).replace("EVERY", "n % 100 == 0").replace("MARK", "  # <- 111"),
    "each hundredth": FALLS.replace("BATCH", NOT_EACH).replace("EVERY", "n % 100 != 0").replace("MARK", ""),
    "under another condition": FALLS.replace("BATCH", NOT_EACH).replace("EVERY", "n < 100").replace("MARK", ""),
})
def test_nearly_each_batch(code):
    holds(code.replace("FUNCTION", "pass").replace("EPOCH", "print(epoch)").replace("for x, y in loader", "for n, (x, y) in enumerate(loader)"))
