"""202 of programs that train nothing: a model out of a file is asked, in no mode that they set."""

from tests.torchlint.dryrun.support import holds, table

POLICY = """
from torch.distributions import Normal
policy = torch.load("policy.pt", weights_only=False)
"""
WEIGHTS = """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
net.load_state_dict(torch.load("net.pt"))
"""


@table({
    "an agent that acts": POLICY + """
for run in range(10):
    observation, done = env.reset(), False
    while not done:
        mean, sigma = policy(torch.from_numpy(observation).float())  # <- 202
        action = Normal(loc=mean, scale=sigma).sample()
        observation, reward, done, _ = env.step(action.numpy())
""",
    "weights out of a file": WEIGHTS + """
for x in inputs:
    print(net(x).argmax().item())  # <- 202
""",
    "in a function that the body calls": WEIGHTS + """
def run():
    for x in inputs:
        print(net(x).argmax().item())  # <- 202


run()
""",
    "what it gives is no tensor": """
import gym

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.layer(x)).sample().item()


policy = Policy()
policy.load_state_dict(torch.load("policy.pt"))
env = gym.make("Ant-v4")
state, done = env.reset(), False
while not done:
    state, reward, done, _ = env.step(policy(torch.tensor(state)))  # <- 202
""",
    "without gradients": WEIGHTS + """
torch.set_grad_enabled(False)
for x in inputs:
    print(net(x).argmax().item())
""",
    "frozen": WEIGHTS + """
for p in net.parameters():
    p.requires_grad = False
for x in inputs:
    print(net(x).argmax().item())
""",
    "as it was made": """
net = nn.Linear(4, 2)
for x in inputs:
    print(net(x).argmax().item())
""",
    "a function that nobody calls may be called by somebody": WEIGHTS + """
def run(net, inputs):
    for x in inputs:
        print(net(x).argmax().item())
""",
    "trained by somebody who is not seen": WEIGHTS + """
trainer.fit(net)
for x in inputs:
    print(net(x).argmax().item())
""",
    "its gradient is looked at": WEIGHTS + """
for x in inputs:
    score = net(x)
    print(score.argmax().item(), torch.autograd.grad(score.sum(), x))
""",
})
def test_no_training(code):
    holds(code)


OF_A_LIBRARY = """
from torchvision import models


def load(path):
    net = models.KIND
    net.HEAD = nn.Linear(WIDTH, 2)
    net.load_state_dict(torch.load(path, weights_only=True))
    return net


net = load("weights.pt")
with torch.no_grad():
    for image in torch.rand(8, 1, 3, 224, 224):
        print(net(image).argmax())MARK
"""


def _of_a_library(kind, head, width, mark=""):
    return OF_A_LIBRARY.replace("KIND", kind).replace("HEAD", head).replace("WIDTH", str(width)).replace("MARK", mark)


@table({
    "batch norm before the head": _of_a_library("resnet18()", "fc", 512, "  # <- 207"),
    "another one": _of_a_library("densenet121()", "classifier", 1024, "  # <- 207"),
    "its dropout was in the head": _of_a_library("vgg16()", "classifier", 25088),
    "in evaluation mode": _of_a_library("resnet18().eval()", "fc", 512),
})
def test_a_head_of_ones_own_on_a_model_of_a_library(code):
    holds(code)


TRAINED = """
def make():
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))


def train(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


def answer(net, x):
    with torch.no_grad():
        return net(x).argmax(1)MARK


net = make()
train(net, [])
torch.save(net.state_dict(), "net.pt")
"""


def _trained(behind, mark=""):
    return TRAINED.replace("MARK", mark) + behind


@table({
    "another model, behind the training": _trained(
        "other = make()\nother.load_state_dict(torch.load('net.pt'))\nprint(answer(other, torch.ones(1, 4)))\n", "  # <- 207"
    ),
    "put in its mode": _trained("other = make()\nother.load_state_dict(torch.load('net.pt'))\nother.eval()\nprint(answer(other, torch.ones(1, 4)))\n"),
    "trained after that": _trained(
        "other = make()\nother.load_state_dict(torch.load('net.pt'))\nprint(answer(other, torch.ones(1, 4)))\ntrain(other, [])\n"
    ),
    "another one is trained after that": _trained(
        "other = make()\nother.load_state_dict(torch.load('net.pt'))\nprint(answer(other, torch.ones(1, 4)))\ntrain(net, [])\n"
    ),
    "put back by somebody": _trained(
        "from helpers import prepare\nother = make()\nother.load_state_dict(torch.load('net.pt'))\nprepare(other)\nprint(answer(other, torch.ones(1, 4)))\n"
    ),
    "its gradient is looked at": _trained(
        "other = make()\nother.load_state_dict(torch.load('net.pt'))\nx = torch.ones(1, 4, requires_grad=True)\n"
        "print(torch.autograd.grad(other(x).sum(), x))\n"
    ),
})
def test_a_model_that_is_loaded_behind_a_training(code):
    holds(code)
