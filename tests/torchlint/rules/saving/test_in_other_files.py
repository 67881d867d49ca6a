"""905 and 710 of checkpoints that helpers of another file write and read."""

import pytest

from tests.torchlint.support import write
from torchlint.api import check

TRAIN = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import utils

def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    start = 0
    if args.resume:
        LOAD
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        SAVE
"""
UTILS = """
import torch

def save_checkpoint(model, optimizer, lr, epoch, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "lr": lr}, path)

def save_weights(model, epoch, path):
    torch.save({"model": model.state_dict(), "epoch": epoch}, path)

def load_checkpoint(model, optimizer, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]

def load_weights(model, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    return state["epoch"]
"""


@pytest.mark.parametrize(("load", "save", "told"), [
    ("start = utils.load_checkpoint(model, optimizer, args.resume)", "utils.save_checkpoint(model, optimizer, 0.1, epoch, args.path)", [("TL710", "SAVE")]),
    ("start = utils.load_weights(model, args.resume)", "utils.save_weights(model, epoch, args.path)", [("TL905", "SAVE")]),
])
def test_helpers_of_another_file(tmp_path, load, save, told):
    text = TRAIN.replace("LOAD", load).replace("SAVE", save)
    write(tmp_path, {"pyproject.toml": "", "utils.py": UTILS, "train.py": text})
    rows = {name: TRAIN[: TRAIN.index(name)].count("\n") + 1 for name in ("LOAD", "SAVE")}
    found = [(one.code, one.location.row) for one in check(tmp_path / "train.py", cache=False)]
    assert found == [(code, rows[name]) for code, name in told]


RESTART = """
import torch

def restart(path, numbers, **things):
    state = torch.load(path, map_location="cpu")
    for key, value in things.items():
        value.load_state_dict(state[key])
    for name in numbers:
        numbers[name] = state[name]
"""
HEAD = """
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from utils import restart

def main(args, loader):
    body, head = nn.Linear(4, 4), nn.Linear(4, 2)
    body.eval()
    state = torch.load(args.pretrained)
    body.load_state_dict(state)
    optimizer = torch.optim.Adam(head.parameters())
    numbers = {"epoch": 0}
    restart(os.path.join(args.folder, "last.pt"), numbers, model=head, optimizer=optimizer)
    start_epoch = numbers["epoch"]
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.no_grad():
                x = body(x)
            F.cross_entropy(head(x), y).backward()
            optimizer.step()
        torch.save({"epoch": epoch + 1, "model": head.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(args.folder, "last.pt"))
"""


def test_a_head_and_its_optimizer_are_brought_back_by_a_helper(tmp_path):
    write(tmp_path, {"pyproject.toml": "", "utils.py": RESTART, "train.py": HEAD})
    assert [one for one in check(tmp_path / "train.py", cache=False) if one.number == 905] == []


RATES = """
import torch

def resume(model, optimizer, schedule, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    return state["epoch"]

def adjust(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate

def save(state, path):
    torch.save(state, path)
"""
SCHEDULED = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from utils import save

def main(args, loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    start = 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        schedule.step()
        save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.path)
"""
PROGRAM = """
if __name__ == "__main__":
    import options
    main(options.args(), options.loader())
"""
OTHER = """
from utils import adjust, resume

def main(model, optimizer, schedule, args):
    start = resume(model, optimizer, schedule, args.path)
    adjust(optimizer, 0.1)
"""


@pytest.mark.parametrize(("train", "told"), [(SCHEDULED + PROGRAM, [905]), (SCHEDULED, [])])
def test_what_only_another_program_calls(tmp_path, train, told):
    write(tmp_path, {"pyproject.toml": "", "utils.py": RATES, "other.py": OTHER, "train.py": train})
    assert [one.number for one in check(tmp_path / "train.py", cache=False)] == told


ALONE = """
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from utils import IMPORTED

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--start-epoch", type=int, default=0)
    args = parser.parse_args()
    model = nn.Linear(4, 2)
    if args.resume:
        model.load_state_dict(torch.load(args.resume, weights_only=True))
    optimizer = torch.optim.Adam(model.parameters())
    CALLED
    for epoch in range(args.start_epoch, 9):
        for x, y in torch.utils.data.DataLoader([], shuffle=True, num_workers=2):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), f"{epoch}.pt")
"""
RUN = '\nif __name__ == "__main__":\n    main()\n'
BESIDE = """
import torch

def resume_checkpoint(model, optimizer, path):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])

def show(epoch):
    print(epoch)
"""


@pytest.mark.parametrize(("imported", "called", "run", "beside", "told"), [
    ("show", "show(0)", RUN, BESIDE, 1),  # it is for the other programs of the project
    ("show, resume_checkpoint", "resume_checkpoint(model, optimizer, args.resume)", RUN, BESIDE, 0),
    ("show", "show(0)", RUN, BESIDE + "\ndef again(*given):\n    resume_checkpoint(*given)\n", 0),
    ("show", "show(0)", "", BESIDE, 0),  # whoever calls `main` may do more
])
def test_a_function_of_another_file_that_a_program_does_not_name(tmp_path, imported, called, run, beside, told):
    text = ALONE.replace("IMPORTED", imported).replace("CALLED", called) + run
    write(tmp_path, {"pyproject.toml": "", "utils.py": beside, "train.py": text, "other.py": "from utils import resume_checkpoint\nresume_checkpoint(1, 2, 3)\n"})
    assert len([one for one in check(tmp_path / "train.py", cache=False) if one.code == "TL905"]) == told
