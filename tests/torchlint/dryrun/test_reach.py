"""What functions lead to is found in linear time, whatever calls whatever. Work is counted, not time."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue
from torchlint.dryrun.reach import Reach
from torchlint.engine import Engine

RULES = [rule for rule in catalogue() if rule.group in DEFAULT_GROUPS]


@given(st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=8, max_size=8), st.permutations(range(8)))
def test_the_same_as_going_everywhere(onward, order):
    reach = Reach(lambda node: {str(node)}, lambda node: onward[node])
    for node in order:
        seen, todo = set(), [node]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += onward[one]
        assert reach.of(node) == {str(one) for one in seen}


def ring(count):
    return "import torch\n" + "".join(
        f"def f{n}(x, loss):\n    loss.backward()\n    return f{(n + 1) % count}(x, loss)\n" for n in range(count)
    )


def one_name(count):
    """Thousands of methods of one name, in which that name is called."""
    return "import torch\nfrom torch import nn\n" + "".join(
        f"class C{n}:\n    def visit(self, x):\n        return x.visit(C{(n + 1) % count})\n" for n in range(count)
    )


def calls_of(text):
    """How many functions, Python's own too, are called while a text is judged."""
    engine, count = Engine(RULES), 0

    def called(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    engine.check("a.py", "import torch\ntorch.no_grad()\n")
    sys.setprofile(called)
    try:
        engine.check("b.py", text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("program", [ring, one_name])
def test_work_grows_as_the_program_does(program):
    small, large = calls_of(program(150)), calls_of(program(600))
    assert large < 5.5 * small
