"""Loops: the second iteration is seen, and so is every way out."""

import libcst as cst
import pytest

from torchlint.dryrun import flow, interpreter

from .support import events, holds, kinds, runs, table

# A step that no zero_grad() ever follows is 101 where, and only where, a second backward can come after it.
START = """
net = nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""

SECOND = {
    "for": """
for x in data:
    net(x).sum().backward()  # <- 101
    optimizer.step()
""",
    "while": """
while ready():
    net(x).sum().backward()  # <- 101
    optimizer.step()
""",
    "while_true": """
while True:
    net(x).sum().backward()  # <- 101
    optimizer.step()
    if done():
        break
""",
    "while_one": """
while 1:
    net(x).sum().backward()  # <- 101
    optimizer.step()
""",
    "nested": """
for epoch in range(10):
    for x in data:
        net(x).sum().backward()  # <- 101
        optimizer.step()
""",
    "cleared_outside_the_inner_loop": """
for epoch in range(10):
    optimizer.zero_grad()
    for x in data:
        net(x).sum().backward()  # <- 101
        optimizer.step()
""",
    "cleared_in_else": """
for x in data:
    net(x).sum().backward()  # <- 101
    optimizer.step()
else:
    optimizer.zero_grad()
""",
    "continue": """
for x in data:
    if x is None:
        continue
    net(x).sum().backward()  # <- 101
    optimizer.step()
""",
    "comprehension": """
def step(x):
    loss = net(x).sum()
    loss.backward()  # <- 101
    optimizer.step()
    return loss.item()

losses = [step(x) for x in data]
""",
}

CLEARED = {
    "at_the_head": """
for x in data:
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
""",
    "at_the_end": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "sometimes": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    if ready():
        optimizer.zero_grad()
""",
    "before_continue": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    if x.ok:
        optimizer.zero_grad()
        continue
    optimizer.zero_grad(set_to_none=True)
""",
    "in_the_outer_loop_alone": """
for x in data:
    for part in x:
        net(part).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "left_after_one": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    break
""",
    # The path that clears leaves the loop and cannot come to the next backward: left in the program's favour.
    "on_leaving": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    if done():
        optimizer.zero_grad()
        break
""",
    "else_of_a_while": """
while ready():
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
else:
    print("done")
""",
    "in_a_comprehension": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    [one.zero_grad() for one in (optimizer,)]
""",
    "by_hand": """
for x in data:
    net(x).sum().backward()
    optimizer.step()
    for parameter in net.parameters():
        parameter.grad = None
""",
}


@table(SECOND)
def test_the_second_iteration_is_seen(code):
    assert "# <- 101" in code
    holds(START + code)


@table(CLEARED)
def test_what_any_iteration_clears_is_clear(code):
    holds(START + code)


CARRIED = {
    "a_value_of_the_iteration_before": """
def f(xs, y):
    p = None
    for x in xs:
        if p is not None:
            F.cross_entropy(p, y)  # <- 301
        p = x.softmax(1)
""",
    "after_the_loop": """
def f(xs, y):
    p = xs[0].softmax(1)
    for x in xs:
        p = x.softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "a_loop_may_not_run": """
def f(xs, y):
    p = xs[0]
    for x in xs:
        p = x.softmax(1)
    return F.cross_entropy(p, y)
""",
    "endless_loop_runs": """
def f(xs, y):
    p = xs
    while True:
        p = xs.softmax(1)
        if y.done:
            break
    return F.cross_entropy(p, y)  # <- 301
""",
    "one_way_out_without": """
def f(xs, y):
    p = xs
    while True:
        if y.done:
            break
        p = xs.softmax(1)
    return F.cross_entropy(p, y)
""",
    "else_sets_it": """
def f(xs, y):
    for x in xs:
        if x.ok:
            p = x.softmax(1)
            break
    else:
        p = xs[0].softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "else_does_not": """
def f(xs, y):
    for x in xs:
        if x.ok:
            p = x.softmax(1)
            break
    else:
        p = xs[0]
    return F.cross_entropy(p, y)
""",
    "continue_skips": """
def f(xs, y):
    p = xs
    for x in xs:
        p = x
        if x.ok:
            continue
        p = x.softmax(1)
    return F.cross_entropy(p, y)
""",
    "elements": """
def f(x, y):
    for p in [x.softmax(1), x.softmax(2)]:
        F.cross_entropy(p, y)  # <- 301
    for p in (x.softmax(1), x):
        F.cross_entropy(p, y)
    for n, (p, q) in enumerate(zip([x.softmax(1)], [x])):
        F.cross_entropy(p, y)  # <- 301
        F.cross_entropy(q, y)
    for name, p in {"a": x.softmax(1)}.items():
        F.cross_entropy(p, y)  # <- 301
""",
    "comprehension": """
def f(xs, y):
    [F.cross_entropy(p, y) for p in [x.softmax(1) for x in xs]]  # <- 301
    {n: F.cross_entropy(x, y) for n, x in enumerate(xs) if n}
    list(F.cross_entropy(x.softmax(1), y) for row in xs for x in row)  # <- 301
    {F.cross_entropy(x, y) for x in xs}
