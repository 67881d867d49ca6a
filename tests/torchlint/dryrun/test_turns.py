"""Methods that do one training step and that nobody calls in view are turns of a loop, unless somebody may clear in between."""

import pytest

from tests.torchlint.support import write

from .support import found, holds, marked, table

MADE = """
class Agent:
    def __init__(self, dim):
        self.net = nn.Linear(dim, 2)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.total = 0.0
        self.losses = []
"""


@table({
    "nothing clears": """
    def learn(self, x, y):
        F.cross_entropy(self.net(x), y).backward()  # <- 101
        self.opt.step()
""",
    "a sum and a list that outlive the step": """
    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        self.total += loss  # <- 106
        self.losses.append(loss)  # <- 106
""",
    "the step comes before the gradients": """
    def update(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        self.opt.step()  # <- 130
        loss.backward()
        self.opt.zero_grad()  # <- 102
""",
    "the learning rate moves on first": """
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.opt, 3)

    def optimize_parameters(self, x, y):
        self.opt.zero_grad()
        F.cross_entropy(self.net(x), y).backward()
        self.scheduler.step()  # <- 109
        self.opt.step()
""",
    "in parts": """
    def compute(self, x, y):
        self.loss = F.cross_entropy(self.net(x), y)

    def learn(self, x, y):
        self.compute(x, y)
        self.loss.backward()  # <- 101
        self.opt.step()
""",
    "nobody computes the gradients": """
    def learn(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        self.opt.step()  # <- 103
        return loss.item()
""",
})
def test_a_step_is_a_turn(code):
    holds(MADE + code)


@table({
    "another method clears": """
    def learn(self, x, y):
        F.cross_entropy(self.net(x), y).backward()
        self.opt.step()

    def reset(self):
        self.opt.zero_grad()
""",
    "who calls it clears": """
    def learn(self, x, y):
        F.cross_entropy(self.net(x), y).backward()
        self.opt.step()

def main(agent, batches):
    for x, y in batches:
        agent.opt.zero_grad()
        agent.learn(x, y)
""",
    "a subclass clears": """
    def learn(self, x, y):
        F.cross_entropy(self.net(x), y).backward()
        self.opt.step()

class Careful(Agent):
    def learn(self, x, y):
        self.opt.zero_grad()
        super().learn(x, y)
""",
    "the optimizer is somebody else's": """
    def learn(self, opt, x, y):
        F.cross_entropy(self.net(x), y).backward()
        opt.step()
""",
    "a base class that is not in view": """
    def learn(self, x, y):
        F.cross_entropy(self.net(x), y).backward()
        self.opt.step()
""",
    "the optimizer is made for this": """
    def fit(self, x, y):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        F.cross_entropy(self.net(x), y).backward()
        optimizer.step()
""",
    "a test": """
    def test_step(self, x, y):
        F.cross_entropy(self.net(x), y).backward()
        self.opt.step()
""",
})
def test_none_where_somebody_may_clear(code, request):
    made = MADE.replace("Agent:", "Agent(Base):").replace("class", "from base import Base\nclass", 1)
    holds((made if "view" in request.node.name else MADE) + code)


MAIN = {
    "in a loop": "agent = Agent(4)\nfor x, y in batches():\n    agent.learn(x, y)\n",
    "in a main": 'def main():\n    agent = Agent(4)\n    while True:\n        agent.learn(*batches())\n\nif __name__ == "__main__":\n    main()\n',
}
AGENT = "import torch\nfrom torch import nn\n\n" + """class Agent:
    def __init__(self, dim):
        self.net = nn.Linear(dim, 2)
        self.opt = torch.optim.Adam(self.net.parameters())

    def learn(self, x, y):
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss
"""


@pytest.mark.parametrize("main", MAIN.values(), ids=list(MAIN))
@pytest.mark.parametrize("package", ["agent", "agents"])
def test_a_main_file_that_never_names_torch_runs_what_does(tmp_path, main, package):
    files = {"agent.py": AGENT, "agents/__init__.py": "from .dqn import Agent\n", "agents/dqn.py": AGENT, "data.py": "def batches():\n    yield from []\n"}
    write(tmp_path, files)
    text = f"from {package} import Agent\nfrom data import batches\n" + main
    assert [number for _, number in found(text, tmp_path / "main.py")] == [101]


@pytest.mark.parametrize("between", ["", "from inner import Agent\n"])
def test_a_main_file_that_adds_the_folder(tmp_path, between):
    adds = "import sys\nsys.path.append('lib')\n"
    files = {"lib/agent.py": adds + between if between else AGENT, "lib/lib/inner.py": AGENT, "data.py": "def batches():\n    yield from []\n"}
    text = "from agent import Agent\nfrom data import batches\nagent = Agent(4)\nfor x, y in batches():\n    agent.learn(x, y)\n"
    write(tmp_path, {**files, "main.py": text})
    assert [number for _, number in found(adds + text, tmp_path / "main.py")] == [101]
    assert found(text, tmp_path / "main.py") == []


def test_a_sum_in_a_main_file_that_never_names_torch(tmp_path):
    write(tmp_path, {"agent.py": AGENT.replace("loss.backward()", "self.opt.zero_grad()\n        loss.backward()"), "data.py": "def batches():\n    yield from []\n"})
    text = "from agent import Agent\nfrom data import batches\nagent, total = Agent(4), 0\nfor x, y in batches():\n    total += agent.learn(x, y)  # <- 106\nprint(total)\n"
    assert found(text, tmp_path / "main.py") == marked(text)


def test_a_main_file_that_clears_for_the_step(tmp_path):
    main = "from agent import Agent\nfrom data import batches\nagent = Agent(4)\nfor x, y in batches():\n    agent.opt.zero_grad()\n    agent.learn(x, y)\n"
    write(tmp_path, {"agent.py": AGENT, "data.py": "def batches():\n    yield from []\n", "main.py": main})
    assert found(main, tmp_path / "main.py") == []
    assert found(AGENT, tmp_path / "agent.py") == []


def test_a_file_that_leads_nowhere_hangs_on_what_it_was_asked_for(tmp_path):
    from .support import engine

    write(tmp_path, {"tools.py": "def train():\n    return 1\n"})
    judged = engine().check(str(tmp_path / "main.py"), "from tools import train\nfor _ in range(3):\n    train()\n")
    assert not judged.findings and str(tmp_path / "tools.py") in judged.depends


BY_HAND = """
class Fit:
    def __init__(self):
        self.x, self.y = torch.randn(50, 3), torch.randn(50, 1)
        self.weight = torch.zeros(3, 1, requires_grad=True)

    def learn(self, step):
        loss = (self.x @ self.weight - self.y).square().mean()
        loss.backward()%s
        with torch.no_grad():
            self.weight -= 0.05 * self.weight.grad
"""


@table({
    "nothing clears": BY_HAND % "  # <- 101",
    "it clears itself": BY_HAND % "" + """        self.weight.grad = None
""",
    "another method clears": BY_HAND % "" + """
    def begin(self):
        self.weight.grad.zero_()
""",
})
def test_a_step_by_hand_is_a_turn(code):
    holds(code)
