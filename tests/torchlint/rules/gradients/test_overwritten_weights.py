"""115: weights that are overwritten between a forward and the backward through it, by a load, or by a step where the forward gives several."""

from tests.torchlint.dryrun.support import holds, table

POLICIES = """
new = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
old = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam([*new.parameters(), *old.parameters()])


def update(batches):
    for x in batches:
"""

LOADS = {
    "before the backward": """
        loss = (torch.softmax(new(x), 1) / torch.softmax(old(x), 1)).mean()
        optimizer.zero_grad()
        old.load_state_dict(new.state_dict())
        loss.backward()  # <- 115
        optimizer.step()
""",
    "behind it": """
        loss = (torch.softmax(new(x), 1) / torch.softmax(old(x), 1)).mean()
        optimizer.zero_grad()
        loss.backward()
        old.load_state_dict(new.state_dict())
        optimizer.step()
""",
    "before the forward": """
        old.load_state_dict(new.state_dict())
        loss = (torch.softmax(new(x), 1) / torch.softmax(old(x), 1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "of what is cut off": """
        loss = (torch.softmax(new(x), 1) / torch.softmax(old(x), 1).detach()).mean()
        optimizer.zero_grad()
        old.load_state_dict(new.state_dict())
        loss.backward()
        optimizer.step()
""",
}


@table(LOADS)
def test_loads(code):
    holds(POLICIES + code)


TUPLES = """
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.back = nn.Linear(4, 8)

    def forward(self, x):
        z = self.code(x)
        return self.back(z), z, x


coder = Coder()
judge = nn.Sequential(nn.Linear({width}, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(coder.parameters())
optimizer_judge = torch.optim.Adam(judge.parameters())


def train(loader):
    for x in loader:
        again, z, same = coder(x)
        scores = judge({judged})
        loss = F.mse_loss(again, x) + scores.mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer_judge.zero_grad()
        F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores)).backward(){mark}
        optimizer_judge.step()
"""


def test_one_of_several_outputs():
    holds(TUPLES.format(width=4, judged="z", mark="  # <- 115"))


def test_what_is_cut_off_or_was_the_input():
    holds(TUPLES.format(width=4, judged="z.detach()", mark=""))
    holds(TUPLES.format(width=8, judged="same", mark=""))
