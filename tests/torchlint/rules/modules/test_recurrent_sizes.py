"""508: how wide what a recurrent layer gives is, and what is taken out of it."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "of both directions": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(28, 64, batch_first=True, bidirectional=True)
        self.one, self.both = nn.Linear(64, 10), nn.Linear(128, 10)

    def forward(self, x):
        out, h = self.gru(x)
        a = self.both(out[:, -1, :]), self.both(out[:, -1]), self.both(out.mean(1)), self.both(out), self.one(h[-1])
        b = self.one(out[:, -1, :])  # <- 508
        c = self.one(out[:, -1])  # <- 508
        d = self.one(out.mean(1))  # <- 508
        e = self.both(h[-1])  # <- 508
        f = self.both(torch.cat((h[-2], h[-1]), dim=1))
        g = self.one(torch.cat((h[-2], h[-1]), dim=1))  # <- 508
        return a, b, c, d, e, f, g
""",
    "of one": """
class Net(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, 2)
        self.projected = nn.LSTM(28, 64, proj_size=16)
        self.head, self.wide = nn.Linear(16, 10), nn.Linear(64, 10)

    def forward(self, x):
        out, _ = self.lstm(x)
        small, _ = self.projected(x)
        return self.head(out[-1]), self.head(small[-1]), self.head(small)

    def other(self, x):
        small, (h, c) = self.projected(x)
        return self.wide(c[-1]), self.wide(small[-1, :, :])  # <- 508
""",
    "where it is not known how many dimensions there are": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(28, 64)
        self.head = nn.Linear(28, 10)

    def forward(self, x):
        out, _ = self.lstm(x)
        a = self.head(out[:, :28]), self.head(out[..., :28]), self.head(out[:, 0]), self.head(out[0])
        return a, self.head(out[:, 0, :])  # <- 508
""",
    "which directions is not known": """
class Net(nn.Module):
    def __init__(self, both):
        super().__init__()
        self.lstm = nn.LSTM(28, 64, bidirectional=both)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0])
""",
    "said by place": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(28, 64, 1, True, True, 0.0, True)
        self.rnn = nn.RNN(28, 64, 1, "relu", True, True, 0.0, True)
        self.one, self.both = nn.Linear(64, 10), nn.Linear(128, 10)

    def forward(self, x):
        a = self.both(self.gru(x)[0]), self.both(self.rnn(x)[0][:, -1])
        return a, self.one(self.gru(x)[0]), self.one(self.rnn(x)[0][:, -1])  # <- 508, 508

    def more(self, x, options):
        return self.one(nn.GRU(28, 64, *options)(x)[0])
""",
    "cells": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.gru = nn.LSTMCell(28, 64), nn.GRUCell(28, 32)
        self.head, self.small = nn.Linear(64, 10), nn.Linear(32, 10)

    def forward(self, x):
        h, c = self.cell(x)
        a = self.head(h), self.small(self.gru(x))
        return a, self.small(h), self.head(self.gru(x))  # <- 508, 508
""",
    "attention": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4)
        self.head, self.small = nn.Linear(64, 10), nn.Linear(32, 10)

    def forward(self, x):
        out, weights = self.attention(x, x, x)
        a = self.head(out), self.small(weights)
        return a, self.small(out)  # <- 508
""",
})
def test_recurrent_sizes(code):
    holds(code)
