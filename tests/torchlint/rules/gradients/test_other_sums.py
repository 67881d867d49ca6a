"""106: what is computed of the terms of a loss, beside it, keeps their graph."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, x):
        return self.layer(x)

def penalty(critic, x):
    x = x.clone().requires_grad_(True)
    grad = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    return (grad.norm(dim=1) - 1).pow(2).mean()

def train(loader, epochs):
    critic, kept, total = Critic(), [], 0
    optimizer = torch.optim.Adam(critic.parameters())
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            right, wrong = critic(x).mean(), critic(y).mean()
            loss = wrong - right + penalty(critic, x)
            loss.backward()
            optimizer.step()
"""


@table({
    "a distance in a list": """
            distance = right - wrong
            kept.append(distance)  # <- 106
""",
    "added up": """
            total += right - wrong  # <- 106
""",
})
def test_terms_keep_their_graph(code):
    holds(HEAD + code)


@table({
    "its number": """
            distance = right - wrong
            kept.append(distance.item())
""",
    "of terms that were cut": """
            kept.append(right.detach() - wrong.detach())
""",
    "cut behind": """
            kept.append((right - wrong).detach())
""",
    "a comparison": """
            total += (right > wrong).float()
""",
    "nothing of it outlives the turn": """
            total = right - wrong
            print(float(total))
""",
    "without a graph": """
            with torch.no_grad():
                kept.append(right - wrong)
""",
})
def test_what_keeps_none_is_left_alone(code):
    holds(HEAD + code)
