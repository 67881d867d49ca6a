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
