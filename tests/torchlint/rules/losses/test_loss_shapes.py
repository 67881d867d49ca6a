"""308 and 309: what is known of the two shapes of a loss, and what is not."""

import pytest

from tests.torchlint.dryrun.support import holds, table


@table({
    "targets of a loader": """
from torch.utils.data import DataLoader, TensorDataset

def train(net, x, rows):
    data = TensorDataset(torch.randn(100, 4), torch.randn(100))
    columns = TensorDataset(torch.randn(100, 4), torch.randn(100, 1))
    crit, head = nn.MSELoss(), nn.Linear(4, 1)
    for x, y in DataLoader(data, batch_size=8):
        crit(head(x), y).backward()  # <- 309
        crit(head(x).squeeze(1), y).backward()
        crit(head(x)[:, 0], y).backward()
    for x, y in DataLoader(columns, batch_size=8):
        crit(head(x), y).backward()
        crit(head(x).view(-1), y).backward()  # <- 309
        crit(head(x).view(-1), y.squeeze(1)).backward()
        nn.BCEWithLogitsLoss()(head(x).view(-1), y).backward()  # <- 308
    for batch in DataLoader(data, collate_fn=rows):
        crit(head(batch[0]), batch[1]).backward()
""",
    "a loader that is declared": """
from torch.utils.data import DataLoader

def train(loader: DataLoader):
    head = nn.Linear(4, 1)
    for x, y in loader:
        F.mse_loss(head(x), y.float().view(-1))  # <- 309
        F.mse_loss(head(x), y)
""",
    "one example at a time": """
def online(critic, states):
    head = nn.Linear(4, 1)
    for state, reward in states:
        F.mse_loss(head(state), reward.view(-1))
        F.mse_loss(head(state), torch.tensor([1.0]))
        F.mse_loss(head(state), torch.tensor([1.0, 2.0]))  # <- 309
""",
    "all pairs, and one of two": """
def f(flag, how):
    a, b = torch.randn(5, 1), torch.randn(5)
    F.mse_loss(a, b, reduction="none").min(1)
    nn.MSELoss(reduction=how)(a, b)
    c = a if flag else b
    F.mse_loss(c, b)
    if a.shape != b.shape:
        b = b.unsqueeze(1)
    F.mse_loss(a, b)
""",
    "behind a condition on sizes": """
def f():
    a, b = torch.randn(5, 1), torch.randn(5)
    if a.dim() == b.dim():
        return F.mse_loss(a, b)
""",
    "a model is called with tensors of several shapes": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)

    def forward(self, x):
        return self.out(x).squeeze(-1)

def f(net: nn.Module):
    model = Net()
    F.mse_loss(model(torch.randn(5, 3)), torch.randn(5))
    F.mse_loss(model(torch.randn(5, 2, 3)), torch.randn(5, 2))
    F.mse_loss(model(torch.randn(5, 3)), torch.randn(5, 1))  # <- 309
    F.mse_loss(model(torch.randn(5, 3)), torch.randn(4))  # <- 308
""",
    "cross entropy": """
def f(x, y):
    scores = nn.Linear(8, 10)(x)
    F.cross_entropy(scores, y.view(-1))
    F.cross_entropy(scores, y.view(-1, 1))  # <- 308
    F.cross_entropy(scores, y.view(-1, 10))
    F.cross_entropy(torch.randn(4, 7, 10), torch.randint(0, 7, (4, 10)))
    F.cross_entropy(torch.randn(4, 10, 7), torch.randint(0, 7, (4, 10)))  # <- 308
    F.cross_entropy(torch.randn(4, 10), torch.randint(0, 10, (5,)))  # <- 308
    F.cross_entropy(torch.randn(4, 5, 10), torch.randint(0, 10, (20,)))  # <- 308
""",
})
def test_shapes_of_losses(code):
    holds(code)


LABELS = """
from torch.utils.data import DataLoader

class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x.view(x.size(0), -1))

def train(images, shape, sizes, options):
    net, crit = Discriminator(), nn.BCELoss()
    for img, _ in DataLoader(images, batch_size=64):
        real = torch.ones(GIVEN)
        crit(net(img), real).backward()MARK
"""
ONE_SIZE = ["img.size(0)", "img.shape[0]", "len(img)", "options.batch_size", "img.size()[0]"]
SEVERAL = ["shape", "sizes", "img.size()", "img.shape", "img.size(0), 1", "options.shape"]


@pytest.mark.parametrize(("given", "mark"), [*((one, "  # <- 308") for one in ONE_SIZE), *((one, "") for one in SEVERAL)])
def test_labels_of_as_many_as_there_are(given, mark):
    """One number gives one dimension, whatever it is; what may be a tuple is not known."""
    holds(LABELS.replace("GIVEN", given).replace("MARK", mark))


@table({
    "a map of scores, and a row of labels": """
from torch.utils.data import DataLoader

