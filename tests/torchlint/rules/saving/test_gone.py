"""941, 942 and 943 of what old programs ask for: torchvision's names, losses as tensors of one item, factors given first."""

import pytest

from tests.torchlint.dryrun.support import holds, table
from tests.torchlint.support import write
from torchlint import check


@table({
    "transforms": """
from torchvision import transforms

def data():
    return transforms.Compose([transforms.Scale(256), transforms.CenterCrop(224)])  # <- 941
""",
    "transforms under an option": """
from torchvision import transforms

def data(args):
    if args.old:
        return transforms.Scale(args.size)  # <- 941
    return transforms.Resize(args.size)
""",
    "transforms by version": """
import torchvision
from torchvision import transforms

def data(size):
    if torchvision.__version__ < "0.2":
        return transforms.Scale(size)
    if not hasattr(transforms, "Resize"):
        return transforms.Scale(size)
    return transforms.Resize(size)
""",
    "a transform that is imported": """
from torchvision.transforms import RandomSizedCrop  # <- 941

def crop():
    return RandomSizedCrop(224)
""",
    "NumPy, as torch once had it by accident": """
from torch import np  # <- 941

def noise(size):
    return np.random.rand(size)
""",
    "NumPy out of torch, by its full name": "def noise(size):\n    return torch.np.random.rand(size)  # <- 941\n",
    "NumPy itself": "import numpy as np\nfrom torch import from_numpy\n\ndef noise(size):\n    return from_numpy(np.random.rand(size))\n",
    "transforms of one's own": """
import transforms

def data():
    return transforms.Compose([transforms.Scale(256)])
""",
    "a file that asks for both": """
from torchvision import transforms

try:
    resize = transforms.Resize
except AttributeError:
    resize = transforms.Scale(256)
""",
    "arguments": """
from torchvision.utils import make_grid, save_image

def show(images):
    save_image(images, "a.png", normalize=True, range=(-1, 1))  # <- 943
    save_image(tensor=images, filename="b.png", nrow=4)  # <- 943
    save_image(tensor=images, fp="c.png", nrow=4)
    return make_grid(images, normalize=True, value_range=(-1, 1))
""",
    "arguments of transforms": """
from torchvision import transforms

def data():
    return transforms.Compose([transforms.RandomRotation(10, resample=2), transforms.RandomAffine(5, fill=0)])  # <- 943
""",
    "the root of LSUN": """
import torchvision
import torchvision.datasets as dset
from torchvision.datasets import LSUN

def rooms(path, old):
    data = dset.LSUN(db_path=path, classes=["bedroom_train"])  # <- 943
    towers = LSUN(classes="val", db_path="lsun")  # <- 943
    return data, towers, torchvision.datasets.LSUN(root=path), torchvision.datasets.LSUN(path)
""",
    "an LSUN of one's own": """
from rooms import LSUN

def rooms(path):
    return LSUN(db_path=path)
""",
    "LSUN by version": """
import torchvision

def rooms(path):
    if torchvision.__version__ < "0.2.1":
        return torchvision.datasets.LSUN(db_path=path)
    return torchvision.datasets.LSUN(path)
""",
    "a loss is a number": """
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.data[0])  # <- 941
""",
    "a loss function by another name": """
def train(model, loader, optimizer):
    measure = nn.CrossEntropyLoss()
    for x, y in loader:
        optimizer.zero_grad()
        off = measure(model(x), y)
        off.backward()
        optimizer.step()
        print(off[0])  # <- 941
""",
    "added up over the steps": """
def train(decoder, words, criterion, optimizer):
    loss = 0
    for word, target in words:
        loss += criterion(decoder(word), target)
    loss.backward()
    optimizer.step()
    return loss.data[0] / len(words)  # <- 941
""",
    "each of two that are added up": """
def train(model, loader, optimizer, weight):
    for x, y in loader:
        optimizer.zero_grad()
        scores = model(x)
        content_loss = weight * F.mse_loss(scores, y)
        shape_loss = 0.
        for score in scores:
            shape_loss += F.mse_loss(score, y)
        shape_loss *= weight
        total = content_loss + shape_loss
        total.backward()
        optimizer.step()
        print(content_loss.data[0])  # <- 941
        print(shape_loss.data[0])  # <- 941
""",
    "in a helper that is given the mean of what is not known": """
class Adversary:
    def __init__(self, maker, judge):
        self.maker, self.judge = maker, judge
        self.optimizer = torch.optim.Adam(maker.parameters())

    def number(self, loss):
        return loss.data[0] if isinstance(loss, torch.autograd.Variable) else loss  # <- 941

    def once(self, noise):
        loss = torch.mean((self.judge(self.maker(noise)) - 1) ** 2)
        loss.backward()
        self.optimizer.step()
        self.last = self.number(loss)

    def train(self, noises):
        for noise in noises:
            self.optimizer.zero_grad()
            self.once(noise)
""",
    "in a helper that is given what may have one item": """
class Adversary:
    def __init__(self, maker, judge):
        self.maker, self.judge = maker, judge
        self.optimizer = torch.optim.Adam(maker.parameters())

    def number(self, loss):
        return loss.data[0]

    def once(self, noise):
        loss = torch.mean((self.judge(self.maker(noise)) - 1) ** 2, 0)
        loss.backward()
        self.optimizer.step()
        self.last = self.number(loss)

    def train(self, noises):
        for noise in noises:
            self.optimizer.zero_grad()
            self.once(noise)
""",
    "one that begins as a tensor with an item": """
def train(model, loader, optimizer, criterion):
    loss = torch.zeros(1)
    for x, y in loader:
        loss += criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.data[0], loss[0])
""",
    "a sum of tensors of one item": """
def train(vectors, biases, optimizer):
    for i in range(9):
        optimizer.zero_grad()
        loss = sum([torch.dot(vectors[j], vectors[j]) + biases[j] for j in range(i)])
        loss.backward()
        optimizer.step()
        print(loss.data[0])
""",
    "losses of each sample": """
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="none")
        loss.backward(torch.ones_like(loss))
        optimizer.step()
        print(loss.data[0])
""",
    "the first item of something else": """
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        print(scores.data[0], loss.item())
""",
    "the sum of what is right": """
def accuracy(outputs, targets):
    _, pred = outputs.topk(1, 1, True)
    right = pred.t().eq(targets.view(1, -1))
    return right.float().sum().data[0] / targets.size(0)  # <- 941
""",
    "the same by a name": """
def accuracy(outputs, targets):
    num_correct = (outputs.max(1)[1] == targets).sum()
    return num_correct.data[0]  # <- 941
""",
    "the same, added up": """
def accuracy(batches):
    right = 0
    for guess, target in batches:
        right += torch.sum(guess == target)
    return right.data[0]  # <- 941
""",
    "sums of rows": """
def norms(x, rows):
    a = torch.sum(x, 1)
    b = x.sum(0)
    for c in rows:
        print(a.data[0], b.data[0], c.data[0], x.norm(2, 1).data[0])
""",
    "a name that is another thing, too": """
def first(x, y):
    top = x.sum()
    print(top)
    top, rest = y
    return top.data[0]
""",
    "factors given first": """
def descend(parameters, mean, square, rate):
    with torch.no_grad():
        for p in parameters:
            p.add_(-rate, p.grad)  # <- 942
            p.addcdiv_(-rate, mean, square)  # <- 942
            p.add_(p.grad, alpha=-rate)
            p.addcdiv_(mean, square, value=-rate)
""",
    "an axis of numbers": """
def axis(n):
    return torch.range(0, n)  # <- 942

def other(n):
    return torch.arange(0, n), range(n)
""",
    "a grid": """
def grid(x, y):
    return torch.meshgrid(x, y)  # <- 942

def said(x, y):
    return torch.meshgrid(x, y, indexing="ij")
""",
    "weight norm": """
def layer():
    return nn.utils.weight_norm(nn.Linear(4, 2))  # <- 942

def anew():
    return nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
""",
})
def test_gone(code):
    holds(code)


