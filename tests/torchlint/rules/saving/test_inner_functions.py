"""941 and 942 in functions that are handed on, kept, or called by nobody; 942 of the program's own schedules."""

from tests.torchlint.dryrun.support import holds, table

POLY = """
class Poly(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return [rate * 0.9 for rate in self.base_lrs]
"""
STEPS = """
def train(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = Poly(optimizer)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        schedule.step(epoch)MARK
"""


@table({
    "nobody calls it": """
def build(config):
    def weights(module):
        nn.init.xavier_uniform(module.weight)  # <- 942
    return config.build()
""",
    "handed on to something that is not known": """
def build(config):
    def weights(module):
        nn.init.constant(module.bias, 0)  # <- 942
        return torch.symeig(module.weight)  # <- 941
    config.build().apply(weights)
""",
    "under an if": """
import sys
net = nn.Linear(4, 2)
if sys.argv[1:]:
    def weights(module):
        nn.init.xavier_uniform(module.weight)  # <- 942
    net.load_state_dict(torch.load("net.pt", weights_only=True))
""",
    "called": """
def build():
    def weights(module):
        nn.init.xavier_uniform(module.weight)  # <- 942
    net = nn.Linear(4, 2)
    weights(net)
    return net
""",
    "in a method": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        def split(y):
            return torch.qr(y)[0]  # <- 942
        return self.fc(x)
""",
    "a class in a function": """
def build():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)
            nn.init.xavier_uniform_(self.fc.weight)

        def forward(self, x):
            return self.fc(x)
    return Net()
""",
    "what is asked first": """
def build(config):
    def weights(module):
        if hasattr(nn.init, "xavier_uniform_"):
            nn.init.xavier_uniform_(module.weight)
        else:
            nn.init.xavier_uniform(module.weight)
    return config.build()
""",
    "another one's names": """
def build(config, init):
    def weights(module):
        init.xavier_uniform(module.weight)
        config.torch.symeig(module.weight)
    return config.build()
""",
    "a schedule of the program's own": POLY + STEPS.replace("MARK", "  # <- 942"),
    "a schedule with a step of its own": POLY + """
    def step(self, epoch=None):
        self.last_epoch = epoch
""" + STEPS.replace("MARK", ""),
    "a schedule that needs it": POLY.replace("LRScheduler", "ReduceLROnPlateau") + STEPS.replace("MARK", ""),
})
def test_inner(code):
    holds(code)
