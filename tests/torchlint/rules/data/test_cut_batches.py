"""603: the ways in which a program cuts its batches by hand."""

from tests.torchlint.dryrun.support import holds, table

BAD = "  # <- 603"
PROGRAM = """
import numpy as np

{above}

def main(x, y, n, size):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {before}
    for epoch in range(9):
        {first}
        {head}{mark}
            {cut}
            optimizer.zero_grad()
            F.cross_entropy(net({a}), {b}).backward()
            optimizer.step()
"""


def program(head="for i in range(n // size):", cut="pass", a="x[i : i + size]", b="y[i : i + size]", before="pass", first="pass", above="", mark=BAD):
    return PROGRAM.format(above=above, head=head, cut=cut, a=a, b=b, before=before, first=first, mark=mark)


BY_NUMBER = """
def get_batch(data, k, size):
    {line}
    return data[k * size : (k + 1) * size]
"""
ASKED = {"a": "get_batch(x, i, size)", "b": "get_batch(y, i, size)"}
LISTED = {"head": "for a, b in zip(xs, ys):", "a": "a", "b": "b"}
CLASS = """
class Rows:
    def __init__(self, rows):
        self.rows = rows
{more}
    def batches(self, size):
        for i in range(0, len(self.rows), size):
            yield self.rows[i : i + size]

    def fit(self, net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(9):
            for batch in self.batches(32):{mark}
                optimizer.zero_grad()
                net(batch).sum().backward()
                optimizer.step()
"""


@table({
    "two names at once": program(cut="start, end = i * size, (i + 1) * size", a="x[start:end]", b="y[start:end]"),
    "of the second dimension": program(cut="start, end = i * size, (i + 1) * size", a="x[:, start:end, :]", b="y[start:end]"),
    "of numbers that are made whole": program(a="x[int(i * size) : int(i * size + size)]", b="y[int(i * size) : int(i * size + size)]"),
    "of the whole part of another number": program(a="x[int(n * size) : int(i * size + size)]", b="y[int(n)]", mark=""),
    "of both dimensions": program(a="x[i : i + size, i : i + size]", b="y[i]", mark=""),
    "noise is drawn beside them": program(cut="noise = torch.randn(size, 4)"),
    "by the number of samples": program(head="for i in range(0, n_samples, size):", before="n_samples = n"),
    "gathered by numbers": program(a="torch.stack([x[k] for k in range(i, i + size)])", b="torch.stack([y[k] for k in range(i, i + size)])"),
    "gathered by a loop": program(
        cut="a, b = [], []\n            for k in range(i * size, min((i + 1) * size, n)):\n                a.append(x[k]), b.append(y[k])",
        a="torch.stack(a)", b="torch.stack(b)",
    ),
    "gathered by numbers that are drawn": program(
        a="torch.stack([x[order[k]] for k in range(i, i + size)])", b="torch.stack([y[order[k]] for k in range(i, i + size)])",
        first="order = np.random.permutation(n)", mark="",
    ),
    "gathered of a mixed list": program(
        a="torch.stack([x[k] for k in range(i, i + size)])", b="torch.stack([y[k] for k in range(i, i + size)])", first="x, y = read(epoch)", mark=""
    ),
    "gathered of the neighbours": program(a="torch.stack([x[k] for k in range(i, i + 3)])", b="y[i]", mark=""),
    "gathered of all behind it": program(a="torch.stack([x[k] for k in range(i, n * size)])", b="y[i]", mark=""),
    "samples that are drawn": program(first="x, y = sample(x, y)", mark=""),
    "a number is drawn": program(cut="i = np.random.randint(n)", mark=""),
    "by a counter": program(head="while i < n:", first="i = 0", cut="i += size", a="x[i : i + size]", b="y[i : i + size]"),
    "by a counter that goes on": program(head="while i < n:", before="i = 0", cut="i += size", a="x[i : i + size]", b="y[i : i + size]", mark=""),
    "in one of two lists": program(head="for a in xs:", a="a", b="y", before="xs = torch.split(x, size)\n    if n:\n        xs = other(x)", mark=""),
    "in lists": program(**LISTED, before="xs = torch.split(x, size)\n    ys = y.split(size)"),
    "in a list, by numbers": program(before="xs = np.array_split(x, 10)\n    ys = np.array_split(y, 10)", a="xs[i]", b="ys[i]"),
    "in a list of slices": program(**LISTED, before="xs = [x[k : k + size] for k in range(0, n, size)]\n    ys = y.chunk(size)"),
    "in a list of clients": program(**LISTED, before="xs = np.array_split(x, n_clients)\n    ys = np.array_split(y, n_clients)", mark=""),
    "in lists of an epoch": program(**LISTED, first="xs = torch.split(x, size)\n        ys = torch.split(y, size)", mark=""),
    "words that are split": program(head="for a in xs:", before="xs = x.split(' ')", a="a", b="y", mark=""),
    "by a function of the number": program(**ASKED, above=BY_NUMBER.format(line="pass")),
    "by a function of another number": program(**ASKED, above=BY_NUMBER.format(line="k = np.random.randint(9)"), mark=""),
    "by a function that mixes": program(**ASKED, above=BY_NUMBER.format(line="np.random.shuffle(data)"), mark=""),
    "by a function, of data of the epoch": program(**ASKED, above=BY_NUMBER.format(line="pass"), first="y, x = read(epoch)", mark=""),
    "by a generator, of data of the epoch": program(
        head="for a, b in batches(x, y):", a="a", b="b", first="x, y = read(epoch)", mark="",
        above="def batches(x, y):\n    for i in range(0, len(x), 32):\n        yield x[i : i + 32], y[i : i + 32]\n",
    ),
    "in one epoch that has a name": program(above="EPOCHS = 1", mark="").replace("range(9)", "range(EPOCHS)"),
    "in epochs that have a name": program(above="EPOCHS = 5").replace("range(9)", "range(EPOCHS)"),
    "by a method": CLASS.format(more="", mark=BAD),
    "by a method, beside one that mixes": CLASS.format(more="\n    def mix(self):\n        np.random.shuffle(self.rows)\n", mark=BAD),
    "by a method, with one that mixes": CLASS.format(more="\n    def mix(self):\n        np.random.shuffle(self.rows)\n", mark="").replace(
        "            for batch in", "            self.mix()\n            for batch in"
    ),
    "of what is mixed before": program(before="order = np.random.permutation(n)\n    x, y = x[order], y[order]"),
    "of what torch mixes before": program(before="order = torch.randperm(n)\n    x, y = x[order], y[order]"),
    "of what torch mixes in each epoch": program(first="order = torch.randperm(n)\n        x, y = x[order], y[order]", mark=""),
    "of what is mixed in between": program(before="order = np.random.permutation(n)", first="np.random.shuffle(order)", a="x[order][i : i + size]", mark=""),
})
def test_cut_batches(code):
    holds(code)
