"""603: batches that an object of the program's own hands out, one after the other."""

from tests.torchlint.dryrun.support import holds, table

BAD = "  # <- 603"
PROGRAM = """
import random

class Batches:
    def __init__(self, rows, size, device):
        self.rows, self.size, self.device = rows, size, device
        self.count = len(rows) // size
        self.number = 0

    def __iter__(self):
        {begins}

    def __next__(self):
        if self.number >= self.count:
            self.number = 0
            raise StopIteration
        {cut}
        self.number += 1
        return torch.tensor([row[0] for row in rows]).to(self.device), torch.tensor([row[1] for row in rows])
{more}

def fit(net, train_rows, epochs):
    {before}
    batches = Batches(train_rows, 64, "cpu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        {first}
        for k, (x, y) in enumerate(batches):{mark}
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""
CUT = "rows = self.rows[self.number * self.size : (self.number + 1) * self.size]"


def program(begins="return self", cut=CUT, more="", before="pass", first="pass", mark=BAD):
    return PROGRAM.format(begins=begins, cut=cut, more=more, before=before, first=first, mark=mark)


@table({
    "by a number that is counted": program(),
    "from where a number of its own begins": program(cut="low = self.number * self.size\n        rows = self.rows[low : low + self.size]"),
    "a pass that sets the number to its start": program(begins="self.number = 0\n        return self"),
    "what is mixed once": program(before="random.shuffle(train_rows)"),
    "one that mixes where a pass begins": program(begins="random.shuffle(self.rows)\n        return self", mark=""),
    "one that says that its rows are in an order": program(more="\n    def sort_rows(self):\n        self.rows.sort()\n", mark=""),
    "what each epoch mixes": program(first="random.shuffle(train_rows)", mark=""),
    "one that is told of the epoch": program(first="batches.begin(epoch)", more="\n    def begin(self, epoch):\n        self.rows = draw(epoch)\n", mark=""),
    "one that is made in each epoch": program(first="batches = Batches(read(epoch), 64, 'cpu')", mark=""),
    "one whose rows each epoch replaces": program(first="batches.rows = read(epoch)", mark=""),
    "pieces of one long text": program(mark="").replace("Batches", "BPTTBatches"),
    "one epoch": program(mark="").replace("range(epochs)", "range(1)"),
    "of a base that is in no file": program(mark="").replace("class Batches:", "class Batches(Feeder):").replace("import random", "import random\nfrom feeders import Feeder"),
})
def test_handed_out(code):
    holds(code)
