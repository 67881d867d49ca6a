"""What a move of a module moves: the tensors that it and the modules in it have registered, and no others."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, engine, holds, runs, table

FORWARD = """
    def forward(self, x):
        return x + self.pe
"""
INIT = """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
"""
# How a module comes to have a tensor of its own.
REGISTERED = {
    "buffer": 'self.register_buffer("pe", torch.zeros(10, 8))',
    "keywords": 'self.register_buffer(name="pe", tensor=torch.zeros(10, 8))',
    "not saved": 'self.register_buffer("pe", torch.zeros(10, 8), persistent=False)',
    "by super": 'super().register_buffer("pe", torch.zeros(10, 8))',
    "nn.Buffer": "self.pe = nn.Buffer(torch.zeros(10, 8))",
    "None first": 'self.register_buffer("pe", None); self.pe = torch.zeros(10, 8)',
    "assigned again": 'self.register_buffer("pe", torch.zeros(10, 8)); self.pe = torch.ones(10, 8)',
    "made step by step": 'pe = torch.zeros(10, 8); pe[:, 0::2] = torch.ones(10, 4); self.register_buffer("pe", pe)',
    "parameter": "self.pe = nn.Parameter(torch.zeros(10, 8))",
    "registered parameter": 'self.register_parameter("pe", nn.Parameter(torch.zeros(10, 8)))',
    "in a method": "self.fill()\n\n    def fill(self):\n        self.register_buffer('pe', torch.zeros(10, 8))",
}
# How a module is moved, and what is called then.
MOVED = {
    "to": 'PE().to("cuda")',
    "cuda": "PE().cuda()",
    "device and type": 'PE().to("cuda", torch.half)',
    "then half": "PE().cuda().half()",
    "then type": "PE().cuda().to(torch.float64)",
    "sequential": "nn.Sequential(PE(), nn.ReLU()).cuda()",
    "sequential with layers": "nn.Sequential(nn.Linear(8, 8), PE()).cuda()[1]",
    "list": "nn.ModuleList([PE()]).cuda()[0]",
    "unseen": "to_gpu(PE())",
}
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@pytest.mark.parametrize("how", REGISTERED.values(), ids=list(REGISTERED))
def test_what_is_registered_moves(how):
    holds(f"{INIT}        {how}\n{FORWARD}\n\n{DEVICE}model = PE().to(device)\nmodel(torch.randn(10, 8).to(device))\n"
          "model(torch.randn(10, 8))  # <- 401\n")


@pytest.mark.parametrize("how", MOVED.values(), ids=list(MOVED))
def test_every_move_moves_it(how):
    text = REGISTERED["buffer"]
    holds(f"from elsewhere import to_gpu\n{INIT}        {text}\n{FORWARD}\n\nmodel = {how}\nmodel(torch.randn(10, 8).cuda())\n")


@table({
    "a base class": """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))


class PE(Base):
    def forward(self, x):
        return x + self.pe


model = PE().cuda()
model(torch.randn(10, 8).cuda())
""",
    "a larger model": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))

    def forward(self, x):
        return x + self.pe


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = PE()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.position(x)) + self.position.pe


model = Net().cuda()
model(torch.randn(10, 8).cuda())
model(torch.randn(10, 8))  # <- 401
""",
    "a part of a trainer": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))

    def forward(self, x):
        return x + self.pe


class Trainer:
    def __init__(self):
        self.position = PE()
        self.position.cuda()

    def step(self):
        return self.position(torch.randn(10, 8).cuda())


Trainer().step()
""",
    "a list of parameters": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.pes = nn.ParameterList([torch.zeros(10, 8)])

    def forward(self, x):
        return x + self.pes[0]


model = PE().cuda()
model(torch.randn(10, 8).cuda())
""",
    "a class that moves more": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.pe = torch.zeros(10, 8)

    def _apply(self, fn):
        super()._apply(fn)
        self.pe = fn(self.pe)
        return self

    def forward(self, x):
        return x + self.pe


model = nn.Sequential(PE()).cuda()
model(torch.randn(10, 8).cuda())
""",
    "outside of the class": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))


model = PE().cuda()
y = torch.randn(10, 8).cuda() + model.pe
""",
    "what was given to register_buffer stays": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))


pe = torch.zeros(10, 8)
model = PE()
model.register_buffer("other", pe)
model.cuda()
y = torch.randn(10, 8).cuda() + model.other
z = torch.randn(10, 8).cuda() + pe  # <- 401
""",
    "assigned behind the move": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.zeros(10, 8))

    def forward(self, x):
        return x + self.pe  # <- 401


model = PE().cuda()
model.pe = torch.zeros(10, 8)
model(torch.randn(10, 8).cuda())
""",
    "a plain tensor": """
class PE(nn.Module):
    def __init__(self):
        super().__init__()
        self.pe = torch.zeros(10, 8)  # <- 502

    def forward(self, x):
        return x + self.pe  # <- 401


model = PE().cuda()
model(torch.randn(10, 8).cuda())
""",
})
def test_whose_tensor_it_is(code):
    holds(code)


@pytest.mark.parametrize("line", [
    "x + torch.arange(4)", "torch.arange(4) * x", "torch.cat([x, torch.arange(4)])", "x.matmul(torch.arange(4))",
    "torch.matmul(x, torch.arange(4))", "x == torch.arange(4)", "F.mse_loss(layer(x), torch.arange(4))",
    "F.mse_loss(layer(x), target=torch.arange(4))", "layer(torch.arange(4))",
])
def test_the_operand_is_named(line):
    """The message says which of them is elsewhere, by what stands there."""
    text = f'{IMPORTS}layer = nn.Linear(4, 4).cuda()\nx = torch.randn(4, device="cuda")\n{line}\n'
    told = [f for f in engine().check("snippet.py", text).findings if f.number == 401]
    for finding in told:
        assert "but `torch.arange(4)` is on another one" in finding.message
        assert "`torch.arange(4).to(device)`" in finding.help
    assert told


def test_what_is_known_by_its_id_to_be_moved_stays_alive():
    """A cast in the first of two passes over a loop is forgotten with that pass, and what was made later had its id: a plain number of
    `loss.item()` was told to be on the GPU."""
    (run,) = runs('''
def main(loader, model, double):
    numbers = []
    for batch, y in loader:
        batch = {key: value.cuda() for key, value in batch.items()}
        if double:
            batch = {key: value.double() for key, value in batch.items()}
        numbers.append(model(batch).item())
    return numbers
''')[-1:]
    assert run.moved.keys() <= set(map(id, run.keep))
