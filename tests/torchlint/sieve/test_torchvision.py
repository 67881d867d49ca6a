"""What says `pretrained` is run where it may speak of torchvision, by whatever files that comes through."""

import pytest

from tests.torchlint.dryrun.support import RULES
from tests.torchlint.support import write
from torchlint.engine import Engine

BUILD = "def build(pretrained):\n    return {}(pretrained=pretrained)\n"


@pytest.mark.parametrize("nets, program", [
    ("from torchvision.models import resnet18\n", "from nets import resnet18 as net\n" + BUILD.format("net")),
    ("from torchvision import models\n", "import nets\n" + BUILD.format("nets.models.resnet18")),
    ("import torchvision.models as zoo\nNETS = {'a': zoo.resnet18}\n", "from nets import NETS\n" + BUILD.format("NETS['a']")),
    ("import torchvision.models as zoo\ndef of(name):\n    return zoo.resnet18\n", "from nets import of\n" + BUILD.format("of('a')")),
    ("import torchvision.models as zoo\nclass Nets:\n    small = zoo.resnet18\n", "from nets import Nets\n" + BUILD.format("Nets.small")),
    ("", "def build(pretrained):\n    from torchvision import models\n    return models.resnet18(pretrained=pretrained)\n"),
    ("", "from torchvision.models import resnet18\nmake = resnet18\n" + BUILD.format("make")),
    ("def make(of, pretrained):\n    return of(pretrained=pretrained)\n", "from nets import make\nfrom torchvision.models import resnet18\ndef build():\n    return make(resnet18, True)\n"),
], ids=["through-a-file", "module", "table", "function", "class", "inside", "renamed", "handed"])
def test_a_model_of_torchvision_that_comes_through_files(tmp_path, nets, program):
    write(tmp_path, {"nets.py": nets, "program.py": program})
    program = "import torch\n" + program
    path = str(tmp_path / "program.py")
    seen = [
        [(found.code, found.location.row) for found in Engine(RULES, sieve=sieve).check(path, program).findings] for sieve in (True, False)
    ]
    assert seen[0] == seen[1]
    assert [code for code, _ in seen[1]] == ["TL942"]


def test_models_of_another_library_are_not_run(tmp_path, monkeypatch):
    from torchlint.dryrun.interpreter import Run

    ran = []
    run = Run.run_root_function
    monkeypatch.setattr(Run, "run_root_function", lambda self, func, *given: ran.append(func.name) or run(self, func, *given))
    program = "from nets import small\n" + BUILD.format("small")
    write(tmp_path, {"nets.py": "def small(pretrained):\n    return pretrained\n", "program.py": program})
    assert not Engine(RULES).check(str(tmp_path / "program.py"), program).findings
    assert not ran
