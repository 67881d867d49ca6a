"""902 of models that are pickled otherwise than by `torch.save(model)` itself."""

import pytest

from tests.torchlint.dryrun.support import holds, table

NET = """
import pickle

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""


@table({
    "in a dict that a loop makes": """
def train(loader, epochs, optimizer):
    net = Net()
    for epoch in range(epochs):
        for x, y in loader:
            kept = {"model": net, "optimizer": optimizer.state_dict()}
        if epoch % 10 == 0:
            torch.save(kept, "last.pt")  # <- 902
""",
    "in one of two dicts": """
def keep(whole, path, epoch):
    net = Net()
    if whole:
        kept = {"epoch": epoch, "model": net}
    else:
        kept = {"epoch": epoch, "model": net, "whole": whole}
    torch.save(kept, path)  # <- 902
""",
    "states in one of two dicts": """
def keep(whole, path, epoch):
    net = Net()
    if whole:
        kept = {"epoch": epoch, "model": net.state_dict()}
    else:
        kept = {"model": net.state_dict()}
    torch.save(kept, path)
""",
    "by pickle": """
def keep(path):
    net = Net()
    with open(path, "wb") as file:
        pickle.dump(net, file)  # <- 902
""",
    "several at once": """
def keep(path):
    actor, critic = Net(), Net()
    pickle.dump((actor, critic), open(path, "wb"))  # <- 902
""",
    "by joblib, in a dict": """
import joblib

def keep(path, scaler):
    joblib.dump({"net": Net(), "scaler": scaler}, path)  # <- 902
""",
    "what is no model": """
def keep(path, log):
    net = Net()
    with open(path, "wb") as file:
        pickle.dump(net.state_dict(), file)
        pickle.dump(log, file)
        pickle.dump({"net": net.state_dict(), "log": log}, file)
    pickle.dumps(net)
""",
    "a traced one": """
def keep(path):
    pickle.dump(torch.jit.trace(Net(), torch.zeros(1, 4)), open(path, "wb"))  # <- 942
""",
    "a method that is not called": """
def keep(path):
    net = Net()
    torch.save(net.state_dict, path)  # <- 902
""",
    "a method of what is given": """
def keep(model, path):
    torch.save(model.state_dict, path)  # <- 902
""",
    "a method that is not called, beside one that is": """
def keep(model, optimizer, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict}, path)  # <- 902
""",
    "a state that an object keeps": """
class Kept:
    def __init__(self, model):
        self.state_dict = model.state_dict()

    def keep(self, path):
        torch.save(self.state_dict, path)
""",
    "a state that somebody's object keeps": """
def keep(kept, path):
    kept.state_dict = dict(kept.state_dict, epoch=1)
    torch.save(kept.state_dict, path)
""",
    "a property": """
class Kept:
    def __init__(self, model):
        self.model = model

    @property
    def state_dict(self):
        return self.model.state_dict()

def keep(model, path):
    torch.save(Kept(model).state_dict, path)
""",
    "in a list": """
def keep(optimizer, path):
    net = Net()
    torch.save([net, optimizer.state_dict()], path)  # <- 902
""",
    "states in a list": """
def keep(optimizer, path):
    net = Net()
    torch.save([net.state_dict(), optimizer.state_dict()], path)
""",
    "what is loaded, or made": """
def keep(path, resume):
    net = Net()
    if resume:
        net = torch.load(path, weights_only=False)
    torch.save(net, path)  # <- 902
""",
    "what is loaded": """
def keep(path):
    net = torch.load(path, weights_only=False)
    torch.save(net, path)
""",
    "what is loaded, and called as a model": """
def keep(path, loader):
    net = torch.load(path, weights_only=False)
    for x in loader:
        print(net.forward(x))
    torch.save(net, path)  # <- 902
""",
    "out of a wrapper, where there is one": """
def keep(path, gpus):
    net = Net()
    if gpus:
        net = nn.DataParallel(net)
    torch.save({"net": net.module if gpus else net}, path)  # <- 902
""",
    "out of a wrapper, and perhaps loaded": """
def keep(path, wide, resume, gpus):
    if resume:
        net = torch.load(path, weights_only=False)["net"]
    elif wide:
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    else:
        net = Net()
    if gpus:
        net = nn.DataParallel(net)
    torch.save({"net": net.module if gpus else net}, path)  # <- 902
""",
    "the state out of a wrapper": """
def keep(path, resume, gpus):
    net = torch.load(path, weights_only=False)["net"] if resume else Net()
    if gpus:
        net = nn.DataParallel(net)
    torch.save({"net": net.module.state_dict() if gpus else net.state_dict()}, path)
""",
    "a model of a model's own": """
class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.module = inner.state_dict()

def keep(path, gpus):
    net = Outer(Net())
    if gpus:
        net = nn.DataParallel(Net())
    torch.save(net.module if gpus else net.module, path)
""",
})
def test_pickled(code):
    holds(NET + code)


NAMED = """
from tools import NAME

def train(model, loader, path):
    model.train()
    for x, y in loader:
        NAME(model(x))
    torch.save(model, path)MARK
"""


@pytest.mark.parametrize(("name", "told"), [
    ("set_trace", True), ("eval_script", True), ("loss_trace", True), ("spoof_trace_syn", True),
    ("trace", False), ("trace_model", False), ("symbolic_trace", False), ("traced_cell", False), ("is_tracing", False),
    ("quantize_weights", False), ("script_trace", False),
    ("quantization_loss", True), ("quant_error", True), ("QuantizationLoss", True), ("quantize_lossless", False), ("quantizer", False),
])
def test_names_of_the_file(name, told):
    holds(NAMED.replace("NAME", name).replace("MARK", "  # <- 902" if told else ""))


HELD = """
class Best:
    def __init__(self, model):
        self.model, self.score = model, 0.0

    def state_dict(self):
        return {GIVEN}

def keep(path):
    net = Net()
    torch.save({"net": net.state_dict(), "best": Best(net).state_dict()}, path)MARK
"""


@pytest.mark.parametrize(("given", "told"), [
    ('{"model": self.model, "score": self.score}', True),
    ('{"kept": {"model": self.model}}', True),
    ('{"model": self.model.state_dict(), "score": self.score}', False),
    ('{"score": self.score}', False),
])
def test_what_an_object_gives_of_itself(given, told):
    holds(NET + HELD.replace("GIVEN", given[1:-1]).replace("MARK", "  # <- 902" if told else ""))
