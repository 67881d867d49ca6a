"""401 of a model whose forward hands what it is given to methods that put it on a device."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
from torch.utils.data import DataLoader, Dataset

class Sentences(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i][0]), torch.tensor(self.rows[i][1])

class Vectors(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 16)

    def look_up(self, words):
        {look_up}
        return self.table(found)

    def forward(self, words):
        return self.table(words)

class Net(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.vectors, self.head = vectors, nn.Linear(16, 2)

    def own(self, words):
        {own}
        return self.vectors(found)

    def forward(self, words):
        return self.head({forward})

def main(rows):
    net = Net(Vectors()).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for words, y in DataLoader(Sentences(rows), batch_size=8, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(net(words), y.cuda()).backward(){mark}
            optimizer.step()
"""
STAYS, MARK = "found = words.long()", "  # <- 401"


def net(forward, look_up=STAYS, own=STAYS, mark=""):
    return MODEL.format(forward=forward, look_up=look_up, own=own, mark=mark)


ASKS = "found = torch.LongTensor(words)\n        found = found.cuda() if self.table.weight.is_cuda else found"


@table({
    "a part's method": net("self.vectors.look_up(words)", look_up="found = words.cuda()"),
    "asks where its weights are": net("self.vectors.look_up(words)", look_up=ASKS),
    "a method of its own": net("self.own(words)", own="found = words.to(self.head.weight.device)"),
    "and its size": net("self.vectors.look_up(words).view(words.size(0), -1)", look_up="found = words.cuda()"),
    "stays": net("self.vectors.look_up(words)", mark=MARK),
    "stays in its own": net("self.own(words)", mark=MARK),
    "another method moves": net("self.vectors(words)", look_up="found = words.cuda()", mark=MARK),
    "is used as it is, too": net("self.vectors.look_up(words) + self.vectors.table(words)", look_up="found = words.cuda()", mark=MARK),
    "what a layer made is moved": net("self.vectors.look_up(words)", look_up="found = self.table(words)\n        found = found.cuda()", mark=MARK),
})
def test_methods_place_what_forward_hands_them(code):
    holds(code)
