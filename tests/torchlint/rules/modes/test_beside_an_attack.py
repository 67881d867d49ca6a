"""202 beside an attack, which goes backward for its input: what counts the errors reads the output cut off alone, and needs no graph."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
{before}

def disturbed(model, x, y):
    {asks}
    moved = x.detach().clone().requires_grad_(True)
    for _ in range(5):
        loss = F.cross_entropy(model(moved), y)
        loss.backward()
        moved = (moved + 0.01 * moved.grad.sign()).detach().requires_grad_(True)
    return wrong

def evaluate(loader):
    {mode}
    total = 0
    for x, y in loader:
        total += disturbed(net, x, y)
    print(total)

def train(loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        evaluate(loader)

train([(torch.rand(4, 8), torch.tensor([0, 1, 2, 0]))])
"""


def program(asks, mode="net.eval()", before=""):
    return PROGRAM.format(asks=asks, mode=mode, before=before)


NAMED = "out = model(x){mark}\n    wrong = (out.data.max(1)[1] != y).sum()"
TOLD = "  # <- 202"


@table({
    "by a name": program(NAMED.format(mark=TOLD)),
    "read twice": program(NAMED.format(mark=TOLD) + " + out.detach().isnan().sum()"),
    "at once": program("wrong = (model(x).detach().argmax(1) != y).sum()" + TOLD),
    "without gradients": program("with torch.no_grad():\n        " + NAMED.format(mark="").replace("\n", "\n    ")),
    "read with its graph, too": program(NAMED.format(mark="") + "\n    keep(out)"),
    "in no mode": program(NAMED.format(mark=""), mode="print()"),
    "a hook keeps something": program(NAMED.format(mark=""), before="net[0].register_forward_hook(lambda m, i, o: kept.append(o))\nkept = []"),
})
def test_errors_are_counted_beside_an_attack(code):
    holds(code)
