"""201: an agent whose network has batch norm chooses each of its actions in training mode, from one picture."""

from tests.torchlint.dryrun.support import holds, table

AGENT = """
import random


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = {norm}
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3)))


q, target = Q(), Q()
target.load_state_dict(q.state_dict())
target.eval()
optimizer = torch.optim.Adam(q.parameters())


def act(screen):
    if random.random() < 0.1:
        return torch.tensor([[random.randrange(2)]])
{act}

def learn(screens, actions, rewards, later):
    q.train()
    values = q(screens).gather(1, actions)
    with torch.no_grad():
        wanted = rewards + 0.9 * target(later).max(1)[0]
        best = q(later).max(1)[1]
    print(best.shape)
    loss = F.smooth_l1_loss(values, wanted.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main(env, memory):
    for episode in range(100):
        screen = env.screen()
        for step in range(200):
            action = act(screen)
            screen, reward = env.step(action.item())
            memory.push(screen, action, reward)
            learn(*memory.sample(32))
"""

NORM = "nn.BatchNorm2d(8)"
ONE = """
    with torch.no_grad():
        return q(screen).max(1)[1].view(1, 1)"""
TOLD = ONE.replace("(1, 1)", "(1, 1)  # <- 201")


@table({
    "the one index that is highest": AGENT.format(norm=NORM, act=TOLD),
    "its number": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        return q(screen).argmax(dim=1).item()  # <- 201
"""),
    "its number, by a name": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        best = q(screen).cpu().argmax()  # <- 201
    print("takes", best.item())
    return best
"""),
    "the second of two names": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        scores = q(screen)  # <- 201
        _, best = torch.max(scores, 1)
        return best.item()
"""),
    "made an int": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        return int(torch.argmax(q(screen)))  # <- 201
"""),
    "in evaluation mode": AGENT.format(norm=NORM, act="\n    q.eval()" + ONE),
    "of many pictures": AGENT.format(norm=NORM, act=ONE.replace(".view(1, 1)", "")),
    "of many pictures, as a column": AGENT.format(norm=NORM, act=ONE.replace("view(1, 1)", "view(-1, 1)")),
    "the mean of what is best for many": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        best = q(screen).argmax(1)
    print(best.float().mean().item())
    return best
"""),
    "the best of many, kept in a row": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        _, best = q(screen).max(1)
    print("items", best.tolist())
    return best
"""),
    "their values are looked at, too": AGENT.format(norm=NORM, act="""
    with torch.no_grad():
        scores = q(screen)
    print(scores.numpy())
    return scores.max(1)[1].view(1, 1)
"""),
    "dropout alone, which explores": AGENT.format(norm="nn.Identity()", act=ONE),
    "a norm that keeps no statistics": AGENT.format(norm="nn.BatchNorm2d(8, track_running_stats=False)", act=ONE),
})
def test_chooses_for_one(code):
    holds(code)
