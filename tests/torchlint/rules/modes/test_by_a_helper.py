"""202 of an evaluation that calls no eval() and asks the model by a helper that the training goes through as well."""

from tests.torchlint.dryrun.support import holds, table

CLASS = """
class Regression:
    def __init__(self, width):
        self.net = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 1))
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def one_batch(self, x, y):
        return self.criterion(self.net(x), y)

    def train(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                loss = self.one_batch(x, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

    def NAME(self, loader):
        total = 0
        for x, y in loader:
            BODY
        return total / len(loader)
"""


def named(name: str, *body: str) -> str:
    return CLASS.replace("NAME", name).replace("BODY", "\n            ".join(body))


@table({
    "validate": named("validate", "total += self.one_batch(x, y).item()  # <- 202"),
    "an epoch of it": named("val_epoch", "total += self.one_batch(x, y).item()  # <- 202"),
    "a name that says nothing": named("run", "total += self.one_batch(x, y).item()"),
    "without gradients": named("validate", "with torch.no_grad():", "    total += self.one_batch(x, y).item()"),
    "it goes backward, too": named(
        "test", "loss = self.one_batch(x, y)", "self.optimizer.zero_grad()", "loss.backward()", "self.optimizer.step()", "total += loss.item()"
    ),
    "what comes out is kept with its graph": named("validate", "self.last = self.one_batch(x, y)", "total += 1"),
    "under a decorator": named("validate", "total += self.one_batch(x, y).item()").replace("    def validate", "    @torch.no_grad()\n    def validate"),
})
def test_an_evaluation_by_a_helper(code):
    holds(code)


LOGGED = """
from missing import Logger, make

class Regression:
    def __init__(self, args):
        self.logger = Logger(args)
        self.net = nn.DataParallel(make(args))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def train(self, loader):
        self.net.train()
        for batch in loader:
            loss = self.measured(*self.step(batch), "train")["train/l1"]
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def val_epoch(self, loader):
        self.net.eval()
        for batch in loader:
            scores, y = self.step(batch)
            metrics = self.measured(scores, y, "val")
            for key in metrics:
                self.KEEPER.KEEPS(key, metrics[key])

    def step(self, batch):
        x, y = batch
        return self.net(x), y

    def measured(self, scores, y, prefix):
        return {prefix + "/l1": (scores - y).abs().mean()}

def main(args, loader, others):
    trainer = Regression(args)
    for epoch in range(args.epochs):
        trainer.train(loader)
        trainer.val_epoch(others)
"""


def logged(keeper: str, mark: str = "") -> str:
    text = LOGGED.replace("self.logger", f"self.{keeper}").replace("KEEPER.KEEPS", f"{keeper}.record")
    return text.replace("scores, y = self.step(batch)", f"scores, y = self.step(batch){mark}")


@table({
    "a logger": logged("logger", "  # <- 202"),
    "a meter": logged("val_meter", "  # <- 202"),
    "somebody who is not known": logged("keeper"),
})
def test_what_a_logger_is_given(code):
    holds(code)
