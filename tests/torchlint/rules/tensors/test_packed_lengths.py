"""401 of lengths on the GPU that are given to `pack_padded_sequence`."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
from torch.nn.utils.rnn import pack_padded_sequence

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn, self.head = nn.Embedding(100, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 2)

    def forward(self, x, lengths):
        order = lengths.argsort(descending=True)
        packed = pack_padded_sequence(self.embedding(x), {lengths}, batch_first=True, enforce_sorted=False){mark}
        return self.head(self.rnn(packed)[1][0][-1])

def main(loader):
    model = Tagger().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(10):
        for x, lengths, y in loader:
            x, {moved}, y = x.to(device), {there}, y.to(device)
            optimizer.zero_grad()
            F.cross_entropy(model(x, {moved}), y).backward()
            optimizer.step()
"""

TOLD = "  # <- 401"


def model(lengths="lengths", mark=TOLD, moved="lengths", there="lengths.to(device)"):
    return MODEL.format(lengths=lengths, mark=mark, moved=moved, there=there)


@table({
    "as they come": model(),
    "by name": model("lengths=lengths"),
    "in another order": model("lengths[order]"),
    "sorted": model("lengths.sort(descending=True)[0]"),
    "sorted by a function": model("torch.sort(lengths, descending=True)[0]"),
    "one less": model("lengths - 1"),
    "counted in what was moved": model("x.ne(0).sum(1).int()"),
    "brought back": model("lengths.cpu()", ""),
    "a list": model("lengths.tolist()", ""),
    "an array": model("lengths.data.cpu().numpy() - 1", ""),
    "brought back in another way": model('lengths.to("cpu")', ""),
    "asked first where they are": model("lengths.cpu() if lengths.is_cuda else lengths", ""),
    "never moved": model(mark="", there="lengths"),
    "one less, never moved": model("lengths - 1", mark="", there="lengths"),
})
def test_lengths_are_packed_by(code):
    holds(code)


PLACE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'


@table({
    "put together": ('f"cuda:{INDEX}"', TOLD),
    "where there is one": ('torch.device(f"cuda:{INDEX}" if torch.cuda.is_available() else "cpu")', TOLD),
    "filled in": ('torch.device("cuda:{}".format(INDEX) if torch.cuda.is_available() else "cpu")', TOLD),
    "filled in as in C": ('torch.device("cuda:%d" % INDEX)', TOLD),
    "added": ('torch.device("cuda:" + str(INDEX))', TOLD),
    "of another kind": ('torch.device(f"{KIND}:{INDEX}")', ""),
    "the CPU": ('torch.device("{}:0".format(KIND))', ""),
})
def test_a_gpu_of_which_the_number_is_not_known(code):
    place, mark = code
    holds("from settings import INDEX, KIND\n" + model(mark=mark).replace(PLACE, place))


def test_lengths_that_a_loss_packs_by_are_told_where_it_packs():
    holds(
        """
from torch.nn.utils.rnn import pack_padded_sequence

class Batches:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return iter([[d] for d in self.data])

class Loss(nn.Module):
    def forward(self, scores, targets, lengths):
        scores, _, _, _ = pack_padded_sequence(scores, lengths, batch_first=True)  # <- 401
        targets, _, _, _ = pack_padded_sequence(targets, lengths, batch_first=True)  # <- 401
        return F.cross_entropy(scores, targets)

def train(loader, model, criterion, optimizer):
    for x, y, lengths in loader:
        x, y, lengths = x.cuda(), y.cuda(), lengths.cuda()
        loss = criterion(model(x), y, lengths - 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def main(data, model):
    model, criterion, loader = model.cuda(), Loss(), Batches(data)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(10):
        train(loader, model, criterion, optimizer)
"""
    )


SORTED = """
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, Dataset

class Phrases(Dataset):
    def __init__(self, phrases):
        self.phrases = phrases

    def __len__(self):
        return len(self.phrases)

    def __getitem__(self, index):
        ids, label, length = self.phrases[index]
        return torch.tensor(ids), torch.tensor(label), torch.tensor(length)

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn, self.head = nn.Embedding(100, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 2)

    def forward(self, x, lengths):
        {forward}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Tagger().to(device)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(10):
    for x, y, lengths in DataLoader(Phrases([]), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(device), lengths), y.to(device)).backward(){mark}
        optimizer.step()
"""


@table({
    "sorted, and the places in their order select from a tensor on the GPU": SORTED.format(
        forward="""longest, order = lengths.sort(0, descending=True)
        packed = pack_padded_sequence(self.embedding(x)[order], longest, batch_first=True)
        hidden = self.rnn(packed)[1][0][-1]
        scores = torch.zeros_like(hidden)
        scores[order] = hidden
        return self.head(scores)""",
        mark="",
    ),
    "as they are": SORTED.format(
        forward="""packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.rnn(packed)[1][0][-1])""",
        mark="",
    ),
    "multiplied, not packed by": SORTED.format(
        forward="return self.head(self.rnn(self.embedding(x))[1][0][-1] / lengths.unsqueeze(1))",
        mark="  # <- 401",
    ),
})
def test_lengths_that_a_model_packs_by_stay_on_the_cpu(code):
    holds(code)
