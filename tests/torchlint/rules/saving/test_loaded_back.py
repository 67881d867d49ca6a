"""904 of states that are taken before a training, and loaded back behind it."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
def train(model: nn.Module, loader, folds):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    BEFORE
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    AFTER
    return model
"""


ONCE = """
import copy

def once(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
TURNS = """
def compare(loader, rates):
    model = nn.Linear(4, 2)
    kept = KEPT
    for rate in rates:
        model.load_state_dict(LOADED)
        once(model, loader, torch.optim.SGD(model.parameters(), lr=rate))
"""


def train(before, after):
    return TRAIN.replace("BEFORE", before).replace("AFTER", after)


@table({
    "the best state, which no epoch keeps": train("best = model.state_dict()  # <- 904", "model.load_state_dict(best)"),
    "a copy": "import copy\n" + train("best = copy.deepcopy(model.state_dict())", "model.load_state_dict(best)"),
    "into another model": train("first = model.state_dict()", "other = nn.Linear(4, 2)\n    other.load_state_dict(first)"),
    "taken behind the training": train("pass", "last = model.state_dict()\n    model.load_state_dict(last)"),
    "changed in between": train("state = model.state_dict()", 'state["weight"] = torch.zeros(2, 4)\n    model.load_state_dict(state)'),
    "at the begin of each turn": ONCE + TURNS.replace("KEPT", "model.state_dict()  # <- 904").replace("LOADED", "kept"),
    "at the begin of each turn, copied only then": ONCE + TURNS.replace("KEPT", "model.state_dict()  # <- 904").replace("LOADED", "copy.deepcopy(kept)"),
    "at the begin of each turn, copied before": ONCE + TURNS.replace("KEPT", "copy.deepcopy(model.state_dict())").replace("LOADED", "kept"),
    "into a model that each turn makes": ONCE + TURNS.replace("KEPT", "model.state_dict()").replace("LOADED", "kept").replace(
        "model.load", "model = nn.Linear(4, 2)\n        model.load"),
    "a copy of what the name has by then": ONCE + TURNS.replace("KEPT", "model.state_dict()\n    kept = torch.load('first.pt')").replace(
        "LOADED", "copy.deepcopy(kept)"),
    "on an object": """
class Finder:
    def __init__(self, model: nn.Module, optimizer):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.first = self.model.state_dict()  # <- 904

    def find(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()
        self.model.load_state_dict(self.first)
""",
})
def test_loaded_back(code):
    holds(code)


WRAPPED = """
import copy

def train(model, loader, optimizer):
    best = TAKEN
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    INTO.load_state_dict(best)
    return model

def main(args, loader):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    spare = nn.Linear(4, 2)
    if args.gpus > 1:
        net = nn.DataParallel(net)
    train(net, loader, torch.optim.SGD(PARAMETERS, lr=0.1))
"""


def wrapped(taken, into="model", parameters="net.parameters()"):
    return WRAPPED.replace("TAKEN", taken).replace("INTO", into).replace("PARAMETERS", parameters)


@table({
    "of a model that may be wrapped": wrapped("model.state_dict()  # <- 904"),
    "of which what learns is filtered into a list": wrapped(
        "model.state_dict()  # <- 904", parameters="list(filter(lambda p: p.requires_grad, net.parameters()))"),
    "a copy of it": wrapped("copy.deepcopy(model.state_dict())"),
    "of two models, either into a third": wrapped("model.state_dict()", into="nn.DataParallel(nn.Linear(4, 2))"),
    "of which another is trained": wrapped("model.state_dict()", parameters="spare.parameters()").replace("optimizer.step()", "optimizer.step()  # <- 103"),
    "copied in between": wrapped("model.state_dict()").replace("optimizer.step()", "optimizer.step()\n        if len(y) > 4:\n            best = copy.deepcopy(model.state_dict())"),
})
def test_models_that_may_be_wrapped(code):
    holds(code)
