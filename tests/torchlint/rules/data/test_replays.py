"""620 where the epoch to begin at is told from the number of batches, and where a helper of another file saves."""

from tests.torchlint.dryrun.support import IMPORTS, holds, table
from tests.torchlint.support import write
from torchlint.api import check

HELPER = """
def save_checkpoint(model, optimizer, iteration, path):
    torch.save({"iteration": iteration, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)MARK

def load_checkpoint(model, optimizer, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["iteration"]
"""
TRAIN = """
from torch.utils.data import DataLoader

def train(dataset, args):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    iteration, first = 0, 0
    if args.resume:
        iteration = load_checkpoint(model, optimizer, args.resume) + 1
        first = max(0, int(iteration / len(loader)))
    for epoch in range(first, args.epochs):
        for x, y in loader:
            PASS
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if iteration % 1000 == 0:
                save_checkpoint(model, optimizer, iteration, args.path)
            iteration += 1
"""
SOUND = HELPER.replace("MARK", "")


@table({
    "begun at the epoch of the batches": HELPER.replace("MARK", "  # <- 620") + TRAIN.replace("PASS", "pass"),
    "begun at the epoch of the batches, with a loss that begins at one": HELPER.replace("MARK", "  # <- 620")
    + TRAIN.replace("PASS", "weight = float(iteration >= args.kl_loss_start_iter)"),
    "begun at the epoch of the batches, with names that only sound like a generator's state": HELPER.replace("MARK", "  # <- 620")
    + TRAIN.replace("PASS", "target_state, both = model.state_dict(), get_state_dict(model, optimizer)"),
    "with the state of a generator": SOUND + TRAIN.replace("PASS", "drawn = np.random.get_state()"),
    "begun at a batch": SOUND + TRAIN.replace("PASS", "if iteration < args.start_iter:\n                break"),
    "batches are passed over": SOUND + TRAIN.replace("PASS", "if done > 0:\n                continue"),
    "begun at the first epoch": SOUND + TRAIN.replace("PASS", "pass").replace("range(first,", "range(args.first,"),
    "saved behind each epoch": SOUND + TRAIN.replace("PASS", "pass").replace("            if iteration % 1000", "        if iteration % 1000")
    .replace("                save_checkpoint", "            save_checkpoint").replace("            iteration += 1", "        iteration += 1"),
})
def test_by_batches(code):
    holds(code)


def test_a_helper_of_another_file(tmp_path):
    text = IMPORTS + "from helpers import load_checkpoint, save_checkpoint\n" + TRAIN.replace("PASS", "pass")
    write(tmp_path, {"pyproject.toml": "", "helpers.py": IMPORTS + SOUND, "train.py": text})
    found = [(one.code, one.location.row) for one in check(tmp_path / "train.py", cache=False)]
    assert found == [("TL620", text[: text.index("save_checkpoint(model")].count("\n") + 1)]


LISTED = """
from torch.utils.data import DataLoader

def train(dataset, args):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    start_epoch, step = 0, 0
    if args.resume:
        states = torch.load(args.resume)
        model.load_state_dict(states[0])
        optimizer.load_state_dict(states[1])
        start_epoch = states[2]
        step = states[3]
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            step += 1
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 1000 == 0:
                states = [model.state_dict(), optimizer.state_dict(), EPOCH, step]
                torch.save(states, args.path)MARK
"""
ACCUMULATED = """
from torch.utils.data import DataLoader

def train(dataset, args):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    current_epoch, steps, parts = 0, 0, 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        current_epoch = state["current_epoch"]
        steps = state["steps"]
    for number in range(current_epoch, args.epochs):
        for x, y in loader:
            BEFORE
            if parts == 0:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            parts = (parts + 1) % 4
            if parts == 0:
                optimizer.step()
                steps += 1
            else:
                continue
            if steps % 1000 == 0:
                states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "current_epoch": NUMBER, "steps": steps}
                torch.save(states, args.path)MARK
"""
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.skip_layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.skip_layer(x)
"""
NAMED = """
from torch.utils.data import DataLoader
from helpers import load_checkpoint, save_checkpoint
from model import Net

