"""101 of gradients that one model hands on to another, as the workers of A3C do, and that are cleared there only."""

import pytest

from tests.torchlint.dryrun.support import holds, table

CODE = """
import copy


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        return self.out(x)


def hand_over(model, shared):
    for own, its in zip(model.parameters(), shared.parameters()):
{given}


def work(shared, optimizer, batches):
{optimizer}
    model = Net()
    for x, y in batches:
{anew}
        model.load_state_dict(shared.state_dict())
        loss = F.mse_loss(model(x), y)
{clear}
        loss.backward(){mark}
        torch.nn.utils.clip_grad_norm_(model.parameters(), 40)
        hand_over(model, shared)
        optimizer.step()
"""
ONCE = "if its.grad is not None:\n    return\nits._grad = own.grad"


def code(given=ONCE, clear="optimizer.zero_grad()", told=True, optimizer="pass", anew="pass"):
    given = "\n".join("        " + line for line in given.split("\n"))
    clear = "\n".join("        " + line for line in clear.split("\n"))
    mark = "  # <- 101" if told else ""
    return CODE.format(given=given, clear=clear, mark=mark, optimizer="    " + optimizer, anew="        " + anew)


MADE = "optimizer = torch.optim.Adam(shared.parameters(), lr=1e-4)"


@table({
    "once for each process": code(),
    "always": code("its.grad = own.grad"),
    "copied": code("its._grad = own.grad.clone()"),
    "of an optimizer that is made here": code(optimizer=MADE),
    "of one that may be": code(optimizer=f"if optimizer is None:\n        {MADE}"),
    "the other model's": code(clear="shared.zero_grad()"),
    "nowhere": code(clear="pass"),
    "under one of two conditions": code(clear="pass").replace(
        "        hand_over(model, shared)\n", "        if y.sum() > 0:\n            hand_over(model, shared)\n        else:\n            hand_over(model, shared)\n"),
    "set to None in words": code(clear="optimizer.zero_grad()\nprint(loss.item())"),
})
def test_cleared_where_they_were_handed_to_only(code):
    holds(code)


@table({
    "both": code(clear="optimizer.zero_grad()\nmodel.zero_grad()", told=False),
    "the model's own": code(clear="model.zero_grad()", told=False),
    "filled with zeros, which both have": code(clear="optimizer.zero_grad(set_to_none=False)", told=False),
    "filled with zeros, by place": code(clear="optimizer.zero_grad(False)", told=False),
    "by hand": code(clear="optimizer.zero_grad()\nfor own in model.parameters():\n    own.grad = None", told=False),
    "by hand with zeros": code(
        clear="optimizer.zero_grad()\nfor own in model.parameters():\n    if own.grad is not None:\n        own.grad.zero_()", told=False),
    "behind the hand-over": code("its._grad = own.grad\nown.grad = None", told=False),
    "behind the copy": code("its._grad = own.grad.clone()\nown.grad.zero_()", told=False),
    "a new model each time": code(anew="model = Net()", told=False),
    "a copy each time": code(anew="model = copy.deepcopy(shared)", told=False),
    "an optimizer of both": code(
        optimizer="both = torch.optim.SGD([*shared.parameters()], lr=0.1)", clear="optimizer.zero_grad()\nclean(model)", told=False),
    "an optimizer of the model's own": code(anew="own = torch.optim.SGD(model.parameters(), lr=0.1)", clear="own.zero_grad()\noptimizer.zero_grad()", told=False),
    "what is not a gradient": code("its.data = own.data", told=False),
})
def test_sound_forms(code):
    holds(code)


def test_a_backward_that_makes_a_gradient_where_there_is_none():
    """Behind `is None` there is nothing to add to."""
    holds("""
def train(net, other, optimizer, batches):
    for x, y in batches:
        optimizer.zero_grad()
        for p, q in zip(net.parameters(), other.parameters()):
            if p.grad is None:
                p.sum().backward()
            p.grad.data.copy_(q.grad.data)
        optimizer.step()
""")


@pytest.mark.parametrize("clear", ["optimizer.zero_grad()"])
def test_one_hand_over_without_a_loop(clear):
    text = code(clear=clear, told=False).replace("    for x, y in batches:", "    x, y = batches\n    if True:")
    holds(text)
