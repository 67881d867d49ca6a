"""905 of best scores, in the forms that conditions have, and by the names that they go by."""

import pytest

from tests.torchlint.dryrun.support import holds
from tests.torchlint.rules.saving.test_best_scores import BAD, program


@pytest.mark.parametrize("better", [
    "acc > best + 0.001", "acc - best > args.min_delta", "acc > best or best is None", "not best or acc > best", "not (acc <= best)", "epoch > 3 and acc > best",
    'acc > best or args.keep == "last"',
])
def test_how_it_is_asked(better):
    holds(program(BAD, better=better))


@pytest.mark.parametrize("better", ["acc > best or epoch == args.epochs - 1", "acc > best[0]", "acc > best + other", "acc > best or args.keep == epoch"])
def test_what_keeps_something_else(better):
    holds(program(better=better))


def named(name, first, better, mark=BAD, given="acc"):
    code = program(mark, first=first, better=better).replace('"best": best', '"acc": acc').replace("    best = ", f"    {name} = ").replace("print(best)", "print(1)")
    return code.replace(f"            {name} = acc", f"            {name} = {given}")


@pytest.mark.parametrize(("name", "first", "better"), [
    ("min_loss", "1e10", "acc < min_loss"), ("valid_loss_min", 'float("inf")', "acc <= valid_loss_min"), ("max_acc", "0.0", "max_acc < acc"), ("lowest", "100", "acc < lowest"),
])
def test_other_names(name, first, better):
    holds(named(name, first, better))


def test_a_limit():
    holds(named("min_loss", "0.1", "acc < min_loss", mark="", given="min_loss"))
    holds(named("max_epoch", "100", "epoch < max_epoch", mark="", given="acc"))


STOPPING = """
class Stopping:
    def __init__(self, path="best.pt"):
        self.best_score = None
        self.worse = 0
        self.path = path

    def __call__(self, loss, model):
        score = -loss
        if self.best_score is None:
            self.best_score = score
            self.save(model)
        elif score < self.best_score + 0.001:
            self.worse += 1
        else:
            self.best_score = score
            self.save(model)MARK
            self.worse = 0

    def save(self, model):
        torch.save(model.state_dict(), self.path)

def train(model: nn.Module, loader, validate, args):
    optimizer = torch.optim.Adam(model.parameters())
    stopping = Stopping()
    start = 0
    if args.resume:
        kept = torch.load("last.pt", weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"]
        LOAD
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1, "best": stopping.best_score}, "last.pt")
        stopping(validate(model), model)
"""


def test_of_what_stops_early():
    holds(STOPPING.replace("MARK", BAD).replace("LOAD", "print(start)"))
    holds(STOPPING.replace("MARK", "").replace("LOAD", 'stopping.best_score = kept["best"]'))


def test_the_file_of_the_others():
    """What is written where a score was no better is not the best one."""
    other = 'torch.save(state, "best.pt")'
    holds(program(path='f"{epoch}.pt"').replace('torch.save(state, f"{epoch}.pt")', f'torch.save(state, f"{{epoch}}.pt")\n        else:\n            {other}'))
