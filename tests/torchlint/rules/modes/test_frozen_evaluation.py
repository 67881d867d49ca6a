"""202 beside parameters that are switched off for the evaluation and on again for the training: no graph is built."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def evaluate(loader, quick=False):
    %s
    net.eval()
    total = 0
    for x, y in loader:
        total += F.cross_entropy(net(x), y).item()%s
    print(total)

def main(batches, others, quick):
    for epoch in range(3):
        for x, y in batches:
            for p in net.parameters():
                p.requires_grad = True
            net.train()
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        evaluate(others, quick)
"""
EACH = "for p in net.parameters():\n        p.requires_grad = False"


@table({
    "each of them": PROGRAM % (EACH, ""),
    "the model at once": PROGRAM % ("net.requires_grad_(False)", ""),
    "one layer": PROGRAM % (EACH.replace("net", "net[0]"), "  # <- 202"),
    "those that a filter leaves": PROGRAM % (EACH.replace("net.parameters()", "filter(lambda p: p.dim() > 1, net.parameters())"), "  # <- 202"),
    "on a condition": PROGRAM % (f"if quick:\n      {EACH}", "  # <- 202"),
    "and one on again": PROGRAM % (f"{EACH}\n    for p in net[2].parameters():\n        p.requires_grad = True", "  # <- 202"),
})
def test_switched_off(code):
    holds(code)


HOLDER = """
class Pretrained(nn.Module):
    def __init__(self, modules, freeze=True):
        super().__init__()
        self.mods = nn.ModuleDict(modules)
        if freeze:
            self.mods.eval()
            for p in self.mods.parameters():
                p.requires_grad = False

class Recognizer(Pretrained):
    def __init__(self, modules):
        super().__init__(modules)
        %s

    def ask(self, x):
        return self.mods.encoder(x)

def main(path, loader):
    recognizer = Recognizer(yaml.load(path))
    for x in loader:
        print(recognizer.ask(x).argmax(1).tolist())%s
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


@table({
    "beside a layer of the holder's": HOLDER % ("self.head = nn.Linear(4, 4)", ""),
    "with one that learns nothing": HOLDER % ("self.mods['likeness'] = nn.CosineSimilarity()", ""),
    "with a new layer in it": HOLDER % ("self.mods['head'] = nn.Linear(4, 4)", "  # <- 202"),
})
def test_frozen_in_another_module(code):
    holds("import yaml\n" + code)
