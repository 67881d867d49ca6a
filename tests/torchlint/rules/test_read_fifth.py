"""What the reader of the fifth table saw and torchlint did not, or said wrongly: one case for each cause that was mended."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "106: a list of the same name as the loss of another function": """
class Trainer:
    def __init__(self, loader):
        self.model, self.loader = nn.Linear(3, 4), loader
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
        return loss

def main(loader):
    trainer, loss = Trainer(loader), []
    for epoch in range(9):
        loss.append(trainer.train())  # <- 106
    print(loss)
""",
    "108: one function trains and evaluates, and asks the loss whether it has a graph": """
class Trainer:
    def __init__(self, model):
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), 0.1)

    def backward(self, loss):
        loss.backward()

def log(trainer, model: nn.Module, loader):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        if loss.requires_grad:
            trainer.backward(loss)

def main(model: nn.Module, loader, test_loader):
    trainer = Trainer(model)
    log(trainer, model, loader)
    trainer.optimizer.step()
    with torch.no_grad():
        model.eval()
        log(trainer, model, test_loader)
        model.train()
""",
    "108: a codebook that learns within forward, in training alone": """
class Codebook(nn.Module):
    def __init__(self, own=None):
        super().__init__()
        self.codes = nn.Linear(3, 3)
        self.own = own

    def forward(self, x):
        found = self.codes(x)
        learns = self.own is not None
        if learns and self.training:
            loss = F.mse_loss(found, x.detach())
            loss.backward()
            self.own.step()
            self.own.zero_grad()
        return found

class Policy(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.encoder = nn.Linear(3, 3)
        self.book = Codebook(own)
    def code(self, state):
        with torch.no_grad():
            rep = self.encoder(state)
            return self.book(rep)
""",
    "402: a pass of zeros while the model is built": """
def shape_of(module: nn.Module, size):
    zeros = torch.zeros(size=size)
    with torch.inference_mode():
        return module(zeros).shape

class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.shape = shape_of(self.layer, size)

    def forward(self, x):
        return self.layer(x)

def main(x):
    return Model((1, 3)).cuda()(x)
""",
    "503: torch's own __init__ comes before that of a base behind it": """
class Mixin:
    def __init__(self):
        pass

    def reset(self):
        pass

class Net(nn.Module, Mixin):
    def __init__(self):
        super(Net, self).__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
""",
    "503: a base in front of torch's that never calls it": """
class Mixin:
    def __init__(self):
        pass

class Net(Mixin, nn.Module):
    def __init__(self):  # <- 503
        super(Net, self).__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
""",
    "503: two modules in a diamond, of which each begins the other": """
class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.two = nn.Linear(3, 3)

class Both(One, Two):
    def __init__(self):
        super().__init__()
        self.both = nn.Linear(3, 3)

    def forward(self, x):
        return self.both(self.two(self.one(x)))
""",
    "201: as many blocks as the config says, and none has dropout": """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.ModuleDict(dict(inner=nn.Linear(width, width), act=nn.GELU()))

    def forward(self, x):
        return self.parts.act(self.parts.inner(x))

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(config.width) for _ in range(config.depth)])

    def forward(self, x):
        return self.blocks(x)

@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())
    model.train()

def main(loader, test_loader, config):
    model = Model(config)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader:
        model.train()
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in test_loader:
            print(model(x).sum().item())
""",
    "201: as many blocks as the config says, each with dropout": """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.ModuleDict(dict(inner=nn.Linear(width, width), act=nn.GELU(), drop=nn.Dropout(0.1)))

    def forward(self, x):
        return self.parts.act(self.parts.inner(x))

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(config.width) for _ in range(config.depth)])

    def forward(self, x):
        return self.blocks(x)

@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())
    model.train()

def main(loader, test_loader, config):
    model = Model(config)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader:
        model.train()
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in test_loader:
            print(model(x).sum().item())  # <- 201
""",
    "136: a distribution of the project's own around the output of a policy": """
from torch.distributions import MultivariateNormal
import torch.nn.functional as F
class Tanh(MultivariateNormal):
    def __init__(self, bias, **kwargs):
        super().__init__(**kwargs)
        self.bias = bias
    def rsample_and_log_prob(self):
        z = self.rsample()
        return torch.tanh(z) + self.bias, self.log_prob(z)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 3)
    def forward(self, x):
        loc = self.mean(x)
        return Tanh(0.5, loc=loc, scale_tril=torch.eye(3))
