"""Sound code of the kinds that were flagged once, found by reading findings on real repositories; and its wrong twins."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, holds, table
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine


@table({
    "503: the dict of another module": """
class Wrapped(nn.Module):
    def __init__(self, other):
        self.__dict__ = other.__dict__
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x)
""",
    "503: an attribute of another name": """
class Wrapped(nn.Module):
    def __init__(self, other):  # <- 503
        self.other = other.__class__
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x)
""",
    "203: one epoch, and no more": """
def fit(net, loader, held_out, optimizer):
    net.train()
    for epoch in range(1):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(F.mse_loss(net(x), y).item())
""",
    "203: features that an optimizer out of sight may leave alone": """
def fit(body, head, loader, held_out, optimizer):
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(head(body(x)), y).backward()
            optimizer.step()
        body.eval()
        with torch.no_grad():
            print(sum(body(x).norm() for x, y in held_out))
""",
    "203: features that the optimizer has": """
def fit(body, head, loader, held_out):
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(head(body(x)), y).backward()  # <- 203
            optimizer.step()
        body.eval()
        with torch.no_grad():
            print(sum(body(x).norm() for x, y in held_out))
""",
    "202: a method that may only count what the model gave": """
import transformers

def check(loader):
    model = transformers.BertModel.from_pretrained("bert")
    model.eval()
    for x, y in loader:
        with torch.no_grad():
            scores = model(x)
        print(model.hits(scores, y).item())
""",
    "202: a method that is given the data": """
import transformers

def check(loader):
    model = transformers.BertModel.from_pretrained("bert")
    model.eval()
    for x, y in loader:
        scores = model.scores(x)  # <- 202
        print((scores.argmax(1) == y).sum().item())
""",
    "203: two epochs": """
def fit(net, loader, held_out, optimizer):
    net.train()
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()  # <- 203
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(F.mse_loss(net(x), y).item())
""",
    "401: a helper that moves to a GPU where there is one": """
def move(tensor):
    if torch.cuda.is_available():
        return tensor.cuda()
    return tensor

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 4)
        self.gru = nn.GRU(4, 4)

    def forward(self, words, hidden):
        return self.gru(self.embedding(words).view(len(words), 1, -1), hidden)[0]

encoder = Encoder()
if torch.cuda.is_available():
    encoder.cuda()
encoder(move(torch.tensor([1, 2])), move(torch.zeros(1, 1, 4)))
""",
    "401: a state that is always on the GPU": """
def run(gru):
    return gru(torch.zeros(2, 1, 4), torch.zeros(1, 1, 4).cuda())  # <- 401

run(nn.GRU(4, 4))
""",
    "402: a state that a caller may give": """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 4, batch_first=True)

    def forward(self, data, given=None):
        if given is None:
            hidden = torch.randn(1, data.shape[0], 4)  # <- 402
            cell = torch.randn(1, data.shape[0], 4)  # <- 402
            given = (hidden, cell)
        return self.lstm(data, given)[0]
""",
    "603: items that are drawn, whatever their number": """
class Signals(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, item):
        return make_signal(self.size)

def train(net, optimizer, epochs):
    loader = torch.utils.data.DataLoader(Signals(64), batch_size=4)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
""",
    "603: items by their number": """
class Signals(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, item):
        return make_signal(self.size, item)

def train(net, optimizer, epochs):
    loader = torch.utils.data.DataLoader(Signals(64), batch_size=4)  # <- 603
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
""",
    "710: weights to use, with the optimizer left out": """
def train(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"epoch": -1, "state_dict": net.state_dict(), "optimizer": None}, "best.pth")
""",
    "416: another mode, in which the caller may have switched gradients off": """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, mode="train"):
        weight = self.layer(x)
        if mode == "train":
            where = torch.LongTensor(weight.detach().numpy().nonzero())
        else:
            where = torch.LongTensor(weight.numpy().nonzero())
        return weight[where]
""",
    "416: in a forward, which callers may run under no_grad": """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        weight = self.layer(x)
        where = torch.LongTensor(weight.numpy().nonzero())
        return weight[where]
""",
    "943: an image or a tensor": """
from PIL import Image

def shrink(image, size):
    if isinstance(image, Image.Image):
        return image.resize(size, resample=1)
    return F.interpolate(image, size=size)

def build(image):
    nn.Conv2d(1, 2, 3, biases=False)  # <- 943
    return shrink(torch.zeros(1, 3, 8, 8), (4, 4)), shrink(image, (4, 4))
""",
    "508: a class in a function has the name of one of the file": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 10)

    def forward(self, x):
        return self.fc1(x)

def check():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(10, 10)

        def forward(self, x):
            return self.lin(x)

    return Net()(torch.ones(2, 10))
""",
    "805: a temporary file": """
import tempfile
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def check(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(nn.Linear(16, 4).cuda(), device_ids=[rank])
    with tempfile.NamedTemporaryFile() as tmp:
        torch.save(model.module.state_dict(), tmp.name)
    torch.save(model.module.state_dict(), "model.pt")  # <- 805
""",
    "943: a function in a variable, and a condition that asks for it": """
def run(op, x, weight):
    if op is F.embedding_bag:
        return op(x, weight, mode="sum")
    return op(x, weight)

def both(x, weight):
    return run(F.embedding, x, weight), run(F.embedding_bag, x, weight)
""",
    "412: a storage, a size": """
def cast(x, shape):
    shape = torch.Size(shape)
    return torch.tensor(x.untyped_storage()), torch.tensor(shape)
""",
})
def test_read(code):
    holds(code)


@pytest.mark.parametrize("lines, rows", [("model.set_input(data)\n            model.forward()", []), ("model.forward(data)", [8])])
def test_504(lines, rows):
    """A trainer that is called a model is none: its forward takes nothing."""
    text = f"""{IMPORTS}
def test(model, dataset):
    model.eval()
    with torch.no_grad():
        for data in dataset:
            {lines}
"""
    judged = Engine((catalogue().find(504),)).check("snippet.py", text)
    assert [finding.location.row - 1 for finding in judged.findings] == rows
