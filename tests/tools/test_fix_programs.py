"""What `fix_loop.py --execute` stands on: mistakes that are planted, small data, and the list of programs."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import fix_data  # noqa: E402
import fix_execute  # noqa: E402
import fix_plant  # noqa: E402

SOUND = """\
import torch
import torch.nn as nn


@torch.no_grad()
def test(model, loader):
    nn.init.normal_(model.weight)
    return torch.arange(3, device=model.weight.device)


def valid(model, loader, criterion):
    total = 0
    with torch.no_grad():
        for x, y in loader:

            loss = criterion(model(x), y)
            total += loss.item()
    return total
"""
PLANTED = """\
import torch
import torch.nn as nn


def test(model, loader):
    nn.init.normal(model.weight)
    return torch.arange(3)


def valid(model, loader, criterion):
    total = 0
    for x, y in loader:

        loss = criterion(model(x), y)
        total += loss
    return total
"""


def test_mistakes_are_planted():
    assert fix_plant.planted_in(SOUND) == (PLANTED, 5)
    assert fix_plant.planted_in(PLANTED) == (PLANTED, 0)


def test_digits_are_laid_out_as_their_readers_ask(tmp_path):
    fix_data.mnist(tmp_path, images=3)
    raw = (tmp_path / "MNIST/raw/train-images-idx3-ubyte").read_bytes()
    assert struct.unpack(">IIII", raw[:16]) == (0x803, 3, 28, 28) and len(raw) == 16 + 3 * 28 * 28
    assert len((tmp_path / "MNIST/raw/t10k-labels-idx1-ubyte").read_bytes()) == 8 + 3


def test_the_list_of_programs_is_read(tmp_path):
    for name in ("mnist/main.py", "other.py", "none.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("pass\n" if name == "none.py" else 'if __name__ == "__main__":\n    pass\n')
    found = list(fix_execute.programs(tmp_path))
    assert [item.run for item in found] == ["mnist/main.py", "other.py"]
    assert set(found[0].data) <= fix_data.KINDS.keys() and "--epochs" in found[0].options


def test_what_differs_from_run_to_run_is_left_out():
    one, other = (f"tensor(1., grad_fn=<AddBackward0>) at 0x{at}f in {time} s" for at, time in (("7", 1.25), ("9", 3)))
    assert fix_execute._NOISE.sub("~", one) == fix_execute._NOISE.sub("~", other)
