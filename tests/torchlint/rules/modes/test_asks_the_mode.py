"""203 where a model asks for its mode before it sees to it, `if not self.training: self.train()`: it is in this mode behind that."""

from tests.torchlint.dryrun.support import holds, table

LEARNER = """
from torch.utils.data import DataLoader

class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=0.1)

    def forward(self, x):
        return self.layers(x)

    def learn(self, x, y):
        SEES_TO_IT
        loss = F.cross_entropy(self(x), y)MARK
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def judge(self, x, y):
        if self.training:
            self.eval()
        with torch.no_grad():
            return (self(x).argmax(1) == y).sum().item()

def main(train_set, val_set):
    learner = Learner()
    train, val = DataLoader(train_set, batch_size=8, shuffle=True), DataLoader(val_set, batch_size=8)
    for epoch in range(10):
        for x, y in train:
            learner.learn(x, y)
        print(sum(learner.judge(x, y) for x, y in val))
        for x, y in val:
            print(learner.judge(x, y))
"""


@table({
    "it sees to it": LEARNER.replace("SEES_TO_IT", "if not self.training:\n            self.train()").replace("MARK", ""),
    "on one line": LEARNER.replace("SEES_TO_IT", "if not self.training: self.train()").replace("MARK", ""),
    "nobody does": LEARNER.replace("SEES_TO_IT", "pass").replace("MARK", "  # <- 203"),
    "the other mode": LEARNER.replace("SEES_TO_IT", "if not self.training:\n            self.eval()").replace("MARK", "  # <- 203"),
})
def test_its_own_mode(code):
    holds(code)
