"""905 where a program has a `load_checkpoint` of its own, which brings an optimizer's state back or not."""

from tests.torchlint.dryrun.support import holds, table

READER = """
class Reader:
    def __init__(self, state=None):
        self.net = nn.Linear(4, 2)
        if state is not None:
            self.net.load_state_dict(state)MARK

    def begin(self, given=None):
        self.optim = torch.optim.Adam(self.net.parameters())
        BEGUN

    def learn(self, x, y):
        self.optim.zero_grad()
        F.cross_entropy(self.net(x), y).backward()
        self.optim.step()

    def checkpoint(self, path, epoch):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optim.state_dict(), "epoch": epoch}, path)

    @staticmethod
    def load_checkpoint(path):
        state = torch.load(path)
        reader = Reader(state["net"])
        reader.begin(state["optimizer"])
        return reader, state["epoch"]


def main(args, loader):
    start_epoch = 0
    if args.again:
        reader, start_epoch = Reader.load_checkpoint(args.path)
    else:
        reader = Reader()
        reader.begin()
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            reader.learn(x, y)
        reader.checkpoint(args.path, epoch + 1)
"""
FORGOTTEN = READER.replace("MARK", "  # <- 905")


@table({
    "the state that is handed over is read by nobody": FORGOTTEN.replace("BEGUN", ""),
    "it is loaded": READER.replace("MARK", "").replace("BEGUN", "if given is not None:\n            self.optim.load_state_dict(given)"),
    "another one's, which is out of view": "from tools import load_checkpoint\n" + READER.replace("MARK", "").replace("BEGUN", "").replace(
        "Reader.load_checkpoint(args.path)", "load_checkpoint(args.path)"
    ).replace("def load_checkpoint", "def brought_back"),
    "another one's, which is handed the optimizer": "from tools import load_checkpoint\n" + READER.replace("MARK", "").replace(
        "BEGUN", "load_checkpoint(self.net, self.optim)"
    ),
})
def test_own_load_checkpoint(code):
    holds(code)
