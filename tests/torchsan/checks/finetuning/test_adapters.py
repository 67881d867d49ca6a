"""004 in a run: adapters that nothing trains, and those that are trained."""

import pytest

pytest.importorskip("peft")

PROGRAM = """
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 1)

    def forward(self, x):
        return self.head({body})


model = get_peft_model(Net(), LoraConfig(target_modules=["body.0"], modules_to_save=["head"]))
{freeze}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs in torch.randn(12, 4, 8):
    loss = model(inputs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <- 004
"""
PLAIN, CHECKPOINTED = "self.body(x)", "checkpoint(self.body, x, use_reentrant={})"
FROZEN = "[p.requires_grad_(False) for name, p in model.named_parameters() if 'lora_' in name]"


def found(run, **parts):
    ran = run(PROGRAM.format(**{"body": PLAIN, "freeze": "", **parts}))
    return [(f.number, f.message) for f in ran.findings if f.number == 4]


@pytest.mark.parametrize(("parts", "why"), [
    ({"body": CHECKPOINTED.format(True)}, "never get a gradient"),
    ({"freeze": FROZEN}, "are frozen"),
])
def test_told_with_its_cause(run, parts, why):
    ((_, message),) = found(run, **parts)
    assert why in message and "`lora_B`" in message


@pytest.mark.parametrize("parts", [{}, {"body": CHECKPOINTED.format(False)}])
def test_an_adapter_that_is_trained(run, parts):
    assert not found(run, **parts)


LATE = """
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model = get_peft_model(model, LoraConfig(target_modules=["0", "2"]))
for inputs in torch.randn(12, 4, 8):
    optimizer.zero_grad()
    model(inputs).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("program", [LATE, PROGRAM.format(body=PLAIN, freeze="model.requires_grad_(False)")
                                     .replace("model(inputs)", "model(inputs.requires_grad_())")], ids=["late", "frozen"])
def test_one_mistake_is_told_once(run, program):
    """An optimizer that holds frozen parameters alone is 138, but for those of an adapter."""
    assert {f.number for f in run(program).findings} == {4}