def train(images, opt):
    net, crit = nn.Sequential(nn.Conv2d(3, 8, 4), nn.ReLU(), nn.Conv2d(8, 1, 4), nn.Sigmoid()), nn.BCELoss()
    label = torch.FloatTensor(opt.batchSize)
    for img, _ in DataLoader(images, batch_size=opt.batchSize, drop_last=True):
        label.data.fill_(1)
        crit(net(img), label).backward()  # <- 308
        crit(net(img).view(-1), label).backward()
        crit(net(img).squeeze(), label).backward()
        crit(net(img), torch.ones(img.size(0), 1, 1, 1)).backward()
""",
    "by the function": """
def judge(x, labels):
    real = torch.zeros(16)
    scores = nn.ConvTranspose1d(4, 1, 3)(x)
    F.binary_cross_entropy_with_logits(scores, real)  # <- 308
    F.binary_cross_entropy_with_logits(real, scores)  # <- 308, 310
    F.binary_cross_entropy_with_logits(scores.flatten(1), real.unsqueeze(1))
    return F.binary_cross_entropy_with_logits(nn.Linear(4, 1)(x), real.view(-1, 1))
""",
    "classes of a map": """
def segment(x, y):
    scores = nn.Conv2d(3, 5, 1)(x)
    F.cross_entropy(scores, y.view(-1))  # <- 308
    F.cross_entropy(scores, y)
    F.cross_entropy(scores.mean((2, 3)), y.view(-1))
    return F.cross_entropy(scores.permute(0, 2, 3, 1).reshape(-1, 5), y.view(-1))
""",
    "what may be data": """
def f(x, num_likes, batch_size):
    scores = nn.Sigmoid()(nn.Conv2d(3, 1, 1)(x))
    F.binary_cross_entropy(scores, torch.FloatTensor(num_likes))
    F.binary_cross_entropy(scores, torch.FloatTensor(batch_size))  # <- 308
    return F.binary_cross_entropy(scores, torch.FloatTensor(x.labels))
""",
})
def test_however_many_dimensions_are_in_front(code):
    holds(code)


RESIZED = """
class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x).view(-1, 1)

class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 1, 4), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x).view(x.size(0), -1)

class Trainer:
    def __init__(self, options, loader):
        self.options, self.loader = options, loader
        self.judge = Judge() if options.toy else Pictures()

    def given(self, x):
        if self.options.gpus > 0:
            x = x.cuda()
        return x

    def train(self):
        crit = nn.BCELoss()
        label = torch.FloatTensor(self.options.batch_size)
        if self.options.gpus > 0:
            label = label.cuda()
        optimizer = torch.optim.Adam(self.judge.parameters())
        for x, other in self.loader:
            if x.size(0) != other.size(0):
                continue
            x = self.given(x)
            label.data.resize_(x.size(0)).fill_(1)
            optimizer.zero_grad()
            if self.options.loss == "log":
                crit(self.judge(x), label).backward()  # <- 308
                optimizer.step()
"""


@table({
    "labels that take as many as there are": RESIZED,
    "labels that get a dimension more": RESIZED.replace("resize_(x.size(0))", "resize_(x.size(0), 1)").replace("  # <- 308", ""),
    "sizes that are not known": RESIZED.replace("resize_(x.size(0))", "resize_(self.options.sizes)").replace("  # <- 308", ""),
    "one model gives a row": RESIZED.replace(".view(-1, 1)", ".view(-1)").replace("  # <- 308", ""),
    "where the losses are chosen by a number": RESIZED.replace('self.options.loss == "log"', "self.options.outputs == 1").replace("  # <- 308", ""),
    "where the dimensions are asked for": RESIZED.replace("x.size(0) != other.size(0)", "x.dim() != 3").replace("  # <- 308", ""),
    "where another size is": RESIZED.replace("x.size(0) != other.size(0)", "x.size(1) != other.size(1)").replace("  # <- 308", ""),
})
def test_sizes_that_all_alternatives_have(code):
    """Of one of several models, and of labels that are resized for each batch, what is true of each is known."""
    holds(code)


@table({
    "one of several counts": """
def judge(x, k, flag, num_likes):
    n = x.size(0) if flag else k.shape[0]
    m = 3 if flag else k.size(0)
    scores = nn.Sigmoid()(nn.Linear(4, 1)(x)).view(-1, 1)
    F.binary_cross_entropy(scores, torch.FloatTensor(n))  # <- 308
    F.binary_cross_entropy(scores, torch.FloatTensor(m))  # <- 308
    F.binary_cross_entropy(scores, torch.FloatTensor(n, 1))
    F.binary_cross_entropy(scores, torch.zeros(n))  # <- 308
    return F.binary_cross_entropy(scores, torch.FloatTensor(num_likes if flag else n))
""",
})
def test_a_count_that_is_one_of_several(code):
    holds(code)
