"""301 and 305: a softmax that the program writes out itself."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
def softmax(x):
    {made}
    return {given}

def train(loader):
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = {loss}
        loss.backward()
        optimizer.step()
"""
ENTROPY = "F.cross_entropy(softmax(net(x)), y)"


def program(made="e = torch.exp(x)", given="e / e.sum(1, keepdim=True)", loss=ENTROPY + "  # <- 301"):
    return PROGRAM.format(made=made, given=given, loss=loss)


@table({
    "by one name": program(),
    "by two": program(made="e = x.exp()\n    whole = torch.sum(e, dim=-1, keepdim=True)", given="e / whole"),
    "by none": program(made="pass", given="torch.exp(x) / torch.exp(x).sum(dim=1, keepdim=True)"),
    "with the largest taken off": program(made="e = torch.exp(x - x.max(1, keepdim=True)[0])"),
    "its logarithm": program(loss="F.nll_loss(torch.log(softmax(net(x))), y)  # <- 305"),
    "divided by another sum": program(made="e = torch.exp(x)\n    f = e * 2", given="e / f.sum(1, keepdim=True)", loss=ENTROPY),
    "divided by a new sum of that name": program(made="e = torch.exp(x)\n    s = e.sum(1, keepdim=True)\n    e = torch.exp(2 * x)", given="e / s", loss=ENTROPY),
    "of no exponentials": program(made="e = torch.square(x)", loss=ENTROPY),
    "for a loss that takes it": program(loss="F.mse_loss(softmax(net(x)), y)"),
})
def test_softmax_by_hand(code):
    holds(code)
