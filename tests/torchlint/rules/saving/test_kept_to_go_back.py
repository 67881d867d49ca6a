"""904 of states that a class keeps of its model, for a method that puts it back."""

from tests.torchlint.dryrun.support import holds, table

FINDER = """
import copy

class Finder:
    def __init__(self, model: nn.Module, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.first = TAKEN

    def search(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()

    def reset(self):
        MORE
        self.model.load_state_dict(self.first)
"""
BAD = "model.state_dict()  # <- 904"


def finder(taken, more="print(1)"):
    return FINDER.replace("TAKEN", taken).replace("MORE", more)


@table({
    "of what it was handed": finder(BAD),
    "of its own": finder("self." + BAD),
    "a copy": finder("copy.deepcopy(model.state_dict())"),
    "moved behind that: what was taken stays where it was": finder("model.state_dict()\n        self.model.cuda()"),
    "another one since": finder("model.state_dict()", "self.first = torch.load('first.pt')"),
    "another model": finder("model.state_dict()", "self.model = nn.Linear(4, 2)"),
    "which nobody trains": finder("model.state_dict()").replace("            self.optimizer.step()\n", ""),
    "into another model": finder("model.state_dict()").replace("self.model.load", "self.other.load"),
})
def test_kept_to_go_back(code):
    holds(code)