def main(loader):
    policy, q1 = Policy(), nn.Linear(3, 1)
    policy_optim = torch.optim.Adam(policy.parameters())
    q1_optim = torch.optim.Adam(q1.parameters())
    for s in loader:
        dist = policy(s)
        a, lp = dist.rsample_and_log_prob()
        policy_loss = (lp - q1(a)).mean()
        q1_loss = F.mse_loss(q1(s), torch.zeros(3, 1))
        policy_optim.zero_grad()
        policy_loss.backward()
        policy_optim.step()
        q1_optim.zero_grad()
        q1_loss.backward()
        q1_optim.step()
""",
    "201: the models stand in a dict, and a loop over its keys puts them in a mode": """
from collections import OrderedDict
from torch import nn
class Engine:
    def __init__(self, loader):
        self.loader = loader
        self._models = OrderedDict()
        self._optims = OrderedDict()
    def register_model(self, name='model', model=None, optim=None):
        self._models[name] = model
        self._optims[name] = optim
    def get_model_names(self, names=None):
        names_real = list(self._models.keys())
        if names is not None:
            return names
        return names_real
    def set_model_mode(self, mode='train', names=None):
        names = self.get_model_names(names)
        for name in names:
            if mode == 'train':
                self._models[name].train()
            else:
                self._models[name].eval()
    def run(self, epochs):
        for epoch in range(epochs):
            self.set_model_mode('train')
            for x, y in self.loader:
                self.forward_backward(x, y)
            self.test()
    def test(self):
        self.set_model_mode('eval')
        with torch.no_grad():
            for x, y in self.loader:
                print(self.model(x))
