"""Where a step cannot be run again, the next ones are looked at operation by operation, and the report says so."""

from __future__ import annotations

import sys

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

import torchsan
from torchsan.nonfinite import instrumented, replay

IMPURE = """
import torch
from torch import nn

calls = []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x)

def loss_of(y):
    calls.append(len(y))  # what cannot be undone is not run again
    if len(calls) % 3:
        return y.square().mean()
    {body}

def main():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for x in torch.randn({steps}, 8, 4):
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()  # <- 121
        for p in model.parameters():
            p.grad.nan_to_num_(0.0, 0.0, 0.0)
        optimizer.step()
        losses.append(loss.item())
    return [*losses, *model.fc.weight.flatten().tolist()]

RESULT = main()
"""
FORWARD = "return torch.log(y - y).mean()  # <- 422"
BACKWARD = "return torch.sqrt((y - y.detach()) ** 2).mean()  # <- 422"


def clean():
    assert not _get_current_dispatch_mode_stack()
    assert not torch.is_anomaly_enabled()
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert not torch.nn.modules.module._global_forward_hooks


def test_the_next_steps_tell(run):
    ran = run(IMPURE.format(body=FORWARD, steps=8))
    assert ran.lines == ran.marked, ran.san.report()
    first, second = ran.findings
    assert "every operation of the next steps is looked at" in first.message
    assert second.details["replay"] == "seen in the run itself"
    assert (second.details["operation"], second.step) == ("log", 5)
    clean()


def test_backward_too():
    model = torch.nn.Linear(4, 2)
    look = instrumented.Instrumented([model])
    look.start()
    y = model(torch.randn(3, 4))
    loss = torch.sqrt((y - y.detach()) ** 2).mean()
    row = sys._getframe().f_lineno - 1
    loss.backward()
    record, external = look.origin([p.grad for p in model.parameters()])
    look.stop()
    assert external is None
    assert (record.operation, record.node, record.where.line) == ("div", "SqrtBackward0", row)
    clean()


def test_no_number_changes(run):
    for body in (FORWARD, BACKWARD):
        program = IMPURE.format(body=body, steps=12)
        space: dict = {}
        exec(compile(program, "<bare>", "exec"), space)
        for level in ("default", "thorough"):
            watched: dict = {}
            with torchsan.watch(on_finding="collect", level=level) as san:
                exec(compile(program, "<watched>", "exec"), watched)
            assert not san.off
            assert bool(san.findings) == (body == FORWARD)  # who mends gradients before the step knows
            assert list(map(str, watched["RESULT"])) == list(map(str, space["RESULT"]))
    clean()


def test_it_ends_after_some_steps(run, monkeypatch):
    """One bad step and then none."""
    program = IMPURE.format(body=FORWARD, steps=40).replace("len(calls) % 3", "len(calls) != 3")
    stopped = []
    stop = instrumented.Instrumented.stop
    monkeypatch.setattr(instrumented.Instrumented, "stop", lambda self: (stopped.append(self.left), stop(self)))
    ran = run(program)
    assert [f.number for f in ran.findings] == [121]
    assert stopped == [0]
    clean()


def test_without_a_second_bad_step_it_ends_with_the_watch(run):
    run(IMPURE.format(body=FORWARD, steps=4))
    clean()


def test_parameters_that_are_lost_are_told_once(run):
    program = IMPURE.format(body=FORWARD, steps=8).replace("p.grad.nan_to_num_(0.0, 0.0, 0.0)", "pass")
    ran = run(program)
    assert [f.number for f in ran.findings] == [121], ran.san.report()
    assert ran.findings[0].count > 1
    clean()


def test_compiled_models_are_left_alone(run):
    program = IMPURE.format(body=FORWARD, steps=8)
    program = program.replace("model = Net()", "model = torch.compile(Net(), backend='eager')")
    ran = run(program)
    assert [f.number for f in ran.findings] == [121]
    assert "compiled code would run uncompiled" in ran.findings[0].message
    clean()


def test_a_mode_of_the_program_stays_where_it_is():
    class Mine(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    look = instrumented.Instrumented([torch.nn.Linear(2, 2)])
    look.start()
    with Mine() as mine:
        assert not look.stop()
        assert _get_current_dispatch_mode_stack()[-1] is mine
        torch.ones(2) / 0
        assert not look.bad
    assert look.stop()
    clean()


@pytest.mark.parametrize("why", ["out of memory", "a user's error"])
def test_an_error_in_a_replay_is_not_the_runs(run, monkeypatch, why):
    def broken(*args):
        raise RuntimeError(why)

    monkeypatch.setattr(replay, "_run", broken)
    ran = run(IMPURE.format(body=FORWARD, steps=4))
    assert ran.error is None
    assert [f.number for f in ran.findings] == [121]