def train(dataset, args):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    step, last_epoch = 0, 0
    if args.resume:
        last_epoch = load_checkpoint(model, optimizer, args.resume)
        step = last_epoch * len(loader)
    for epoch in range(max(0, last_epoch), args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 1000 == 0:
                save_checkpoint(model, optimizer, epoch, args.path)
            step += 1
"""


@table({
    "in a list": LISTED.replace("EPOCH", "epoch").replace("MARK", "  # <- 620"),
    "in a list, with the epoch behind": LISTED.replace("EPOCH", "epoch + 1").replace("MARK", ""),
    "in a list, without a step": LISTED.replace("EPOCH, step", "epoch, 3").replace("        step = states[3]\n", "").replace("MARK", ""),
})
def test_lists(code):
    holds(code)


@table({
    "a part of an accumulation is done": ACCUMULATED.replace("NUMBER", "number").replace("BEFORE", "pass").replace("MARK", "  # <- 620"),
    "batches are passed over before": ACCUMULATED.replace("NUMBER", "number").replace("BEFORE", "if steps < args.done:\n                continue")
    .replace("MARK", ""),
    "the epoch behind": ACCUMULATED.replace("NUMBER", "number + 1").replace("BEFORE", "pass").replace("MARK", ""),
    "another number": ACCUMULATED.replace("NUMBER", "steps // len(loader)").replace("BEFORE", "pass").replace("MARK", ""),
    "only some batches are trained on": ACCUMULATED.replace("NUMBER", "number").replace("BEFORE", "pass").replace("MARK", "")
    .replace("            loss.backward()", "            if steps >= args.done:\n                loss.backward()"),
})
def test_where_a_batch_is_left_behind_its_backward(code):
    holds(code)


def test_a_helper_that_is_told_the_epoch(tmp_path):
    text = IMPORTS + NAMED
    write(tmp_path, {"pyproject.toml": "", "helpers.py": IMPORTS + SOUND, "model.py": IMPORTS + NET, "train.py": text})
    found = [(one.code, one.location.row) for one in check(tmp_path / "train.py", cache=False)]
    assert found == [("TL620", text[: text.index("save_checkpoint(model")].count("\n") + 1)]


COUNTED = """
from torch.utils.data import DataLoader

step, epoch = 0, 0

def load_checkpoint(path, model, optimizer):
    global step, epoch
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    epoch = state["epoch"]

def train(model, optimizer, loader, epochs, path):
    global step, epoch
    while epoch < epochs:
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            step += 1
            if step % 1000 == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "epoch": epoch}, path)MARK
        epoch += 1

def main(dataset, args):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    if args.resume:
        load_checkpoint(args.resume, model, optimizer)
    train(model, optimizer, DataLoader(dataset, batch_size=32, shuffle=True), args.epochs, args.path)
"""
FAILING = COUNTED.replace("F.cross_entropy(model(x), y).backward()", """try:
                loss = F.cross_entropy(model(x), y)
            except RuntimeError:
                HANDLED
            loss.backward()""")


@table({
    "the loop asks for what is read back": COUNTED.replace("MARK", "  # <- 620"),
    "the epoch after it": COUNTED.replace("MARK", "").replace('state["epoch"]', 'state["epoch"] + 1'),
    "the epoch is not read back": COUNTED.replace("MARK", "").replace('epoch = state["epoch"]', 'print(state["epoch"])'),
    "what is read back is not what the loop asks": COUNTED.replace("MARK", "").replace('epoch = state["epoch"]', 'last = state["epoch"]'),
    "the loop does not count epochs": COUNTED.replace("MARK", "").replace("        epoch += 1", "        epoch = step // 1000"),
    "a term of the loss begins later": COUNTED.replace("MARK", "  # <- 620").replace("step += 1", "step += step >= ctc_loss_start_step"),
    "the first batch is kept": COUNTED.replace("MARK", "").replace("step += 1", "step += step >= start_step"),
    "the first batch is kept, by a longer name": COUNTED.replace("MARK", "").replace("step += 1", "step += step >= args.resume_start_step"),
    "a batch that fails is left out": FAILING.replace("MARK", "  # <- 620").replace("HANDLED", "continue"),
    "batches are passed over beside it": FAILING.replace("MARK", "").replace("HANDLED", "continue")
    .replace("            try:", "            if x is None:\n                continue\n            try:"),
})
def test_a_while_over_epochs(code):
    holds(code)
