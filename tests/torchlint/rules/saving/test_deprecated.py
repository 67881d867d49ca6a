"""942 of what torchvision's models take, and of what a scheduler is asked for."""

import pytest

from tests.torchlint.dryrun.support import RULES, holds, table
from tests.torchlint.support import write
from torchlint.api import check
from torchlint.engine import Engine

TRAIN = """
def train(model, loader, epochs, scheduler, optimizer):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
"""


@table({
    "a table of models": """
import torchvision.models as models
MODELS = {"a": models.resnet18, "b": models.vgg16}
def build(name):
    return MODELS[name](pretrained=True)  # <- 942
""",
    "by name, out of the module's own names": """
from torchvision import models
def build(args):
    return models.__dict__[args.arch](pretrained=True)  # <- 942
""",
    "by name, with what none of torchvision takes": """
from torchvision import models
def build(args):
    if args.arch.startswith("resnext"):
        return models.__dict__[args.arch](pretrained=True, cardinality=args.cardinality)
    return models.__dict__[args.arch](pretrained=True, num_classes=10)  # <- 942
""",
    "an option, by position": """
from torchvision.models import resnet50
class Net(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.backbone = resnet50(pretrained)  # <- 942
    def forward(self, x):
        return self.backbone(x)
""",
    "False is told of too: it warns": """
import torchvision
net = torchvision.models.detection.fasterrcnn_resnet50_fpn(pretrained_backbone=False)  # <- 942
""",
    "in a try that is about other things": """
from torchvision import models
def load(name):
    try:
        return getattr(models, name)(pretrained=True)  # <- 942
    except Exception:
        raise ValueError(name)
""",
    "in words that are handed on": """
from torchvision.models import resnet
def build(**words):
    return resnet.resnet34(**words)  # <- 942
def main():
    return build(pretrained=True)
""",
})
def test_pretrained(code):
    holds(code)


@table({
    "weights": """
from torchvision import models
net = models.resnet18(weights="DEFAULT")
other = models.resnet18()
third = models.resnet18(num_classes=10)
""",
    "a class, and a builder of another library": """
import timm
from torchvision.models.resnet import ResNet, BasicBlock
net = ResNet(BasicBlock, [2, 2, 2, 2])
other = timm.create_model("resnet18", pretrained=True)
""",
    "one of the program's own": """
def resnet18(pretrained=False):
    return nn.Linear(4, 2)
net = resnet18(pretrained=True)
""",
    "what an older one takes": """
from torchvision import models
try:
    net = models.resnet18(weights="DEFAULT")
except TypeError:
    net = models.resnet18(pretrained=True)
""",
    "the second of two tries": """
from torchvision import models
try:
    net = models.resnet18(pretrained=True)
except TypeError:
    net = models.resnet18(weights="DEFAULT")
""",
})
def test_no_pretrained(code):
    holds(code)


@pytest.mark.parametrize(("lowest", "count"), [((0, 12), 0), ((0, 13), 1), ((0, 20), 1)])
def test_by_release(lowest, count):
    text = "from torchvision import models\nnet = models.resnet18(pretrained=True)\n"
    judge = Engine(RULES, releases=[("torchvision", lowest)])
    assert len(judge.check("/nowhere/a.py", text).findings) == count


def test_words():
    text = "from torchvision import models\nnet = models.resnet18(pretrained=True)\n"
    finding, = Engine(RULES).check("/nowhere/a.py", text).findings
    assert finding.message == "`pretrained` is deprecated (torchvision 0.13 says so); use `weights`"


@table({
    "of one that is handed in": TRAIN + """
        print(scheduler.get_lr()[0])  # <- 942
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, 3, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3), optimizer)
""",
    "of one that is on an object": """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3)
    def train(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.mse_loss(self.model(x), y).backward()
            self.optimizer.step()
        self.scheduler.step()
        print(self.scheduler.get_lr())  # <- 942
""",
    "of one of the program's own, which makes its rate of torch's": """
class Warm(torch.optim.lr_scheduler.MultiStepLR):
    def get_lr(self):
        return [rate * min(1, self.last_epoch / 500) for rate in super().get_lr()]
""" + TRAIN + """
        print(scheduler.get_lr()[0])  # <- 942
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, 3, Warm(optimizer, [3]), optimizer)
""",
    "of one of the program's own, which has torch's rate": """
class Named(torch.optim.lr_scheduler.StepLR):
    def said(self):
        return "by steps"
""" + TRAIN + """
        print(scheduler.get_lr()[0])  # <- 942
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, 3, Named(optimizer, 3), optimizer)
""",
})
def test_the_rate_is_asked_for(code):
    holds(code)


