"""202: what an agent asks of its model in a rollout, where the update asks the same model again."""

from tests.torchlint.dryrun.support import holds, table

ITS_OWN_METHOD = """
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 2)
        self.critic = nn.Linear(4, 1)
        self.kept = []

    def forward(self, x):
        return self.actor(x), self.critic(x)
{method}

def train(env):
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(100):
        state, done = env.reset(), False
        states, actions, rewards = [], [], []
        while not done:
            action = model.choose(state){mark}
            states.append(state)
            actions.append(action)
            state, reward, done, _ = env.step(action)
            rewards.append(reward)
        scores, values = model(torch.tensor(states))
        chances = Categorical(torch.softmax(scores, dim=1)).log_prob(torch.tensor(actions))
        returns = torch.tensor(rewards)
        loss = ((returns - values.squeeze()) ** 2 - chances * (returns - values.detach().squeeze())).mean()
        {more}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

DRAWS = """
    def choose(self, state):
        scores, _ = self.forward(torch.tensor([state]))
        return Categorical(torch.softmax(scores, dim=1)).sample().numpy()[0]
"""
KEEPS = """
    def choose(self, state):
        scores, _ = self(torch.tensor([state]))
        drawn = Categorical(torch.softmax(scores, dim=1))
        action = drawn.sample()
        self.kept.append(drawn.log_prob(action))
        return action.item()
"""


def test_a_method_of_the_model_acts():
    holds(ITS_OWN_METHOD.format(method=DRAWS, mark="  # <- 202", more=""))


def test_a_method_that_keeps_what_is_learned_from():
    holds(ITS_OWN_METHOD.format(method=KEEPS, mark="", more="loss = loss - torch.stack(model.kept).mean()"))


GAUSSIAN = """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(4, 2)
        self.spread = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.mean(x), self.spread


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters())


def main(env):
    for _ in range(100):
        state, done = env.reset(), False
        states, actions, rewards = [], [], []
        while not done:
            action = act(state)
            states.append(state)
            actions.append(action)
            state, reward, done, _ = env.step(action)
            rewards.append(reward)
        update(torch.tensor(states), actions, torch.tensor(rewards))


def update(states, actions, returns):
    mean, spread = policy(states)
    loss = ((mean - torch.stack(actions)) ** 2 / spread * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

ACTS = {
    "drawn with torch.normal, and its data": """

def act(state):
    mean, spread = policy(torch.from_numpy(state).unsqueeze(0))  # <- 202
    return torch.normal(mean, spread).data[0].numpy()
""",
    "drawn, and cut off": """

def act(state):
    mean, spread = policy(torch.from_numpy(state).unsqueeze(0))  # <- 202
    action = torch.normal(mean=mean, std=spread)
    return action.detach().cpu().numpy()
""",
    "as it is, which raises where gradients are on": """

def act(state):
    mean, spread = policy(torch.from_numpy(state).unsqueeze(0))
    return torch.normal(mean, spread).numpy()
""",
    "moved by noise, and learned through": """

def act(state):
    mean, spread = policy(torch.from_numpy(state).unsqueeze(0))
    return mean + spread * torch.normal(0.0, 1.0, size=(1, 2))
""",
}


@table(ACTS)
def test_draws_of_a_gaussian(code):
    holds(GAUSSIAN + code)


BY_HAND = GAUSSIAN.replace("    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n", """
    for weight, grad in zip(policy.parameters(), torch.autograd.grad(loss, policy.parameters())):
        weight.data -= 0.01 * grad
""")


def test_a_training_that_asks_for_gradients():
    holds(BY_HAND + ACTS["drawn, and cut off"])
    holds(BY_HAND + ACTS["moved by noise, and learned through"])
