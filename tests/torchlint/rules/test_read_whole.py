"""What the reader of the fourth table saw and torchlint did not: one case for each cause that was mended, and what must stay silent."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "202: a forward in training mode in the loop is no evaluation": """
def train(model: nn.Module, nodes, labels):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(9):
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(nodes), labels).backward()
        optimizer.step()
        print((model(nodes).argmax(dim=1) == labels).float().mean().item())
""",
    "202: a target in evaluation mode, of another model": """
def train(student: nn.Module, teacher: nn.Module, x):
    optimizer = torch.optim.Adam(student.parameters())
    for _ in range(9):
        student.eval()
        guess = student(x).argmax(dim=1)
        teacher.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(student(x), guess).backward()
        optimizer.step()
""",
    "202: each parameter was frozen, so there is no graph": """
def build(path, device):
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad = False
    if device:
        model = model.to(device)
    return model

def main(path, device, images):
    model = build(path, device)
    found = 0
    for image in images:
        if torch.argmax(model(image)[0]).item() == 1:
            found += 1
    return found
""",
    "109: a class of one's own that warms up": """
from torch.optim.lr_scheduler import _LRScheduler

class WarmUp(_LRScheduler):
    def get_lr(self):
        return [rate * self.last_epoch / 100 for rate in self.base_lrs]

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
    scheduler = WarmUp(optimizer)
    for inputs, targets in loader:
        scheduler.step()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
""",
    "109: a class of one's own that looks for a rate": """
from torch.optim.lr_scheduler import _LRScheduler

class RateFinder(_LRScheduler):
    def get_lr(self):
        return [rate * self.last_epoch / 100 for rate in self.base_lrs]

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
    scheduler = RateFinder(optimizer)
    for inputs, targets in loader:
        scheduler.step()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
""",
    "109: a class of one's own with its own step": """
from torch.optim.lr_scheduler import _LRScheduler

class Counting(_LRScheduler):
    def step(self):
        self.count += 1

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
    scheduler = Counting(optimizer)
    for inputs, targets in loader:
        scheduler.step()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
""",
    "905: the other optimizer is saved elsewhere, or never loaded": """
class Agent:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic
        self.a_optim = torch.optim.Adam(actor.parameters())
        self.c_optim = torch.optim.Adam(critic.parameters())

    def update(self, x):
        for model, optim in ((self.actor, self.a_optim), (self.critic, self.c_optim)):
            optim.zero_grad()
            model(x).mean().backward()
        self.a_optim.step()
        self.c_optim.step()

    def save(self, path):
        torch.save({"actor": self.actor.state_dict(), "optim": self.a_optim.state_dict()}, path + "a")
        torch.save({"critic": self.critic.state_dict(), "optim": self.c_optim.state_dict()}, path + "c")

    def load(self, path):
        self.a_optim.load_state_dict(torch.load(path + "a", weights_only=True)["optim"])
        self.c_optim.load_state_dict(torch.load(path + "c", weights_only=True)["optim"])
""",
    "942: schedulers that need what they are told": """
def train(model, loader, step):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 5)
    for i, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        scheduler.step(i / len(loader))
""",
})
def test_is_silent(code):
    holds(code)


@table({
    "202: the highest class is only asked whether it is the second": """
def test(path, images, transform):
    net = torch.load(path, weights_only=True)
    net.eval()
    found = 0
    for image in images:
        _, highest = torch.max(net(transform(image)), 1)  # <- 202
        if image.known and highest[0]:
            found += 1
    return found
""",
    "202: the test set at once, behind each epoch": """
def train(model: nn.Module, loader, inputs, labels):
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(9):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        print((model(inputs).argmax(dim=1) == labels).float().mean().item())  # <- 202
""",
    "905: the models themselves are in the dict": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)

def train(loader, path, epochs, resume):
    if resume:
        state = torch.load(path, weights_only=False)
        net, start = state["net"], state["epoch"] + 1
    else:
        net, start = Net(), 1
    net.train()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(start, epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        torch.save({"net": net, "epoch": epoch}, path)  # <- 902, 905
""",
})
def test_is_told(code):
    holds(code)
