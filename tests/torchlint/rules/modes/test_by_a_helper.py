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