""",
}


@table(CARRIED)
def test_values_through_loops(code):
    holds(code)


def of_root(code):
    (run,) = (run for run in runs(code) if run.root is not None)
    return run


def test_a_body_is_in_the_graph_once_however_often_it_runs():
    code = "def f(net: nn.Module, xs):\n    h = None\n    for x in xs:\n        h = net(x, h)\n    return h\n"
    run = of_root(code)
    (forward,) = events(run, "forward")
    (head,) = events(run, "loop")
    assert forward.loops == (head.loop,)
    assert [event.kind for event in forward.next] == ["called"] and head in forward.next[0].next


def test_a_break_goes_behind_the_loop_and_a_continue_to_its_head():
    code = """
def f(net: nn.Module, xs):
    for x in xs:
        if x.bad:
            print(x)
            continue
        if x.last:
            net.eval()
            break
        net(x)
    net.train()
"""
    run = of_root(code)
    (head,) = events(run, "loop")
    (skipped,) = (event for event in events(run, "discarded") if event.name == "print")
    (ended,) = events(run, "module.eval")
    (after,) = events(run, "module.train")
    assert skipped.next == [head] and after in head.next
    onward, ends = flow.after(ended, lambda event: event in (head, after))
    assert onward == [after] and not ends


def test_nothing_comes_behind_an_endless_loop():
    code = "def f(net: nn.Module, x):\n    while True:\n        net(x)\n    net.eval()\n"
    assert "module.eval" not in kinds(of_root(code))


def test_loops_in_loops_end():
    depth = 8
    code = "def f(net: nn.Module, x):\n"
    for level in range(depth):
        code += "    " * (level + 1) + f"for i{level} in range(3):\n" + "    " * (level + 2) + "x = net(x)\n"
    run = of_root(code)
    assert len(events(run, "forward")) == depth
    assert [len(event.loops) for event in events(run, "forward")] == list(range(1, depth + 1))


ROUNDS = {
    "nothing asked for has changed": ("found = []\nfor x in data:\n    y = here(x)\n    found.append(y)\n", 1),
    "in an inner loop, too": ("y = None\nfor e in range(3):\n    for x in data:\n        y = here(x)\n        y.sum()\n", 1),
    "what it changes is asked for": ("y = net(z)\nfor x in data:\n    y = here(y)\n", 2),
    "what it adds is asked for": ("found = []\nfor x in data:\n    found.append(here(x))\n    total = found[0]\n", 2),
    "what is in it is asked for": ("found = {}\nfor x in data:\n    found[x] = here(x)\n    print(*found.values())\n", 2),
    "a count of what is not known": ("n = z.start\nfor x in data:\n    here(n)\n    n = n + x\n", 1),
    "a sum of losses": ("n = 0\nfor x in data:\n    here(n)\n    n = n + net(x).sum()\n", 2),
    "a sum of tensors": ("n = z.start\nfor x in data:\n    here(n)\n    n = n + torch.ones(2)\n", 2),
    "None or a number, before and after": ("n = None if z else 1\nfor x in data:\n    here(n)\n    n = None if x else x + 1\n", 1),
    "None, then a number": ("n = None\nfor x in data:\n    here(n)\n    n = x + 1\n", 2),
    "a switch that is turned": ("n = False\nfor x in data:\n    here(n)\n    n = True\n", 2),
    "numbers under the same keys": ("n = {'loss': 0}\nfor x in data:\n    here(n['loss'])\n    n['loss'] = x\n", 1),
    "a key that is new": ("n = {'loss': 0}\nfor x in data:\n    here(n['last'])\n    n['last'] = x\n", 2),
    "a model under the same key": ("n = {'loss': 0}\nfor x in data:\n    here(n['loss'])\n    n['loss'] = net\n", 2),
    "a list that was empty": ("n = []\nfor x in data:\n    here(n[0])\n    n.append(1)\n", 2),
    # Eight times if each pass of a loop were two of the next.
    "three loops": ("y = net(z)\nfor a in data:\n    for b in a:\n        for c in b:\n            y = here(y)\n", 4),
    "an attribute in a call": (
        "class Box:\n    def step(self, x):\n        self.x = here(self.x)\n\n\nbox = Box()\nbox.x = net(z)\nfor x in data:\n    box.step(x)\n", 2
    ),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_rounds(monkeypatch, name):
    """A body is run again only where a round begins with something else that it asks for."""
    code, rounds = ROUNDS[name]
    counted = []
    evaluate = interpreter.Run.eval

    def spy(run, node):
        if type(node) is cst.Name and node.value == "here":
            counted.append(node)
        return evaluate(run, node)

    monkeypatch.setattr(interpreter.Run, "eval", spy)
    runs(START + code)
    assert len(counted) == rounds


def test_what_an_inner_loop_leaves_is_seen_in_the_next_round():
    holds(
        START
        + """
total = 0
for epoch in range(10):
    for x in data:
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # <- 106
    print(total)
"""
    )


def test_a_forward_is_seen_where_only_an_inner_loop_goes_round():
    """The outer loop is run again for the inner one's sake: what its first pass has seen in a forward is seen once more."""
    holds(
        """
class Smooth(nn.Module):
    def forward(self, scores, target):
        return F.cross_entropy(scores, target)  # <- 301


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return torch.softmax(self.fc(x), dim=-1)


def validate(net, loader):
    hits = 0
    for x, y in loader:
        hits += (net(x).argmax(1) == y).sum().item()
    return hits


def main(loader, other):
    net, criterion = Net(), Smooth()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            loss = criterion(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            print(validate(net, other))
        net.train()
"""
    )