class Softmax(Engine):
    def __init__(self, loader, model, optimizer):
        super().__init__(loader)
        self.model = model
        self.optimizer = optimizer
        self.register_model('model', model, optimizer)
    def forward_backward(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
def main(loader):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    engine = Softmax(loader, model, torch.optim.SGD(model.parameters(), 0.1))
    engine.run(3)
""",
    "103: gradients that are given by another model": """
def train(shared: nn.Module, own: nn.Module, loader):
    optimizer = torch.optim.Adam(shared.parameters())
    for x, y in loader:
        loss = F.mse_loss(own(x), y)
        optimizer.zero_grad()
        loss.backward()
        for theirs, mine in zip(shared.parameters(), own.parameters()):
            theirs._grad = mine.grad
        optimizer.step()
""",
    "103: a factory of eight optimizers": """
class Plateau(torch.optim.Optimizer):
    def __init__(self, optimizer):
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        self.optimizer = optimizer
    def step(self, *args, **kwargs):
        self.optimizer.step(*args, **kwargs)
    def __getattr__(self, name):
        return getattr(self.optimizer, name)

class NoamOpt(torch.optim.Optimizer):
    def __init__(self, factor, optimizer):
        self.optimizer = optimizer
        self._step = 0
    def step(self, *args, **kwargs):
        self._step += 1
        for p in self.optimizer.param_groups:
            p['lr'] = 0.1
        self.optimizer.step(*args, **kwargs)
    def __getattr__(self, name):
        return getattr(self.optimizer, name)

def build_optimizer(params, opt):
    if opt.optim == 'rmsprop':
        return torch.optim.RMSprop(params, opt.learning_rate)
    elif opt.optim == 'adagrad':
        return torch.optim.Adagrad(params, opt.learning_rate)
    elif opt.optim == 'sgd':
        return torch.optim.SGD(params, opt.learning_rate)
    elif opt.optim == 'sgdm':
        return torch.optim.SGD(params, opt.learning_rate, 0.9)
    elif opt.optim == 'sgdmom':
        return torch.optim.SGD(params, opt.learning_rate, 0.9, nesterov=True)
    elif opt.optim == 'adam':
        return torch.optim.Adam(params, opt.learning_rate)
    elif opt.optim == 'adamw':
        return torch.optim.AdamW(params, opt.learning_rate)
    else:
        raise Exception("bad option opt.optim: {}".format(opt.optim))

def get_std_opt(model):
    return NoamOpt(2, torch.optim.Adam(model.parameters(), lr=0))

def train(opt, loader):
    model = nn.Linear(3, 4)
    if opt.noamopt:
        optimizer = get_std_opt(model)
    elif opt.plateau:
        optimizer = build_optimizer(model.parameters(), opt)
        optimizer = Plateau(optimizer)
    else:
        optimizer = build_optimizer(model.parameters(), opt)
    if opt.noamopt:
        optimizer._step = 3
    while True:
        x, y = loader.get_batch('train')
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
""",
    "207: what moves a model is no run of it": """
def place(parameter):
    parameter.data = parameter.data.cuda()

def main(path):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    model.load_state_dict(torch.load(path, weights_only=True))
    model._apply(place)
    return model
""",
    "401: devices are compared first": """
class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.empty(2)

    def same(self):
        x = torch.ones(2, device="cuda")
        return x.device == self.last.device and torch.equal(x, self.last)
""",
    "412: a list, whoever calls it": """
def convert(a):
    if isinstance(a, list):
        a = torch.tensor(a)
    return a

def main():
    return convert(torch.ones(3))
""",
    "805: who saves is asked by somebody in another file": """
from torch.nn.parallel import DistributedDataParallel

class Agent:
    def __init__(self, rank):
        torch.distributed.init_process_group("nccl")
        self.model = DistributedDataParallel(nn.Linear(3, 3).to(rank), device_ids=[rank])

    def save(self, path):
        torch.save(self.model.module.state_dict(), path)
""",
    "506: what timm has beside its models": """
from timm.models.layers import to_2tuple

class Embed(nn.Module):
    def __init__(self, patch_size=7):
        super().__init__()
        patch_size = to_2tuple(patch_size)
        self.patch_size = patch_size
        self.proj = nn.Conv2d(3, 8, kernel_size=patch_size)

    def forward(self, x):
        return self.proj(x)
""",
    "506: a model of timm": """
from timm.models import resnet18

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = resnet18()  # <- 506
        self.proj = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.proj(x)
""",
    "508: an array that a tensor was made from": """
def f(x):
    return torch.from_numpy(x.numpy()).reshape(-1, 1, 14, 14)
""",
    "202: a loop over the test loader, behind the training, in a script without functions": """
net = nn.Linear(5, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
for epoch in range(2):
    for x, y in trainloader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
correct = 0
for x, y in enumerate(testloader):
    correct += (net(x).argmax(dim=1) == y).sum().item()  # <- 202
""",
    "202: a loop over test data that also trains": """
net = nn.Linear(5, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
for x, y in test_loader:
    optimizer.zero_grad()
    scores = net(x)
    F.cross_entropy(scores, y).backward()
    optimizer.step()
    print((scores.argmax(dim=1) == y).sum().item())
""",
    "208: one function makes the loaders for all purposes": """
def provide(args, flag):
    if flag == "test":
        shuffle, drop_last = False, True
    else:
        shuffle, drop_last = True, True
    return torch.utils.data.DataLoader(args.data, args.batch_size, shuffle=shuffle, drop_last=drop_last)  # <- 208

def main(args, model: nn.Module):
    train_loader, test_loader = provide(args, "train"), provide(args, "test")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for x, y in test_loader:
            print(F.mse_loss(model(x), y).item())
""",
    "905: momentum is an option, and one of two models is trained": """
def main(args, loader):
    model = nn.Linear(4, 2) if args.small else nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum)
    start_epoch, best = 0, 0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")
        start_epoch, best = checkpoint["num_epochs"], checkpoint["best_score"]
        model.load_state_dict(checkpoint["state_dict"])  # <- 905
        # optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        best = max(best, args.score())
        torch.save({"num_epochs": epoch + 1, "best_score": best, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}, "c.pt")
""",
    "932: the race is for a GPU": """
from torch.backends import cudnn

def main(args, model):
    torch.manual_seed(0)
    cudnn.deterministic = True
    if args.cuda:
        model.cuda()
        cudnn.benchmark = True  # <- 932

def choose(args):
    cudnn.deterministic = True
    if args.fast:
        cudnn.benchmark = True
""",
    "932: an option asks for determinism in one function, another one asks for the race": """
from torch.backends import cudnn

def main(args):
    if args.seed is not None:
        torch.manual_seed(args.seed)
        cudnn.deterministic = True
    if args.spawn:
        torch.multiprocessing.spawn(work, nprocs=2, args=(args,))
    else:
        work(0, args)

def work(rank, args):
    cudnn.benchmark = True  # <- 932
""",
    "932: each has an option": """
from torch.backends import cudnn

def main(args):
    if args.seed is not None:
        cudnn.deterministic = True
    if args.fast:
        cudnn.benchmark = True
""",
    "943: the legacy constructor of tensors with a graph": """
from torch.autograd import Variable

def f():
    return Variable(torch.ones(2), requires_grad=True) + Variable(torch.ones(2), requires_grads=True)  # <- 943
""",
})
def test_what_was_read(code):
    holds(code)