@table({
    "a number that a function of the program gives with others": """
def two(a, b):
    return torch.mean(torch.add(a, b)), torch.mean(a)

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss, other = two(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.data[0])  # <- 941
""",
    "a number times a number": """
def weighed(mu, weights, batch):
    total = torch.sum(torch.mul(mu, weights)).mul(.5)
    each = torch.sum(mu, 1).mul(.5)
    return total, each

def show(model, x, weights):
    total, each = weighed(model(x), weights, 3)
    print(each.data[0])
    print(total.data[0])  # <- 941
""",
    "a number times what may have items": """
def weighed(mu, factor):
    return torch.sum(mu).mul(factor), torch.sum(mu)

def show(model, x, factor):
    total, plain = weighed(model(x), factor)
    print(total.data[0])
""",
})
def test_numbers_of_several(code):
    holds(code)


@table({
    "read out as an array": """
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.data.cpu().numpy()[0])  # <- 941
""",
    "of a loss function that is not known": """
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.cpu().data.numpy()[0])  # <- 941
""",
    "by a list, where nothing goes backward": """
def validate(model, loader):
    total = 0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        total += loss.data.tolist()[0]  # <- 941
    return total
""",
    "the sum of what is right, as an array": """
def accuracy(scores, y):
    return (scores.max(1)[1] == y).sum().data.cpu().numpy()[0]  # <- 941
""",
    "straight from the function": """
@torch.no_grad()
def validate(model, loader, criterion):
    total = 0
    for x, y in loader:
        total += criterion(model(x), y).data[0]  # <- 941
    return total
""",
    "arrays of more than a number": """
def show(model, loader):
    for x, y in loader:
        scores = model(x)
        loss = F.cross_entropy(scores, y, reduction="none")
        print(scores.data.numpy()[0], scores.max(1)[1].data.cpu().numpy()[0], loss.data.numpy()[0])
""",
    "an item of each": """
def validate(model, loader, criterion=nn.CrossEntropyLoss(reduction="none")):
    for x, y in loader:
        scores = model(x)
        print(criterion(scores, y).data[0])
""",
    "a function of several losses": """
@torch.no_grad()
def validate(model, loader, criterion):
    first, rest = 0, 0
    for x, y in loader:
        scores = model(x)
        first += criterion(scores, y)[0]
        rest += criterion(scores, y)[1].data.cpu().numpy() + criterion(scores, y).view(-1).data[0]
    return first.item(), rest
""",
})
def test_read_out(code):
    holds(code)


@pytest.mark.parametrize(("requirements", "code"), [
    ("torch==1.5.0\ntorchvision==0.6.0\n", "TL942"),
    ("torch==1.5.0\n", "TL942"),
    ("torchvision>=0.2,<0.12\n", "TL942"),
    ("torchvision==0.1.9\n", None),
    ("torchvision\n", "TL941"),
])
def test_a_transform_that_warned_before_it_went(tmp_path, requirements, code):
    program = "from torchvision import transforms\n\nplain = transforms.Compose([transforms.Scale(256), transforms.Resize(224)])\n"
    write(tmp_path, {"requirements.txt": requirements, "train.py": program})
    found = [(finding.code, finding.location.row) for finding in check(tmp_path, cache=False)]
    assert found == ([(code, 3)] if code else [])
