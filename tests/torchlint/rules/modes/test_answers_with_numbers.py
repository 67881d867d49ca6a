"""202 of functions that nobody calls, and that make a number of what a model gives which an optimizer has: the best action, an accuracy."""

from tests.torchlint.dryrun.support import holds, table

AGENT = """
import random

class Agent{base}:
    def __init__(self, memory):
{first}        self.memory = memory
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.target = nn.Linear(8, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def learn(self):
        for states, returns in self.memory:
            self.optimizer.zero_grad()
            F.mse_loss(self.net(states), returns).backward()
            self.optimizer.step()

"""
PLAIN = AGENT.format(base="", first="")


@table({
    "the action that scores highest": PLAIN + """
    def choose(self, state):
        if random.random() < 0.1:
            return random.randrange(4)
        scores = self.net(torch.tensor(state))  # <- 202
        return torch.argmax(scores).item()
""",
    "of a method named forward": PLAIN + """
    def choose(self, state):
        return self.net.forward(torch.tensor(state)).max(0)[1].item()  # <- 202
""",
    "in a module": AGENT.format(base="(nn.Module)", first="        super().__init__()\n") + """
    def choose(self, state):
        return self.net(torch.tensor(state)).argmax().item()  # <- 202
""",
    "without gradients": PLAIN + """
    def choose(self, state):
        with torch.no_grad():
            return self.net(torch.tensor(state)).argmax().item()
""",
    "kept for later": PLAIN + """
    def choose(self, state):
        self.scores = self.net(torch.tensor(state))
        return self.scores.argmax().item()
""",
    "given back with its graph": PLAIN + """
    def choose(self, state):
        scores = self.net(torch.tensor(state))
        return scores.argmax().item(), scores
""",
    "the likelihood of what was drawn is kept": PLAIN + """
    def choose(self, state):
        drawn = torch.distributions.Categorical(logits=self.net(torch.tensor(state)))
        action = drawn.sample()
        self.memory.append(drawn.log_prob(action))
        return action.item()
""",
    "what no optimizer has": PLAIN + """
    def choose(self, state):
        return self.target(torch.tensor(state)).argmax().item()
""",
    "whoever has it may have switched gradients off": PLAIN + """
    def _choose(self, state):
        return self.net(torch.tensor(state)).argmax().item()
""",
    "a framework calls it": "from framework import Policy\n" + AGENT.format(base="(Policy)", first="") + """
    def choose(self, state):
        return self.net(torch.tensor(state)).argmax().item()
""",
    "under a decorator": "from framework import fast\n" + PLAIN + """
    @fast
    def choose(self, state):
        return self.net(torch.tensor(state)).argmax().item()
""",
    "given to somebody who is not seen": PLAIN + """
    def choose(self, state, keeper):
        scores = self.net(torch.tensor(state))
        keeper.keep(scores)
        return scores.argmax().item()
""",
    "given to a logger": PLAIN + """
    def choose(self, state, logger):
        scores = self.net(torch.tensor(state))  # <- 202
        logger.record("scores", scores)
        return scores.argmax().item()
""",
    "the gradient of a score is wanted": PLAIN + """
    def choose(self, state):
        score = self.net(torch.tensor(state)).max()
        score.backward()
        return score.item()
""",
    "an accuracy of the model of the file's body": """
net = nn.Linear(8, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def learn(x, y):
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(net(x), y).backward()
    optimizer.step()


def check(data):
    return ((net(data.x) > 0) == (data.y == 1)).sum().item() / len(data)  # <- 202
""",
})
def test_numbers(code):
    holds(code)


RUN = """
import numpy as np

class Agent:
    def __init__(self, env):
        self.env, self.memory = env, []
        self.net = nn.Linear(8, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def act(self, state):
        return int(np.argmax(self.net(state).detach().numpy()))  # <- 202

    def keep(self, state, action, reward):
        expected = {asked}
        self.memory.append((state, action, reward - expected))

    def learn(self):
        states, actions, rewards = self.env.sample(self.memory)
        best = self.net(states).detach().numpy()
        loss = F.mse_loss(self.net(states), torch.from_numpy(rewards + best))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def run(self):
        state = self.env.reset()
        while True:
            action = self.act(state)
            state, reward = self.env.step(action)
            self.keep(state, action, reward)
            self.learn()
"""


@table({
    "each function has to switch them off": RUN.format(asked="self.net(state).detach().numpy()[action]  # <- 202"),
    "one does": RUN.format(asked="self.score(state)") + """
    @torch.no_grad()
    def score(self, state):
        return self.net(state).numpy()
""",
})
def test_two_functions_in_a_loop_that_trains(code):
    holds(code)
