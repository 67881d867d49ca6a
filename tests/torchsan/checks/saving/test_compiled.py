"""921, 922: what torch.compile notes of its compilations, told at the lines of the program."""

from __future__ import annotations

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F

torch._dynamo.reset()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.name = nn.Linear(4, 2), ""

    def forward(self, x, y):
        x = self.out(x)
        BODY
        return F.cross_entropy(x, y)


model = Net()
compiled = torch.compile(model, backend="eager")
for step in range(STEPS):
    model.name = NAME
    compiled(torch.randn(8, 4), torch.randint(0, 2, (8,))).backward()
"""
BODY_ROW = HEAD[: HEAD.index("BODY")].count("\n") + 1
FORWARD_ROW = HEAD[: HEAD.index("def forward")].count("\n") + 1


def program(body="pass", steps=2, name="''"):
    """The program with this line in its forward, so many steps and this value for the model's name."""
    return HEAD.replace("BODY", body).replace("STEPS", str(steps)).replace("NAME", name)


def test_whole_graphs_are_silent(run):
    ran = run(program())
    assert ran.error is None
    assert not ran.findings, ran.san.report()


def test_a_number_that_is_read(run):
    ran = run(program("x = x * 2 if x.sum().item() > 0 else x"))
    assert ran.lines == {(921, BODY_ROW)}, ran.san.report()
    assert "`forward`" in ran.findings[0].message
    assert not run("import torch\n").findings  # what another watch's program compiled is none of this one's


def test_compiled_until_torch_gives_up(run):
    branch = "x = x + 1 if self.name == 'a' else x"
    assert run(program(branch, 12, "f'{step}'")).lines == {(922, FORWARD_ROW)}
    assert not run(program(branch, 12, "f'{step % 3}'")).lines
