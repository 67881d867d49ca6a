"""A question to torch excuses what stands under it, and nothing else."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

SCALER = "torch.cuda.amp.GradScaler()"


def deprecated(code):
    return [row for row, number in found(IMPORTS + code) if number == 708]


@pytest.mark.parametrize("code", [
    f"if hasattr(torch.backends, 'mps'):\n    device = 'mps'\nscaler = {SCALER}\n",
    f"print(torch.__version__)\nscaler = {SCALER}\n",
    f"def new():\n    if hasattr(torch, 'compile'):\n        return 1\ndef old():\n    return {SCALER}\n",
])
def test_a_question_elsewhere_excuses_nothing(code):
    assert len(deprecated(code)) == 1


@pytest.mark.parametrize("code", [
    f"if torch.__version__ < '2.4':\n    scaler = {SCALER}\n",
    f"if hasattr(torch.amp, 'GradScaler'):\n    scaler = torch.amp.GradScaler('cuda')\nelse:\n    scaler = {SCALER}\n",
    f"NEW = tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 4)\nscaler = torch.amp.GradScaler('cuda') if NEW else {SCALER}\n",
    f"from lib import _TORCH_GREATER_EQUAL_2_4\nif not _TORCH_GREATER_EQUAL_2_4:\n    scaler = {SCALER}\n",
    f"def is_new():\n    return torch.__version__ >= '2.4'\ndef f():\n    if is_new():\n        return torch.amp.GradScaler('cuda')\n    return {SCALER}\n",
])
def test_what_stands_under_a_question_is_excused(code):
    assert deprecated(code) == []
