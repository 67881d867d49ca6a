"""What readers saw in training steps and losses, and what was not said: the same mistake in other ways of writing, and its sound twin."""

import pytest

from tests.torchlint.dryrun.support import holds, table

TWO_MODELS = """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.kind = nn.Linear(4, 1), nn.Linear(4, 3)

    def forward(self, x):
        return torch.sigmoid(self.score(x)), {small}(self.kind(x), dim=1)

class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.score, self.kind = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 3)

    def forward(self, x):
        x = F.relu(self.body(x))
        return torch.sigmoid(self.score(x)), {large}(self.kind(x), dim=1)

def go(loader, args):
    if args.size == "small":
        net = Small()
    else:
        net = Large()
    optimizer = torch.optim.Adam(net.parameters())
    criterion = nn.NLLLoss()
    for x, y in loader:
        score, kind = net(x)
        loss = criterion(kind, y){mark}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@table({
    "both": TWO_MODELS.format(small="F.softmax", large="F.softmax", mark="  # <- 302"),
    "one": TWO_MODELS.format(small="F.log_softmax", large="F.softmax", mark="  # <- 302"),
    "none": TWO_MODELS.format(small="F.log_softmax", large="F.log_softmax", mark=""),
})
def test_one_of_two_outputs_of_one_of_two_models(code):
    holds(code)


MOVED = """
import torchvision
from torch.utils.data import DataLoader

def go():
    data = torchvision.datasets.MNIST("data", transform=torchvision.transforms.ToTensor())
    loader = DataLoader(data, batch_size=16, shuffle=True)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    use_gpu = torch.cuda.is_available()
{move}
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for x, y in loader:
{batch}
"""
STEP = """            loss = criterion({x}, y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()"""
LEFT = "            out = net(x)  # <- 401\n" + STEP.format(x="out", mark="  # <- 401")
BROUGHT = "            if use_gpu:\n                x, y = x.cuda(), y.cuda()\n" + STEP.format(x="net(x)", mark="")
ONLY_WITHOUT = "            if not use_gpu:\n" + STEP.format(x="net(x)", mark="").replace("            ", "                ")


@pytest.mark.parametrize("batch", [LEFT, BROUGHT, ONLY_WITHOUT])
@table({
    "asked at once": "    if torch.cuda.is_available():\n        net = net.cuda()",
    "asked before": "    if use_gpu:\n        net.cuda()",
    "by a type": "    kind = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor\n    net.type(kind)",
})
def test_moved_where_there_is_a_gpu(code, batch):
    if batch is not ONLY_WITHOUT or "use_gpu" in code:
        holds(MOVED.format(move=code, batch=batch))


TWO_STEPS = """
maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
judge = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
maker_steps, judge_steps = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())

def go(loader, every):
    for i, noise in enumerate(loader):
        score = judge(maker(noise))
        of_maker, of_judge = -score.mean(), (score - 1).abs().mean()
        maker_steps.zero_grad()
        judge_steps.zero_grad()
{rest}
"""


@table({
    "asked twice": TWO_STEPS.format(rest="""
        if i % every == 0:
            of_maker.backward(retain_graph=True)
            maker_steps.step()
        if i % every == 0:
            of_judge.backward()  # <- 115
            judge_steps.step()"""),
    "both backwards first": TWO_STEPS.format(rest="""
        if i % every == 0:
            of_maker.backward(retain_graph=True)
        if i % every == 0:
            of_judge.backward()
            maker_steps.step()
            judge_steps.step()"""),
    "in turns": TWO_STEPS.format(rest="""
        if i % every == 0:
            of_maker.backward()
            maker_steps.step()
        if i % every != 0:
            of_judge.backward()
            judge_steps.step()"""),
})
def test_a_step_between_under_one_condition(code):
    holds(code)


AGENT = """
class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.parameters())

    def forward(self, x):
        return self.layer(x)
{more}

class Agent:
    def __init__(self, memory):
        self.memory, self.score = memory, Score()

    def learn(self):
        states, wanted = self.memory.sample()
{clear}        loss = F.mse_loss(self.score(states), wanted)
        loss.backward(){mark}
        self.score.optimizer.step()
{behind}"""


@table({
    "never cleared": AGENT.format(more="", clear="", mark="  # <- 101", behind=""),
    "cleared": AGENT.format(more="", clear="        self.score.optimizer.zero_grad()\n", mark="", behind=""),
    "by the network": AGENT.format(more="\n    def forget(self):\n        self.optimizer.zero_grad()\n", clear="", mark="",
                                   behind="        self.score.forget()\n"),
    "by whoever calls it": AGENT.format(more="\n    def forget(self):\n        self.optimizer.zero_grad()\n", clear="", mark="", behind=""),
})
def test_the_optimizer_of_a_network_of_an_agent(code):
    holds(code)


@table({
    "a chain": """
def board(image):
    tensor = (image.clone() + 1) * 0.5
    tensor.cpu().clamp(0, 1)  # <- 405
    return tensor
""",
    "what forward is given": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        x.squeeze()  # <- 405
        return self.layer(x)
""",
    "something is changed in the end": """
def board(image, cells):
    tensor = (image.clone() + 1) * 0.5
    tensor.detach().clamp_(0, 1)
    tensor.view(-1).fill_(0)
    torch.zeros(3).cuda()
    cells.squeeze()
    return tensor
""",
})
def test_results_that_nobody_keeps(code):
    holds(code)


DECAY = """
def go(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.{made}
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
{step}
"""
EACH_BATCH, EACH_EPOCH = "            scheduler.step(){mark}", "        scheduler.step()"


@pytest.mark.parametrize("step", [EACH_BATCH, EACH_EPOCH])
@table({
    "steps": ("StepLR(optimizer, step_size=10, gamma=0.9)", True),
    "marks": ("MultiStepLR(optimizer, milestones=[15, 25], gamma=0.6)", True),
    "each time": ("ExponentialLR(optimizer, 0.95)", True),
    "long steps": ("StepLR(optimizer, 10_000)", False),
    "late marks": ("MultiStepLR(optimizer, [40_000, 60_000])", False),
    "slowly": ("ExponentialLR(optimizer, 0.9999)", False),
})
def test_rates_that_are_low_after_a_few_batches(code, step):
    made, soon = code
    holds(DECAY.format(made=made, step=step.format(mark="  # <- 111" if soon else "")))


MARGIN = """
class Margin(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.weight = nn.Parameter({made})
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, y):
        return F.linear(F.normalize(x), self.weight) - 0.5 * F.one_hot(y, 4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)

    def forward(self, x):
        return self.layer(x)

def go(loader):
    net, margin, criterion = Net(), Margin(8, 4), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam({given}){mark}
    for x, y in loader:
        loss = criterion(margin(net(x), y), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@table({
    "left out": MARGIN.format(made="torch.FloatTensor(classes, width)", given="net.parameters()", mark="  # <- 118"),
    "drawn": MARGIN.format(made="torch.randn(classes, width) * 0.1", given="net.parameters()", mark="  # <- 118"),
    "a constant": MARGIN.format(made="torch.ones(classes, width) / 8", given="net.parameters()", mark=""),
    "not to be learned": MARGIN.format(made="torch.randn(classes, width), requires_grad=False", given="net.parameters()", mark=""),
    "given": MARGIN.format(made="torch.FloatTensor(classes, width)", given="[*net.parameters(), *margin.parameters()]", mark=""),
})
def test_a_loss_with_parameters_of_its_own(code):
    holds(code)
