"""202 of an evaluation in evaluation mode that reads no tensor of its model: the forward has made lists of its scores itself."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(8, 4)
        self.seen = []

    def loss(self, words, tags):
        return F.cross_entropy(self.scores(words), tags)

    def search(self, scores):
        path = []
        for row in scores:
            path.append(int(row.data.cpu().numpy().argmax()))
        return scores.max(), path

    def forward(self, words):
        scores = self.scores(words)
        {inside}
        return self.search(scores)

def tagged(model, rows, names):
    found = []
    for words, tags in {over}:
        best, {path}
        for tag, guess in zip(tags, path):
            found.append(names[guess] + " " + names[tag])
    return found

def main(rows, more, names):
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        model.train(True)
        for words, tags in rows:
            model.zero_grad()
            loss = model.loss(words, tags)
            loss.backward()
            optimizer.step()
        model.train({mode})
        {asks}
"""


def program(inside="pass", over="rows", path="path = model(words)  # <- 202", mode="False", asks="print(tagged(model, more, names))"):
    return PROGRAM.format(inside=inside, over=over, path=path, mode=mode, asks=asks)


QUIET = "path = model(words)"


@table({
    "only a list is read": program(),
    "without gradients": program(asks="with torch.no_grad():\n            print(tagged(model, more, names))", path=QUIET),
    "in training mode": program(mode="True", path=QUIET),
    "over numbers": program(over="[(rows, names) for k in range(10)]", path=QUIET),
    "what it computed is kept in it": program(inside="self.last = scores", path=QUIET, asks="print(tagged(model, more, names))\n        model.last.sum().backward()"),
    "what it computed is kept in a list of it": program(inside="self.seen.append(scores)", path=QUIET),
    "a hook keeps it": program(path=QUIET).replace("    optimizer =", "    model.register_forward_hook(keep)\n    optimizer ="),
    "what it gives is kept": program(path="path = model(words); names.best = best"),
})
def test_lists_of_its_own(code):
    holds(code)
