"""941: what torch, its layers and its functions have had in no release; 942: quantization, the old upsampling layers, saved TorchScript."""

import warnings

import pytest

from tests.torchlint.dryrun.support import RULES, found, holds, table
from torchlint.engine import Engine

NET = """
def build(kind):
    if kind == "small":
        return nn.Sequential(nn.Linear(2, 2), %s)
    return nn.Linear(2, 2)
"""


@table({
    "a function of no release": "def read(x):\n    return torch.from_tensor(x).to(0)  # <- 941\n",
    "a layer that is written otherwise": NET.replace("%s)", "nn.Relu())  # <- 941"),
    "a layer": NET % "nn.ReLU()",
    "another library's": "def build():\n    return nn.Conv2D(1, 2, 3)  # <- 941\n",
    "a function of a layer's name": "def act(x):\n    return F.Dropout(x)  # <- 941\n",
    "in the whole name": "def act(x):\n    return torch.nn.functional.soft_max(x, 1)  # <- 941\n",
    "what torch had once is told as gone": "def split(a):\n    return torch.btrifact(a)  # <- 941\n",
    "a type that is called is no missing name": "def whole(x):\n    return torch.long(x)\n",
    "private": "def pair(x):\n    return torch._VF.lstm(x) + torch._mine(x)\n",
    "a makers' own": "import torch_npu\ndef fast(x):\n    return torch.npu_format_cast(x, 2)\n",
    "asked for": "def read(x):\n    return torch.from_tensor(x) if hasattr(torch, 'from_tensor') else x\n",
    "tried": "def read(x):\n    try:\n        return torch.from_tensor(x)\n    except AttributeError:\n        return x\n",
    "put there": "torch.from_tensor = torch.as_tensor\ndef read(x):\n    return torch.from_tensor(x)\n",
    "put there by name": "setattr(torch, 'from' + '_tensor', torch.as_tensor)\ndef read(x):\n    return torch.from_tensor(x)\n",
    "a name of something else": "def run(nn, x):\n    return nn.forward_pass(x)\n",
    "bound anew": "F = make()\ndef run(x):\n    return F.forward_pass(x)\n",
    "imported from elsewhere as well": "import tools.nn as nn\ndef run():\n    return nn.NeuralNet()\n",
    "functions of another library": "import torchvision.transforms.functional as F\ndef run(x):\n    return F.to_tensor(x)\n",
})
def test_in_no_release(code):
    holds(code)


@table({
    "eager": "def ready(model):\n    return torch.ao.quantization.prepare_qat(model.train())  # <- 942\n",
    "under its old name": "import torch.quantization as tq\ndef ready(model):\n    return tq.convert(model)  # <- 942\n",
    "imported": "from torch.quantization import quantize_dynamic\ndef ready(model):\n    return quantize_dynamic(model, {nn.Linear})  # <- 942\n",
    "of a graph": "from torch.ao.quantization import quantize_fx\ndef ready(model, m, x):\n    return quantize_fx.prepare_fx(model, m, x)  # <- 942\n",
    "torchao": "from torchao.quantization import quantize_\ndef ready(model, config):\n    return quantize_(model, config)\n",
    "what does not warn": "def ready(model):\n    return torch.ao.quantization.fuse_modules(model, [['0', '1']])\n",
    "a layer": "def up():\n    return nn.UpsamplingBilinear2d(scale_factor=2)  # <- 942\n",
    "in a Sequential": "def up():\n    return nn.Sequential(\n        nn.Conv2d(1, 1, 1),\n        nn.UpsamplingNearest2d(scale_factor=2),  # <- 942\n    )\n",
    "today's": "def up():\n    return nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)\n",
    "TorchScript from a file": "def net(path):\n    return torch.jit.load(path)  # <- 942\n",
    "a program from a file": "def net(path):\n    return torch.export.load(path).module()\n",
})
def test_deprecated(code):
    holds(code)


def test_torch_says_the_same():
    torch = pytest.importorskip("torch")
    for module, name in ((torch, "from_tensor"), (torch.nn, "Relu"), (torch.nn, "Conv2D"), (torch.nn.functional, "Dropout")):
        assert not hasattr(module, name)
    assert "deprecated" in torch.nn.UpsamplingBilinear2d.__doc__
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.ao.quantization.convert(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8):
        assert any("deprecated" in str(one.message) for one in told)


def test_no_name_that_torch_has_is_told():
    """Whatever the installed torch has in these modules: functions, types, numbers, modules."""
    torch = pytest.importorskip("torch")
    from torchlint.catalogue.apis import BASIC_MODULES, is_nowhere

    modules = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional, "torch.nn.init": torch.nn.init}
    assert modules.keys() == BASIC_MODULES
    callables = {(name, own) for name, module in modules.items() for own in dir(module) if callable(getattr(module, own, None))}
    from_python = {"Any", "Callable", "Optional", "TypeVar", "ParamSpec", "Literal", "Union", "TYPE_CHECKING"}
    assert not [(name, own) for name, own in sorted(callables) if own not in from_python and is_nowhere(name, own)]


@pytest.mark.parametrize(("release", "told"), [((2, 4), True), ((2, 99), False)])
def test_a_release_that_nobody_knew_may_have_it(release, told):
    text = "import torch\ndef read(x):\n    return torch.from_tensor(x)\n"
    assert [number for _, number in found(text, judge=Engine(RULES, torch_version=release))] == ([941] if told else [])
