"""941 and 942 of words that old programs use: names that are read and not called, data of old names, arguments, conditions around them."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "what MNIST called its data": """
from torchvision import datasets
train = datasets.MNIST("data", train=True)
loader = torch.utils.data.DataLoader(train, batch_size=8)
print(train.train_data.shape)  # <- 942
print(loader.dataset.train_labels)  # <- 942
print(train.data.shape, train.targets)
""",
    "what CIFAR10 called its data": """
from torchvision.datasets import CIFAR10
test = CIFAR10("data", train=False)
print(test.test_labels[0])  # <- 941
""",
    "data of one's own": """
class Digits:
    def __init__(self):
        self.train_data = torch.zeros(4)
digits = Digits()
print(digits.train_data)
""",
    "data by the release": """
import torchvision
from torchvision import datasets
train = datasets.MNIST("data")
if torchvision.__version__ < "0.3":
    x = train.train_data
else:
    x = train.data
""",
    "an object that is only read": """
import torch.distributed as dist
def share(gradient):
    dist.all_reduce(gradient, op=dist.reduce_op.SUM)  # <- 942
    dist.all_reduce(gradient, op=dist.ReduceOp.SUM)
""",
    "a function in a table": """
INITS = {"xavier": nn.init.xavier_normal, "kaiming": nn.init.kaiming_normal_}  # <- 942
def start(module, name):
    INITS[name](module.weight)
""",
    "a class that is asked for": """
def weighted(criterion):
    return isinstance(criterion, nn.NLLLoss2d)
""",
    "a module by its attribute": """
def is_text(value):
    return isinstance(value, torch._six.string_classes)  # <- 941
""",
    "fields of torchtext": """
from torchtext import data
from torchtext.data import BucketIterator as Batches  # <- 941
def load():
    text = data.Field(lower=True)  # <- 941
    train, test = data.TabularDataset.splits("data", fields=[("text", text)])  # <- 941
    return Batches.splits((train, test), batch_size=8)
""",
    "where they were put for a while": """
from torchtext.legacy import data  # <- 941
""",
    "what torchtext still has": """
from torchtext.data import get_tokenizer
from torchtext.vocab import GloVe
words = get_tokenizer("basic_english")("so it is")
""",
    "data of another package": """
import data
text = data.Field(lower=True)
""",
    "files of torchvision that went": """
from torchvision.transforms.functional_tensor import rgb_to_grayscale  # <- 941
from torchvision.models.utils import load_state_dict_from_url  # <- 941
from torchvision.models.resnet import model_urls  # <- 941
""",
    "an import that waits for the error": """
try:
    from torchvision.models.utils import load_state_dict_from_url
except ImportError:
    from torch.hub import load_state_dict_from_url
""",
    "before 1.2": """
from torch.utils.serialization import load_lua  # <- 941
import torch.legacy.nn as legacy  # <- 941
def solve(a, b):
    return torch.gesv(b, a)[0]  # <- 941
""",
})
def test_names(code):
    holds(code)


@table({
    "under a condition of the program": """
def transform(x, forward):
    if forward:
        return torch.fft(x, 2)  # <- 941
    return torch.ifft(x, 2)  # <- 941
""",
    "a module that has the name": """
def transform(x):
    return torch.fft.fft(x)
""",
    "a condition that asks what there is": """
def transform(x, old_torch):
    if old_torch:
        return torch.ifft(x, 2)
    return torch.fft.ifft(x)
""",
    "the other way has it": """
def transform(x, real):
    if real:
        return torch.fft.ifft(x)
    else:
        return torch.ifft(x, 2)
""",
    "a caller that asks": """
LEGACY = int(torch.__version__.split(".")[0]) < 2
def old(x):
    return torch.ifft(x, 2)
def transform(x):
    if LEGACY:
        return old(x)
    return x
""",
    "a spectrum without a word": """
def spectrum(x, window):
    return torch.stft(x, 512, window=window)  # <- 941
def complex_spectrum(x, window, **words):
    return torch.stft(x, 512, window=window, return_complex=True), torch.stft(x, 512, **words)
""",
    "a test that is read out": """
@torch.no_grad()
def test(model, loader, criterion):
    total = other = 0
    for x, y in loader:
        total += F.nll_loss(model(x), y).data[0]  # <- 941
        loss = criterion(model(x), y)
        other += loss.data[0]  # <- 941
    return total, other
""",
    "losses that are no numbers": """
def test(model, loader, weights):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y, reduction="none")
        print(loss.data[0], loss[0], F.mse_loss(x, y).unsqueeze(0)[0], (F.mse_loss(x, y) * weights)[0])
        losses = [F.mse_loss(x, y), F.l1_loss(x, y)]
        print(losses[0])
