"""What the reader of the sixth table saw and torchlint did not, or said wrongly: one case for each cause that was mended."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "302: a last function that is kept under one name, and the loss that goes with it": """
class Out(nn.Module):
    def __init__(self, nll):
        super().__init__()
        self.conv = nn.Conv3d(4, 2, 1)
        if nll:
            self.last = F.log_softmax
        else:
            self.last = F.softmax

    def forward(self, x):
        out = self.conv(x).permute(0, 2, 3, 4, 1).contiguous()
        out = out.view(out.numel() // 2, 2)
        return self.last(out, dim=1)

def train_nll(model, loader, optimizer, weights):
    for x, y in loader:
        optimizer.zero_grad()
        F.nll_loss(model(x), y.view(-1), weight=weights).backward()
        optimizer.step()

def train_own(model, loader, optimizer, weights):
    for x, y in loader:
        optimizer.zero_grad()
        dice(model(x), y).backward()
        optimizer.step()

def main(args, loader, weights):
    nll = True
    if args.dice:
        nll = False
    model = Out(nll=nll)
    if nll:
        train = train_nll
    else:
        train = train_own
    optimizer = torch.optim.Adam(model.parameters())
    train(model, loader, optimizer, weights)
""",
    "301: one of several models, and not each ends in a softmax": """
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)

class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.fc = nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.cell(x)[0][:, -1])

def main(args, loader):
    if args.model == "words":
        model = Words()
    elif args.model == "memory":
        model = Memory()
    else:
        raise ValueError(args.model)
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # <- 301
        loss.backward()
        optimizer.step()
""",
    "301: one model that ends in a softmax only if it is told so": """
class Words(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.fc, self.own = nn.Linear(8, 4), own

    def forward(self, x):
        out = self.fc(x)
        return F.softmax(out, dim=1) if self.own else out

def main(args, loader):
    model = Words(args.own)
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
    "301: the loss goes by the model": """
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)

class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x)

def main(args, loader):
    if args.words:
        model = Words()
    else:
        model = Scores()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        if args.words:
            loss = own_loss(model(x), y)
        else:
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
""",
})
def test_read_sixth(code):
    holds(code)
