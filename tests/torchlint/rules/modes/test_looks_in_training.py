"""202: in the midst of training, a forward whose output is only drawn, printed or made numbers of."""

from tests.torchlint.dryrun.support import holds, table

MODELS = """
import numpy as np
from torchvision.utils import make_grid, save_image

G = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.Tanh())
D = nn.Sequential(nn.Linear(64, 1), nn.Sigmoid())
criterion = nn.BCELoss()
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())


def train(loader, writer, fixed, memory):
    for step, real in enumerate(loader):
        opt_d.zero_grad()
        fake = G(torch.randn(16, 8))
        ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
        (criterion(D(real), ones) + criterion(D(fake.detach()), zeros)).backward()
        opt_d.step()
        opt_g.zero_grad()
        loss = criterion(D(fake), ones)
        loss.backward()
        opt_g.step()
"""

TOLD = {
    "pictures every so often": """
        if step % 100 == 0:
            save_image(G(fixed).detach(), "fake.png")  # <- 202
""",
    "the same name as the step's": """
        if step % 100 == 0:
            fake = G(fixed)  # <- 202
            save_image(fake.data, "fake.png", normalize=True)
""",
    "to a writer": """
        if step % 100 == 0:
            writer.add_image("fake", make_grid(G(fixed)), step)  # <- 202
""",
    "through another model": """
        if step % 100 == 0:
            scores = D(G(fixed))  # <- 202
            print(scores.mean().item())
""",
    "cut off, in the stretch of the step itself": """
        again = G(fixed)  # <- 202
        print((again.detach().numpy().round() == 1).mean())
""",
    "a list of pictures": """
        if step % 100 == 0:
            show(G(fixed))  # <- 202


def show(images):
    rows = []
    for image in images:
        rows.append(image.view(8, 8))
    save_image(make_grid(rows), "fake.png")
""",
}

SILENT = {
    "kept for later": """
        if step % 100 == 0:
            memory.append(G(fixed))
""",
    "given to the other network": """
        if step % 100 == 0:
            old = G(fixed).detach()
            opt_d.zero_grad()
            criterion(D(old), zeros).backward()
            opt_d.step()
            save_image(old, "fake.png")
""",
    "an unseen call may learn from it": """
        if step % 100 == 0:
            images = G(fixed)
            memory.improve(images)
            save_image(images.detach(), "fake.png")
""",
    "without gradients": """
        if step % 100 == 0:
            with torch.no_grad():
                save_image(G(fixed), "fake.png")
""",
    "its numbers as they are: somebody switched gradients off": """
        if step % 100 == 0:
            np.save("fake.npy", G(fixed).numpy())  # <- 416
""",
    "in the stretch of the step itself, and nothing cut off": """
        print(G(fixed).mean().item())
""",
    "cut off, and a loss of the next step besides": """
        again = G(fixed)
        print(again.detach().numpy().mean())
        opt_g.zero_grad()
        criterion(D(again), ones).backward()
        opt_g.step()
""",
    "nobody looks": """
        if step % 100 == 0:
            warm = G(fixed)
""",
}


@table(TOLD)
def test_only_looked_at(code):
    holds(MODELS + code)


@table(SILENT)
def test_used_for_more(code):
    holds(MODELS + code)


ACTOR = """
import random


class Agent:
    def __init__(self, env, memory):
        self.env, self.memory = env, memory
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def learn(self):
        states, actions, targets = self.memory.sample(32)
        chosen = self.net(states).gather(1, actions)
        loss = F.mse_loss(chosen, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def run(self, episodes):
        for _ in range(episodes):
            state, done = self.env.reset(), False
            while not done:
                action = self.act(state)
                state, reward, done, _ = self.env.step(action)
                self.memory.push(state, action, reward)
                self.learn()
"""

ACTS = {
    "the highest": """
    def act(self, state):
        if random.random() < 0.1:
            return random.randrange(2)
        return self.net(torch.as_tensor(state)).argmax().item()  # <- 202
""",
    "numpy": """
    def act(self, state):
        return int(self.net(torch.as_tensor(state)).cpu().data.numpy().argmax())  # <- 202
""",
    "no gradients": """
    def act(self, state):
        with torch.no_grad():
            return self.net(torch.as_tensor(state)).argmax().item()
""",
    "the scores themselves": """
    def act(self, state):
        return self.net(torch.as_tensor(state))
""",
}


@table(ACTS)
def test_an_agent_that_acts(code):
    holds(ACTOR + code)


def _many_terms(count):
    terms = "".join(f"        loss = loss + loss.detach() * net(x + {number}).mean()\n" for number in range(count))
    return f"""
def train(loader, kind):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        loss = net(x).mean()
{terms}        if kind == "all":
            last = net(-x).mean()
            loss = loss + last
            print(last.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_loss_of_more_terms_than_are_followed():
    holds(_many_terms(30))


TEXT = """
from torch.distributions import Categorical


def train(data, names, epochs):
    rnn = nn.LSTM(8, 8)
    optimizer = torch.optim.Adam(rnn.parameters())
    for _ in range(epochs):
        for x, y in data:
            out, _ = rnn(x)
            optimizer.zero_grad()
            F.mse_loss(out, y).backward()
            optimizer.step()
        state, given = None, x
        while True:
            MARKED
            dist = Categorical(F.softmax(out.squeeze(), dim=0))
            index = dist.sample()
            print(names[index.item()])
            given[0][0] = index.item()
            ENDS