""",
    "one loss from each device": """
def test(model, loader):
    measure = nn.DataParallel(nn.CrossEntropyLoss())
    for x, y in loader:
        loss = measure(model(x), y)
        print(loss.data[0])
""",
    "a sum of losses": """
def train(net, dis_criterion, aux_criterion, optimizer, x, y, z):
    real = dis_criterion(net(x), y)
    kind = aux_criterion(net(x), z)
    error = real + 0.5 * kind
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    return error.data[0]  # <- 941
""",
    "a critic's output": """
def train(net, optimizer, x):
    error = net(x)
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    return error.data[0]
""",
    "a loader by a longer name": """
def look(trainloader):
    dataiter = iter(trainloader)
    return dataiter.next()  # <- 941
""",
    "tried twice": """
def look(trainloader):
    for step in range(100):
        try:
            x, y = pairs.next()
        except:
            pairs = iter(trainloader)
            x, y = pairs.next()  # <- 941
""",
    "what comes after was another way": """
def look(trainloader):
    pairs = iter(trainloader)
    try:
        return next(pairs)
    except TypeError:
        return pairs.next()
""",
    "a loss that was divided in its place": """
class Boxes(nn.Module):
    def forward(self, x, y, count):
        loss = F.smooth_l1_loss(x, y, reduction="sum")
        loss /= count.data.sum()
        return loss

def train(net, loader, optimizer):
    boxes = Boxes()
    for x, y in loader:
        optimizer.zero_grad()
        loss = boxes(net(x), y, y)
        loss.backward()
        optimizer.step()
        print(loss.data[0])  # <- 941
""",
    "a sum of losses": """
def train(net, loader, optimizer):
    total = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.data
    print(total[0])  # <- 941
""",
    "a sum of rows": """
def train(net, loader, optimizer):
    total = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y, reduction="none")
        loss.sum().backward()
        optimizer.step()
        total += loss.data
    print(total[0])
""",
    "a keyword that went, under a condition of the program": """
def schedule(optimizer, config):
    if config["cycle"]:
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 100)
    else:
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, verbose=True)  # <- 943
""",
    "the same without it in the other way": """
def schedule(optimizer, wordy):
    if wordy:
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, verbose=True)
    else:
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
""",
    "a keyword of a method under a condition": """
def learn(x, y, again):
    loss = F.smooth_l1_loss(x, y)
    if again:
        loss.backward(retain_variables=True)  # <- 943
""",
})
def test_gone(code):
    holds(code)


@table({
    "volatile": """
from torch.autograd import Variable
def test(x, y):
    x, y = Variable(x, volatile=True), Variable(y, volatile=True)  # <- 942
    return Variable(x, volatile=False), Variable(y)
""",
    "volatile of what is there": """
def wanted(model, target, data, x):
    target.volatile = data.volatile = True
    y = model(x)
    y.volatile = False  # <- 942
    return y
def freeze():
    net = nn.Linear(2, 2)
    for p in net.parameters():
        p.volatile = True  # <- 942
""",
    "another mean": """
mean = nn.CrossEntropyLoss(reduction="elementwise_mean")  # <- 942
total = nn.CrossEntropyLoss(reduction="sum")
def measure(x, y):
    return F.mse_loss(x, y, reduction="elementwise_mean")  # <- 942
""",
    "factors among the tensors": """
def distances(x, y, d, c):
    d.addmm_(1, -2, x, x.t())  # <- 942
    d.addmm_(x, x.t(), beta=1, alpha=-2)
    torch.addmm(2, d, x, y)  # <- 942
    torch.addcmul(d, 0.5, x, y)  # <- 942
    c = torch.add(x, 2, y)  # <- 942
    return torch.add(x, y, alpha=2) + torch.addmm(d, x, y)
""",
    "sparse tensors": """
def graph(rows, values, size):
    return torch.sparse.FloatTensor(rows, values, size), torch.sparse_coo_tensor(rows, values, size)  # <- 942
""",
    "a grid of a list": """
def grid(x):
    return torch.meshgrid([x, x]), torch.meshgrid([x, x], indexing="ij")  # <- 942
""",
    "a model out of the detectors": """
import torchvision
NETS = {"a": torchvision.models.resnet18, "b": torchvision.models.vgg16}
def build(name):
    backbone = NETS.get(name)(pretrained=True)  # <- 942
    return backbone, torchvision.models.detection.__dict__[name](pretrained=False)  # <- 942
""",
})
def test_deprecated(code):
    holds(code)
