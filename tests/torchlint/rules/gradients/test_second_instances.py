"""136 of an optimizer over the parameters of a second model of the class that is trained, however large the model is."""

from tests.torchlint.dryrun.support import holds, table

# So many layers that what a loss came out of is cut: two models of this are still told apart.
NET = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = Block(), Block(), Block(), Block()
        self.e, self.f, self.g, self.h = Block(), Block(), Block(), Block()

    def forward(self, x):
        x = self.d(self.c(self.b(self.a(x))))
        return self.h(self.g(self.f(self.e(x))))

"""
LOOP = """
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss({called}(x), y)
        loss.backward()
        {between}
        optimizer.step(){mark}
"""


def program(made, called="net", between="pass", mark=""):
    return NET + made + LOOP.format(called=called, between=between, mark=mark)


@table({
    "made for the optimizer": program("net = Net()\noptimizer = torch.optim.Adam(Net().parameters())\n", mark="  # <- 136"),
    "in a function that gives both": program("""
def build():
    return Net(), torch.optim.SGD(Net().parameters(), lr=0.1)

net, optimizer = build()
""", mark="  # <- 136"),
    "built anew behind the optimizer": program(
        "net = Net()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nnet = Net().to('cpu')\n", mark="  # <- 136",
    ),
    "a small model": """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 8)

    def forward(self, x):
        return self.out(x)

net, optimizer = Small(), torch.optim.SGD(Small().parameters(), lr=0.1)
""" + LOOP.format(called="net", between="pass", mark="  # <- 136"),
    "the model itself": program("net = Net()\noptimizer = torch.optim.Adam(net.parameters())\n"),
    "a wrapper of the model": program("net = Net()\noptimizer = torch.optim.Adam(nn.Sequential(net, nn.Linear(8, 8)).parameters())\n"),
    "parts that are the same": program(
        "net, other = Net(), Net()\nother.a = net.a\noptimizer = torch.optim.Adam(other.parameters())\n",
    ),
    "gradients that are handed over": program(
        "net, shared = Net(), Net()\noptimizer = torch.optim.Adam(shared.parameters())\n",
        between="[setattr(p, 'grad', q.grad) for p, q in zip(shared.parameters(), net.parameters())]",
    ),
    "gradients that are handed over in a loop": program(
        "net, shared = Net(), Net()\noptimizer = torch.optim.Adam(shared.parameters())\n",
        between="for p, q in zip(shared.parameters(), net.parameters()):\n            p._grad = q.grad\n        net.zero_grad()",
    ),
    "by code that is not seen": program(
        "from elsewhere import hand_over\nnet, shared = Net(), Net()\noptimizer = torch.optim.Adam(shared.parameters())\n",
        between="hand_over(net, shared)",
    ),
    "whose model is called elsewhere, by code that is not seen": program(
        "from elsewhere import wrap\nnet = Net()\nother = wrap(net)\noptimizer = torch.optim.Adam(net.parameters())\n", called="other",
    ),
})
def test_what_is_trained_is_what_the_optimizer_has(code):
    holds(code)