"""


@table({
    "drawn": TEXT.replace("MARKED", "out, state = rnn(given, state)  # <- 202").replace("ENDS", "print()"),
    "drawn for what its likelihood teaches":
        TEXT.replace("MARKED", "out, state = rnn(given, state)").replace("ENDS", "(-dist.log_prob(index)).backward()"),
})
def test_text_after_each_epoch(code):
    holds(code)


def test_losses_of_held_out_data_that_a_list_keeps():
    holds("""
def train(x_train, y_train, x_test, y_test, epochs):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x_train), y_train)
        held_out = F.mse_loss(model(x_test), y_test)  # <- 202
        losses.append(held_out)  # <- 106
        loss.backward()
        optimizer.step()
    print(losses)
""")


def test_a_flag_that_is_switched_off_asks_for_no_gradient():
    code = """
def validate(path, loader):
    model = nn.Linear(4, 1)
    model.load_state_dict(torch.load(path))
    model.eval()
    hits = 0
    for x, y in loader:
        x = x.clone().detach().requires_grad_(FLAG)
        hits += (model(x).argmax(1) == y).sum().item()MARK
    print(hits)
"""
    holds(code.replace("FLAG", "False").replace("MARK", "  # <- 202"))
    holds(code.replace("FLAG", "True").replace("MARK", ""))


SHARED = """
class Agent:
    def __init__(self, env):
        self.env = env
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def run(self, x, y, state):
        for step in range(100):
            action = self.act(state) if step else self.act(self.env.reset())
            state = self.env.step(action)
            self.optimizer.zero_grad()
            F.mse_loss(self.scores(x), y).backward()
            self.optimizer.step()
"""


@table({
    "said in a function that is there for this": SHARED + """
    def scores(self, x):
        return self.net(x)

    def act(self, state):
        return self.net(state).argmax().item()  # <- 202
""",
})
def test_where_it_is_said(code):
    holds(code)


RECURRENT = """
import random

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 2)

    def forward(self, x, hidden):
        hidden = self.cell(x, hidden)
        return self.out(hidden), hidden

class Agent:
    def __init__(self, memory):
        self.net, self.memory, self.kept = Net(), memory, []
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def learn(self):
        x, y = self.memory.sample()
        scores, hidden = self.net(x, torch.zeros(16, 8))
        self.optimizer.zero_grad()
        F.mse_loss(scores, y).backward()
        self.optimizer.step()

    def act(self, state, hidden, epsilon):
        if random.random() > epsilon:
            scores, hidden = self.net(state, hidden){mark}
            action = scores.max(1)[1].item()
        else:
            scores, hidden = self.net(state, hidden)
            action = random.randint(0, 1)
        {keeps}
        return action, hidden

def main(env, memory):
    agent = Agent(memory)
    for episode in range(1000):
        hidden = torch.zeros(1, 8)
        for turn in range(100):
            action, hidden = agent.act(torch.FloatTensor(env.state()), hidden, 0.1)
            memory.add(env.step(action))
            {behind}
        agent.learn()
"""


@table({
    "its state goes round": RECURRENT.format(mark="  # <- 202", keeps="pass", behind="pass"),
    "its state is kept": RECURRENT.format(mark="", keeps="self.kept.append(hidden)", behind="pass"),
    "its state is remembered": RECURRENT.format(mark="", keeps="pass", behind="memory.add(hidden)"),
})
def test_a_state_that_goes_round(code):
    holds(code)


IN_PARTS = """
def train(nodes, masked, labels, edges, args):
    model = nn.Linear(4, 8)
    head, tail = nn.Linear(8, 2), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters(), *tail.parameters()])
    for epoch in range(args.epochs):
        scores = model(masked)
        loss = BEGIN
        if args.of_nodes > 0:
            loss += F.cross_entropy(head(scores), labels)
        if args.of_edges > 0:
            loss += F.mse_loss(tail(scores), edges)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(model(nodes).argmax(1).tolist())MARK
"""


@table({
    "added to a number": IN_PARTS.replace("BEGIN", "torch.tensor(0.).float()").replace("MARK", "  # <- 202"),
    "added to what may be made of the model": IN_PARTS.replace("BEGIN", "args.begin(masked)").replace("MARK", ""),
})
def test_a_loss_that_conditions_add_to(code):
    holds(code)


BESIDE_A_LOSS_FROM_NOWHERE = """
from regularizers import penalty_of_the_day

def train_one_epoch(model, loader, optimizer):
    model.train()
    for x in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), x).backward()
        {more}
        optimizer.step()


def show(model, samples, writer, epoch):
    {mode}
    pictures = model(samples){mark}
    writer.add_images("reconstructed", torch.cat((samples, pictures)), epoch)
    {behind}


def main(loader, samples, writer):
    model = nn.Sequential(nn.Linear(8, 4), nn.Dropout(0.1), nn.Linear(4, 8))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(20):
        train_one_epoch(model, loader, optimizer)
        show(model, samples, writer, epoch)
"""
UNSEEN = "penalty_of_the_day().backward()"


@table({
    "a function that sets the mode": BESIDE_A_LOSS_FROM_NOWHERE.format(more=UNSEEN, mode="model.eval()", mark="  # <- 202", behind=""),
    "in training mode, it may be where that loss is from": BESIDE_A_LOSS_FROM_NOWHERE.format(more=UNSEEN, mode="", mark="", behind=""),
    "it goes backward itself": BESIDE_A_LOSS_FROM_NOWHERE.format(more=UNSEEN, mode="model.eval()", mark="", behind="penalty_of_the_day().backward()"),
    "somebody else is given the pictures": BESIDE_A_LOSS_FROM_NOWHERE.format(more=UNSEEN, mode="model.eval()", mark="", behind="penalty_of_the_day(pictures)"),
})
def test_beside_a_loss_from_nowhere(code):
    holds(code)
