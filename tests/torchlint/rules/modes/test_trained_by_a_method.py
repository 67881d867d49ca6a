"""201 and 202: a model is trained, too, where a method of its own asks its layers for the loss, and not its forward."""

from tests.torchlint.dryrun.support import holds, table

TAGGER = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.drop, self.out = nn.LSTM(8, 8), nn.Dropout(0.3), nn.Linear(8, 4)

    def scores(self, x):
        return self.out(self.drop(self.lstm(x)[0]))

    def cost(self, x, y):
        return F.cross_entropy(self.scores(x).transpose(1, 2), y)

    def forward(self, x):
        return self.scores(x).argmax(-1)


def train(loader, dev_loader):
    model, other = Tagger(), Tagger()
    optimizer = torch.optim.Adam({learns}.parameters())
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            loss = {learns}.cost(x, y)
            loss.backward()
            optimizer.step()
        evaluate(model, dev_loader)


def evaluate(model, loader):
    {before}
    right = 0
    for x, y in loader:
        with {under}:
            right += (model(x) == y).sum().item(){mark}
    print(right)
"""


@table({
    "neither": TAGGER.format(learns="model", before="pass", under="torch.profiler.record_function('x')", mark="  # <- 201, 202"),
    "no eval": TAGGER.format(learns="model", before="pass", under="torch.no_grad()", mark="  # <- 201"),
    "both": TAGGER.format(learns="model", before="model.eval()", under="torch.no_grad()", mark=""),
    "another one learns": TAGGER.format(learns="other", before="pass", under="torch.no_grad()", mark=""),
})
def test_trained_by_a_method(code):
    holds(code)
