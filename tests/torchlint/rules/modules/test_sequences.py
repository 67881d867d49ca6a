"""510: layers without batch_first, and what is made of their outputs."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "the output however it is taken": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8, 2, True, False)
        self.rnn = nn.RNN(input_size=4, hidden_size=8)

    def forward(self, x):
        states = self.gru(x)[0]
        a = states[:, -1]  # <- 510
        out, _ = self.rnn(x)
        b = out[:, -1, :]  # <- 510
        c = torch.relu(out)[:, -1]
        return a, b, c, out[-1], out[:, 0], out[:, -1, 2], out[1:, -1]
""",
    "what a layer gives besides": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        _, state = self.lstm(x)
        return h[:, -1], state[0][:, -1]
""",
    "batch first, or perhaps": """
class Net(nn.Module):
    def __init__(self, first, options, deep):
        super().__init__()
        self.a = nn.LSTM(4, 8, 1, True, True)
        self.b = nn.LSTM(4, 8, batch_first=first)
        self.c = nn.LSTM(4, 8, **options)
        self.d = nn.LSTM(4, 8) if deep else nn.GRU(4, 8, batch_first=True)

    def forward(self, x):
        return self.a(x)[0][:, -1], self.b(x)[0][:, -1], self.c(x)[0][:, -1], self.d(x)[0][:, -1]
""",
    "subscripts of all kinds": """
def f(x):
    x[()], x[:,], x[..., -1], x[-1, :]
    x[:, -1] = x[:,]
    return torch.zeros(2)[:,]
""",
    "a batch of one": """
lstm = nn.LSTM(4, 8)

def f(x):
    out, _ = lstm(x.unsqueeze(1))
    one, _ = lstm(torch.randn(5, 1, 4))
    many, _ = lstm(torch.randn(5, 3, 4))
    return out[:, -1], one[:, -1], many[:, -1]  # <- 510
""",
    "means": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)
        self.layer = nn.TransformerEncoderLayer(8, 2)
        self.fine = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)

    def forward(self, x):
        out, weights = self.attention(x, x, x)
        a = out.mean(1)  # <- 510
        b = self.layer(x).mean(dim=1)  # <- 510
        return a, b, weights.mean(1), self.fine(x).mean(1), self.layer(x).mean(0), self.layer(x).transpose(0, 1).mean(1)
""",
})
def test_sequences(code):
    holds(code)


FLAT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{layer}
        self.flat = nn.Flatten()
        self.head = nn.Linear({wide}, 10)

    def forward(self, x):
        out, _ = self.rnn({given})
        return self.head({rows}){mark}
"""


def flat(rows, mark="  # <- 510", layer="LSTM(4, 8)", wide=800, given="x"):
    return FLAT.format(rows=rows, mark=mark, layer=layer, wide=wide, given=given)


@table({
    "a layer that flattens": flat("self.flat(out)"),
    "flatten": flat("out.flatten(1)"),
    "view": flat("out.view(out.size(0), -1)"),
    "reshape, both ways": flat("out.reshape(len(out), -1)", layer="GRU(4, 8, bidirectional=True)"),
    "the batch comes first": flat("out.flatten(1)", mark="", layer="LSTM(4, 8, batch_first=True)"),
    "one step alone": flat("out.view(len(x), -1)", mark="", wide=8),
    "all steps of one sequence": flat("out.view(1, -1)", mark=""),
    "a batch of one": flat("out.view(len(x), -1)", mark="", wide=16, layer="LSTM(4, 8)", given="x.view(len(x), 1, 4)"),
    "turned back": flat("out.transpose(0, 1).flatten(1)", mark=""),
    "a width that is none of its steps": flat("out.flatten(1)", mark="", wide=12),
})
def test_laid_flat(code):
    holds(code)


FED = """
from torch.utils.data import DataLoader, Dataset

class Words(Dataset):
    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words) - 4

    def __getitem__(self, i):
        return torch.tensor({sample}), torch.tensor(self.words[i + 4])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 4)
        self.rnn = nn.GRU(4, 8{first})
        self.head = nn.Linear(8, 100)

    def forward(self, x, state):
        {before}
        out, state = self.rnn({given}, state){mark}
        return self.head(out), state

def train(words, loader_options, state):
    net, optimizer = Net(), torch.optim.Adam([])
    loader = DataLoader(Words(words), batch_size={size}{options})
    for x, y in loader:
        scores, state = net(x.to("cpu"), state.detach())
        F.cross_entropy(scores.transpose(1, 2), y).backward()
"""


def fed(mark="  # <- 510", sample="self.words[i : i + 4]", first="", before="pass", given="self.embedding(x)", size="64", options=""):
    return FED.format(mark=mark, sample=sample, first=first, before=before, given=given, size=size, options=options)


@table({
    "windows of a text": fed(),
    "mixed samples": fed(sample="self.words[i]", options=", shuffle=True"),
    "samples of three sizes": fed(sample="self.words[i]", given="self.embedding(x).view(-1, 7, 4)"),
    "the batch comes first": fed(mark="", first=", batch_first=True"),
    "turned round before": fed(mark="", before="x = x.t()"),
    "in order, and no windows: they may be the steps": fed(mark="", sample="self.words[i]"),
    "a collate function": fed(mark="", options=", collate_fn=print"),
    "a loader that stacks nothing": fed(mark="", size="None"),
    "laid out anew for the steps": fed(mark="", given="self.embedding(x).view(-1, batch_size, 4)"),
})
def test_fed_batches(code):
    holds(code)
