"""What well-kept repositories were told that was not so, cause by cause; and beside it what is a mistake."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, RULES, holds, table
from tests.torchlint.support import write
from torchlint.cli import main
from torchlint.engine import Engine


@table({
    "405: an object that changes itself": """
def shown(boxes: Boxes, low, high):
    boxes.clamp(low, high, inplace=True)
    return boxes

def kept(x: torch.Tensor):
    x.clamp(min=0)  # <- 405
    return x
""",
    "412: a size is asked for, of what is declared to be a tensor": """
def scale(size: torch.Tensor):
    if isinstance(size, torch.Size):
        size = torch.tensor(size)[None]
    return size
""",
    "508: torch takes NumPy's word for a dimension": """
def joined(width):
    points, ones = torch.rand(width, 5, 2), torch.ones(width, 5, 1)
    three = torch.cat([points, ones], axis=-1)
    return torch.cat([three, points], axis=1)  # <- 508
""",
    "942: None is what is there anyway": """
def loss(x, y):
    return F.mse_loss(x, y, size_average=None, reduce=None) + F.mse_loss(x, y, reduce=False)  # <- 942
""",
    "503: a class that stands for a module": """
class Config(nn.Module):
    def __init__(self):
        self.config = {"width": 3}

class Sampler(nn.Module):
    def __init__(self):  # <- 503
        self.width = 3

    def sample(self, x):
        return x.mean() * self.width
""",
    "503: an __init__ that does nothing, of a class that nobody makes": """
class Part(nn.Module):
    def __init__(self):
        pass

    def forward(self, x):
        return x * 2

class Whole(nn.Module):
    def __init__(self):  # <- 503
        pass

    def forward(self, x):
        return x * 2

print(Whole()(torch.ones(2)))
""",
    "815: the parameters stay the same objects": """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def train(model, x, keep):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = FSDP(model, use_orig_params=True)
    model(x).sum().backward()
    optimizer.step()

def other(model, x):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <- 815
    model = FSDP(model, use_orig_params=False)
    model(x).sum().backward()
    optimizer.step()
""",
    "202: a model that freezes itself": """
class Detector(nn.Module):
    def __init__(self, parts, freeze=True):
        super().__init__()
        self.parts = nn.ModuleDict(parts)
        if freeze:
            self.parts.eval()
            for p in self.parts.parameters():
                p.requires_grad = False

    def check(self, waves):
        kept = []
        for wave in waves:
            if self.parts.net(wave).mean() > 0.5:
                kept.append(wave)
        return kept

print(Detector({"net": nn.Sequential(nn.Linear(4, 4), nn.Dropout())}).check([torch.rand(3, 4)]))
""",
    "005: the model alone was prepared": """
from accelerate import Accelerator

def train(net, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net = accelerator.prepare(net)
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
""",
})
def test_not_so(code):
    holds(code)


@pytest.mark.parametrize(("path", "told"), [("tests/test_map.py", []), ("map.py", ["TL508"])])
def test_a_model_that_a_test_hands_to_what_it_tests(tmp_path, path, told):
    text = IMPORTS + "from place import infer\n\ninfer(nn.Sequential(nn.Linear(4, 4), nn.Linear(6, 6)))\n"
    found = Engine(RULES).check(str(tmp_path / path), text).findings
    assert [item.code for item in found] == told


def test_a_file_that_the_program_has_just_written():
    """By the very words of its place."""
    rows = "import torch\n\n\ndef run(net, other, folder):\n    torch.save(net.state_dict(), folder + '/head.pt')\n    other.load_state_dict(torch.load({}))\n"
    engine = Engine(RULES, torch_version=(2, 1))
    for place, told in (("folder + '/head.pt'", []), ("folder + '/body.pt'", ["TL901"])):
        assert [item.code for item in engine.check("a.py", rows.format(place)).findings] == told


def test_a_setup_py_in_a_package_is_no_project(tmp_path, monkeypatch, capfd):
    """The release is that of the project around it."""
    call = "import torch\n\n\ndef run(model, x):\n    with torch.cuda.amp.autocast():\n        return model(x)\n"
    write(tmp_path, {
        "setup.cfg": "", "requirements.txt": "torch==2.0.0\n", "net/__init__.py": "", "net/eval/__init__.py": "", "net/eval/setup.py": "",
        "net/eval/run.py": call,
    })
    monkeypatch.chdir(tmp_path)
    assert main(["--no-cache", "net/eval/run.py"]) == 0
    assert main(["--no-cache"]) == 0
    write(tmp_path, {"requirements.txt": "torch==2.6.0\n"})
    assert main(["--no-cache"]) == 1
    assert "TL708" in capfd.readouterr().out


def test_an_attribute_that_was_set_by_the_rank():
    code = IMPORTS + """
import torch.distributed as dist

def main(args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(args.local_rank)
    args.saves = args.logs and {rank}
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
    for epoch in range(3):
        if args.saves:
            torch.save(net.module.state_dict(), "last.pt")

main(args)
"""
    for rank, told in (("is_master(args)", []), ("args.keep", ["TL805"])):
        assert [item.code for item in Engine(RULES).check("a.py", code.replace("{rank}", rank)).findings if item.code == "TL805"] == told