@table({
    "by a schedule of the program's own": """
class Warm(torch.optim.lr_scheduler.StepLR):
    def get_lr(self):
        return [rate * 0.5 for rate in super().get_lr()]
""",
    "of one that computes its rate from where it is": """
class Poly(torch.optim.lr_scheduler.LambdaLR):
    def get_lr(self):
        return [base * (1 - self.last_epoch / 100) for base in self.base_lrs]
""" + TRAIN + """
        print(scheduler.get_lr()[0])
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, 3, Poly(optimizer, lambda epoch: 1.0), optimizer)
""",
    "of one that steps by itself": """
class Warm(torch.optim.lr_scheduler.StepLR):
    def step(self):
        self._get_lr_called_within_step = True
        super().step()
    def get_lr(self):
        return [rate * 0.5 for rate in super().get_lr()]
""" + TRAIN + """
        print(scheduler.get_lr()[0])
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, 3, Warm(optimizer, 3), optimizer)
""",
    "of one that is not torch's": TRAIN + """
        print(scheduler.get_lr())
""",
})
def test_the_rate_is_not_asked_for(code):
    holds(code)


@pytest.mark.parametrize("brought", ["from net import *", "from net import F", "from net import upsample"])
def test_names_that_another_file_imports(tmp_path, brought):
    write(tmp_path, {
        "pyproject.toml": "",
        "net.py": "import torch.nn.functional as F\nfrom torch.nn.functional import upsample\n",
        "train.py": f"import torch\n{brought}\n\n\ndef larger(x):\n    return {'upsample' if 'upsample' in brought else 'F.upsample'}(x, 4)\n",
    })
    assert [(one.code, one.location.row) for one in check(tmp_path / "train.py", cache=False)] == [("TL942", 6)]


@table({
    "a collate function's": """
def collate(batch):
    storage = batch[0].storage()._new_shared(sum(x.numel() for x in batch))  # <- 942
    return torch.stack(batch, 0, out=batch[0].new(storage))
""",
    "of a tensor": "print(torch.ones(3).storage())  # <- 942\n",
    "where it lies": """
def same(a, b):
    return a.storage().data_ptr() == b.data.storage().data_ptr()  # <- 942, 942
""",
    "made of bytes": """
def picture(image):
    return torch.ByteTensor(torch.ByteStorage.from_buffer(image.tobytes()))  # <- 942
""",
    "of a kind": "space = torch.FloatStorage(3)  # <- 942\n",
    "in bytes": """
def same(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
""",
    "for older releases": """
def where(x):
    if hasattr(x, "untyped_storage"):
        return x.untyped_storage().data_ptr()
    return x.storage().data_ptr()
""",
    "of something else": """
def files(client, x):
    return client.storage().list(), client.storage("a"), isinstance(x, torch.FloatStorage)
""",
})
def test_storages(code):
    holds(code)


@table({
    "a model that is scripted": """
def faster(model: nn.Module):
    return torch.jit.script(model)  # <- 942
""",
    "by a name of one's own": """
from torch import jit
from torch.jit import trace as traced
def hand_on(model: nn.Module, x, path):
    jit.script(model).save(path)  # <- 942
    traced(model, x).save(path)  # <- 942
""",
    "what only asks, or marks": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    @torch.jit.ignore
    def shape(self, x):
        return x.shape

    def forward(self, x):
        return self.fc(x) if torch.jit.is_scripting() else self.fc(x.flatten(1))
""",
    "a script of somebody else": """
import tools
from tools import trace
def hand_on(model: nn.Module, x):
    tools.script(model)
    return trace(model, x)
""",
    "only where nothing newer is there": """
def hand_on(model: nn.Module, x):
    if hasattr(torch, "export"):
        return torch.export.export(model, (x,))
    return torch.jit.trace(model, x)
""",
})
def test_torchscript(code):
    holds(code)


@pytest.mark.parametrize(("torch", "told"), [("torch==2.4.0", False), ("torch>=1.8,<2.10", False), ("torch>=2.10", True)])
def test_torchscript_is_told_of_by_the_torch_of_a_project(tmp_path, torch, told):
    write(tmp_path, {"requirements.txt": f"{torch}\n", "train.py": "import torch\n\ndef f(m, x):\n    return torch.jit.trace(m, x)\n"})
    assert [one.code for one in check(tmp_path / "train.py", cache=False)] == (["TL942"] if told else [])


@pytest.mark.parametrize(("torch", "call", "told"), [
    ("torch>=0.4", "torch.range(1, n)", True),  # 0.4 says that 0.5 has it no more
    ("torch>=1.0", "nn.init.xavier_uniform(n)", True),
    ("torch>=0.4.1", "nn.utils.clip_grad_norm(n, 1.0)", True),
    ("torch>=0.3", "torch.range(1, n)", False),
    ("torch>=1.0", "nn.functional.upsample(n)", True),
    ("torch>=0.4", "nn.functional.upsample(n)", False),  # 0.4.0 has no interpolate()
    ("torch>=1.0", "torch.ger(n, n)", False),
])
def test_what_was_deprecated_long_ago_is_told_to_old_projects(tmp_path, torch, call, told):
    write(tmp_path, {"requirements.txt": f"{torch}\n", "train.py": f"import torch\nfrom torch import nn\n\ndef f(n):\n    return {call}\n"})
    assert [one.code for one in check(tmp_path / "train.py", cache=False)] == (["TL942"] if told else [])
