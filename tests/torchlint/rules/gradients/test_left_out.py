"""118 of layers that belong to no model, and that no optimizer was given."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
for x, y in loader:
    optimizer.zero_grad()
    loss = F.mse_loss({call}, y)
    loss.backward()
    optimizer.step()
"""
LAYERS = "first, second = nn.Linear(4, 6), nn.Linear(6, 1)\n"


def program(made, call="second(torch.sigmoid(first(x)))"):
    return LAYERS + made + LOOP.format(call=call)


@table({
    "one of two layers": program("optimizer = torch.optim.SGD(first.parameters(), lr=0.1)  # <- 118\n"),
    "two of three, on an object that is no module": """
class Trainer:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.middle = nn.Linear(4, 4)
        self.decoder = nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(list(self.encoder.parameters()) + [*self.decoder.parameters()])  # <- 118

    def train(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.mse_loss(self.decoder(self.middle(self.encoder(x))), y).backward()
            self.optimizer.step()
""",
    "a parameter by itself": """
def main(loader):
    model = nn.Linear(4, 1)
    scale = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <- 118
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x) * scale, y).backward()
        optimizer.step()
""",
    "those that still require gradients": program("optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, first.parameters()), lr=0.1)  # <- 118\n"),
})
def test_left_out(code):
    holds(code)


@table({
    "all of both": program("optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)\n"),
    "one for each": program("optimizer = torch.optim.SGD(first.parameters(), lr=0.1)\nother = torch.optim.SGD(second.parameters(), lr=0.1)\n"),
    "a group that comes later": program(
        "optimizer = torch.optim.SGD(first.parameters(), lr=0.1)\noptimizer.add_param_group({'params': second.parameters()})\n"
    ),
    "frozen": program("second.requires_grad_(False)\noptimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n"),
    "loaded, as it is not to learn": program(
        "second.load_state_dict(torch.load('s.pt', weights_only=True))\noptimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n"
    ),
    "in evaluation mode": program("second.eval()\noptimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n"),
    "a name that says so": program("target = nn.Linear(6, 1)\noptimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n", "target(first(x))"),
    "a part of the model": """
class Net(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), head

    def forward(self, x):
        return self.head(self.body(x))

head = nn.Linear(4, 1)
model = Net(head)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""" + LOOP.format(call="model(x)"),
    "in a plain list of a model, which 501 tells of": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.rest = [nn.Linear(4, 4), nn.Linear(4, 1)]  # <- 501

    def forward(self, x):
        x = self.body(x)
        for layer in self.rest:
            x = layer(x)
        return x

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""" + LOOP.format(call="model(x)"),
    "nothing to learn": "first, act = nn.Linear(4, 1), nn.Sigmoid()\noptimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n"
    + LOOP.format(call="act(first(x))"),
    "without a gradient": program("optimizer = torch.optim.SGD(second.parameters(), lr=0.1)\n", "second(torch.sigmoid(first(x)).detach())"),
    "updated by hand": program("optimizer = torch.optim.SGD(first.parameters(), lr=0.1)\n")
    + "    with torch.no_grad():\n        second.weight -= 0.1 * second.weight.grad\n",
    "parameters that come from elsewhere": "from models import parameters\n" + program("optimizer = torch.optim.SGD(parameters(first), lr=0.1)\n"),
    "a generator, a discriminator and two optimizers": """
def main(loader):
    g, d = nn.Linear(4, 4), nn.Linear(4, 1)
    opt_g = torch.optim.Adam(g.parameters())
    opt_d = torch.optim.Adam(d.parameters())
    for x, y in loader:
        opt_d.zero_grad()
        F.binary_cross_entropy_with_logits(d(g(x).detach()), y).backward()
        opt_d.step()
        opt_g.zero_grad()
        F.binary_cross_entropy_with_logits(d(g(x)), y).backward()
        opt_g.step()
""",
    "the other optimizer is made where nobody calls": """
class Trainer:
    def __init__(self):
        self.g, self.d = nn.Linear(4, 4), nn.Linear(4, 1)
        self.opt_g = torch.optim.Adam(self.g.parameters())

    def prepare_critic(self):
        self.opt_d = torch.optim.Adam(self.d.parameters())

    def train(self, loader):
        for x, y in loader:
            self.opt_g.zero_grad()
            F.binary_cross_entropy_with_logits(self.d(self.g(x)), y).backward()
            self.opt_g.step()
""",
})
def test_not_left_out(code):
    holds(code)
