"""401: a model is moved to the GPU only behind a call that is given what was put there."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.layers = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        {forward}
        return self.layers(x)

    def fresh(self, size):
        return next(self.parameters()).new_zeros(size).cuda()


def test(net, loader):
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            {moved}
            print((net(x).argmax(1) == y).float().mean())


def train(data, width, helper):
    net = Net(width)
    loader = DataLoader(data, batch_size=4, shuffle=True)
    {first}
    {then}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        net.train()
        for x, y in loader:
            {moved_deep}
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        test(net, loader)
"""
MOVES = "x, y = x.cuda(), y.cuda()"
ASKED = "if torch.cuda.is_available():\n                x, y = x.cuda(), y.cuda()"
ASKED_MODEL = "if torch.cuda.is_available():\n        net.cuda()"
TOLD = "test(net, loader)  # <- 401"


def program(first=TOLD, then="net.cuda()", moved=MOVES, forward=""):
    return PROGRAM.format(first=first, then=then, moved=moved, moved_deep=moved, forward=forward)


@table({
    "tested first": program(),
    "to a device": program(then="net.to('cuda')"),
    "where there is a GPU": program(then=ASKED_MODEL, moved=ASKED),
    "printed first": program("print(net)\n    " + TOLD),
    "called first": program("net(torch.randn(2, 4).cuda())  # <- 401"),
    "tested behind it": program("net.cuda()", "test(net, loader)"),
    "moved before and behind": program("net.cuda()\n    test(net, loader)"),
    "a part of it is moved before": program("net.layers.cuda()\n    test(net, loader)"),
    "the batches stay": program("test(net, loader)", moved="pass"),
    "the model brings them back": program("test(net, loader)", forward="x = x.to(self.layers[0].weight.device)"),
    "given to somebody who is not seen": program("helper.place(net)\n    test(net, loader)"),
    "for the CPU": program("test(net, loader)", "net.to('cpu')", moved="x, y = x.to('cpu'), y.to('cpu')"),
    "where there is none": program("test(net, loader)", moved=ASKED.replace("if torch", "if not torch")),
})
def test_moved_too_late(code):
    holds(code)


TURNS = """
def train(loader, rounds):
    net = nn.Linear(4, 2)
    for turn in range(rounds):
        if turn:
            for x, y in loader:
                print(net(x.cuda()))
        net.cuda()
"""


def test_moved_in_the_turn_before():
    holds(TURNS)
