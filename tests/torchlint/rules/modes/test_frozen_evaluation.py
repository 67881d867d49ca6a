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
    "on a condition": PROGRAM % (f"if quick:\n      {EACH}", "  # <- 202"),
    "and one on again": PROGRAM % (f"{EACH}\n    for p in net[2].parameters():\n        p.requires_grad = True", "  # <- 202"),
})
def test_switched_off(code):
    holds(code)
