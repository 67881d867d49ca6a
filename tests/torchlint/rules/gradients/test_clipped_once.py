"""112: gradients are clipped once, before there are any, as if that set a limit for the steps to come."""

from tests.torchlint.dryrun.support import IMPORTS, RULES, found, holds, marked, table
from torchlint.engine import Engine

ONCE = """
def main(loader, args):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            {inside}
            optimizer.step()
            total += loss.item()
        print(total)
"""

ROTATED = """
def main(loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for index, (x, y) in enumerate(loader):
        if index:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
"""

FIRST_BY_HAND = """
def main(loader, x, y):
    model = nn.Linear(4, 2)
    F.cross_entropy(model(x), y).backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""

CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@table({
    "before the loop": ONCE.format(before=f"{CLIP}  # <- 112", inside="pass"),
    "by value": ONCE.format(before="nn.utils.clip_grad_value_(model.parameters(), 1.0)  # <- 112", inside="pass"),
})
def test_a_clip_before_the_loop(code):
    holds(code)


@table({
    "each time": ONCE.format(before="pass", inside=CLIP),
    "once more than needed": ONCE.format(before=CLIP, inside=CLIP),
    "by a helper that is not seen": ONCE.format(before=CLIP, inside="args.clip_all(model)"),
    "measured only": ONCE.format(before="nn.utils.clip_grad_norm_(model.parameters(), float('inf'))", inside="pass"),
    "at the head of the next turn": ROTATED,
    "gradients of before": FIRST_BY_HAND,
})
def test_a_clip_where_it_counts(code):
    holds(code)


IN_CONSTRUCTOR = """
class Learner:
    def __init__(self, lr):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)  # <- 112

    def step(self, parts):
        total = torch.zeros(1)
        for x, y in parts:
            total += F.cross_entropy(self.net(x), y)
        self.optimizer.zero_grad()
        try:
            total.backward()
        except RuntimeError:
            print("no graph")
        self.optimizer.step()
"""


@table({
    "in the constructor": IN_CONSTRUCTOR,
    "and in each step": IN_CONSTRUCTOR.replace("  # <- 112", "").replace(
        "        self.optimizer.step()", "        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)\n        self.optimizer.step()"
    ),
    "and by hand in each step": IN_CONSTRUCTOR.replace("  # <- 112", "").replace(
        "        self.optimizer.step()", "        for p in self.net.parameters():\n            p.grad *= 0.1\n        self.optimizer.step()"
    ),
})
def test_a_clip_in_the_constructor(code):
    holds(code)


def test_asked_for_alone():
    """What steps does not speak of clipping itself: it is run all the same where nothing else is asked for."""
    text = IMPORTS + IN_CONSTRUCTOR
    assert found(text, judge=Engine(tuple(rule for rule in RULES if rule.code == 112))) == marked(text)
