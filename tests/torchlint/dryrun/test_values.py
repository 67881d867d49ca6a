"""Values where paths meet: what is true on all of them, and nothing more. Softmax is the dye: 301 says that it came to
the loss on every path, silence that on some path it may not."""

import pytest

from torchlint.dryrun.functions import declared_type
from torchlint.dryrun.values import MOST, Const, Event, Instance, Opaque, Union, real, union_of

from .support import events, holds, runs, table

CERTAIN = {
    "straight": """
def f(x, y):
    p = F.softmax(x, dim=1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "if_else_both": """
def f(x, y, flag):
    if flag:
        p = x.softmax(1)
    else:
        p = F.softmax(x * 2, dim=1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "elif_chain": """
def f(x, y, kind):
    if kind == "a":
        p = x.softmax(1)
    elif kind == "b":
        p = (x + 1).softmax(1)
    else:
        p = (x - 1).softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "if_expression": """
def f(x, y, flag):
    p = x.softmax(1) if flag else (2 * x).softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "known_condition": """
def f(x, y):
    fast = True
    p = x.softmax(1) if fast else x
    if not fast:
        p = x
    return F.cross_entropy(p, y)  # <- 301
""",
    "known_string": """
def f(x, y):
    mode = "probs"
    if mode == "probs":
        x = x.softmax(1)
    if mode != "probs":
        x = x * 2
    return F.cross_entropy(x, y)  # <- 301
""",
    "known_by_short_circuit": """
def f(x, y, flag):
    p = False or x.softmax(1)
    q = True and x.softmax(1)
    F.cross_entropy(p, y)  # <- 301
    if flag and False:
        q = x
    return F.cross_entropy(q, y)  # <- 301
""",
    "walrus": """
def f(x, y):
    if (p := x.softmax(1)) is not None:
        return F.cross_entropy(p, y)  # <- 301
""",
    "finally_runs": """
def f(x, y):
    p = x
    try:
        q = p.exp()
    finally:
        p = x.softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "handler_leaves": """
def f(x, y):
    try:
        p = x.softmax(1)
    except RuntimeError as error:
        raise ValueError from error
    else:
        x = x + 1
    return F.cross_entropy(p, y)  # <- 301
""",
    "handlers_agree": """
def f(x, y):
    try:
        p = x.softmax(1)
    except RuntimeError:
        p = x.cpu().softmax(1)
    except (ValueError, TypeError):
        return None
    return F.cross_entropy(p, y)  # <- 301
""",
    "early_return": """
def f(x, y, flag):
    if flag:
        p = x.softmax(1)
    else:
        return x
    return F.cross_entropy(p, y)  # <- 301
""",
    "with_block": """
def f(x, y, lock):
    with lock as held, open("log"):
        p = x.softmax(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "unpacking": """
def f(x, y):
    (a, b), [c, *rest] = (x, x.softmax(1)), [x, y, y]
    F.cross_entropy(a, y)
    return F.cross_entropy(b, y)  # <- 301
""",
    "swap": """
def f(x, y):
    a, b = x, x.softmax(1)
    a, b = b, a
    F.cross_entropy(b, y)
    return F.cross_entropy(a, y)  # <- 301
""",
    "items": """
def f(x, y):
    out = {"probs": x.softmax(1), "logits": x, **{"more": x.softmax(-1)}}
    F.cross_entropy(out["logits"], y)
    F.cross_entropy(out["more"], y)  # <- 301
    both = [x, x.softmax(1)] + [x.softmax(1)]
    F.cross_entropy(both[0], y)
    F.cross_entropy(both[2], y)  # <- 301
    return F.cross_entropy(out["probs"], y)  # <- 301
""",
    "none_is_narrowed": """
def f(x, y, flag):
    p = None
    if flag:
        p = x.softmax(1)
    if p is not None:
        F.cross_entropy(p, y)  # <- 301
    if p is None:
        return
    F.cross_entropy(p, y)  # <- 301
""",
    "none_cannot_be_used": """
def f(x, y, flag):
    p = x.softmax(1) if flag else None
    assert p is not None
    return F.cross_entropy(p, y)  # <- 301
""",
    "assert_false_ends": """
def f(x, y, flag):
    if flag:
        p = x.softmax(1)
    else:
        assert False
    return F.cross_entropy(p, y)  # <- 301
""",
    "exit_ends": """
def f(x, y, flag):
    if flag:
        p = x.softmax(1)
    else:
        exit(1)
    return F.cross_entropy(p, y)  # <- 301
""",
    "match": """
def f(x, y, kind):
    p = x.softmax(1)
    match kind:
        case {"scale": scale}:
            p = (x * scale).softmax(1)
        case [first, *others] if first:
            p = (x * first).softmax(1)
        case _:
            pass
    return F.cross_entropy(p, y)  # <- 301
""",
    "match_leaves": """
def f(x, y, kind):
    match kind:
        case "a" | "b":
            p = x.softmax(1)
        case _:
            raise ValueError(kind)
    return F.cross_entropy(p, y)  # <- 301
""",
    "starred_list": """
def f(x, y):
    outs = [x, x.softmax(1)]
    more = (*outs, x)
    F.cross_entropy(more[1], y)  # <- 301
    return F.cross_entropy(more[2], y)
""",
    "conditional_expression_in_call": """
def f(x, y, flag):
    return F.cross_entropy(x.softmax(1) if flag else x.softmax(-1), y)  # <- 301
""",
    "await": """
async def make(x):
    return x.softmax(1)

async def f(x, y):
    async with x.lock:
        p = await make(x)
    return F.cross_entropy(p, y)  # <- 301
""",
    "annotated": """
def f(x: torch.Tensor, y):
    p: torch.Tensor = x.softmax(1)
    q: torch.Tensor
    return F.cross_entropy(p, y)  # <- 301
""",
}

UNCERTAIN = {
    "if_only": """
def f(x, y, flag):
    if flag:
        x = x.softmax(1)
    return F.cross_entropy(x, y)
""",
    "else_only": """
def f(x, y, flag):
    if flag:
        pass
    else:
        x = x.softmax(1)
    return F.cross_entropy(x, y)
""",
    "one_elif": """
def f(x, y, kind):
    if kind == "a":
        p = x.softmax(1)
    elif kind == "b":
        p = x
    else:
        p = x.softmax(1)
    return F.cross_entropy(p, y)
""",
    "if_expression": """
def f(x, y, flag):
    return F.cross_entropy(x.softmax(1) if flag else x, y)
""",
    "or": """
def f(x, y, other):
    p = other or x.softmax(1)
    return F.cross_entropy(p, y)
""",
    "and": """
def f(x, y, other):
    p = other and x.softmax(1)
    q = x.softmax(1) and other
    F.cross_entropy(q, y)
""",
    "handler": """
def f(x, y):
    p = x
    try:
        p = x.softmax(1)
    except RuntimeError:
        pass
    return F.cross_entropy(p, y)
""",
    "try_of_which_a_part_ran": """
def f(x, y):
    p = x.softmax(1)
    try:
        p = x
        p = x.softmax(1)
    except RuntimeError:
        p = x
    return F.cross_entropy(p, y)
""",
    "match_with_no_case": """
def f(x, y, kind):
    match kind:
        case 1:
            x = x.softmax(1)
    return F.cross_entropy(x, y)
""",
    "walrus_behind_and": """
def f(x, y, flag):
    p = x
    if flag and (p := x.softmax(1)) is not None:
        pass
    return F.cross_entropy(p, y)
""",
    "overwritten": """
def f(x, y):
    p = x.softmax(1)
    p = x
    return F.cross_entropy(p, y)
""",
    "deleted": """
def f(x, y):
    p = x.softmax(1)
    del p
    a, b = x.softmax(1), x
    del a, x.note
    F.cross_entropy(a, y)
    return F.cross_entropy(p, y)
""",
    "caught_names": """
def f(x, y):
    p = x.softmax(1)
    try:
        y = y.long()
    except RuntimeError as p:
        return F.cross_entropy(p, y)
    match y:
        case {"p": p, **rest}:
            return F.cross_entropy(p, y)
        case [_, *p]:
            return F.cross_entropy(p, y)
        case nn.Linear(weight=p):
            return F.cross_entropy(p, y)
        case int() as p:
            return F.cross_entropy(p, y)
""",
    "unknown_item": """
def f(x, y, key):
    out = {"probs": x.softmax(1), key: x}
    both = [x.softmax(1), x]
    F.cross_entropy(out[key], y)
    return F.cross_entropy(both[key], y)
""",
}


@table(CERTAIN)
def test_what_is_true_on_all_paths_is_kept(code):
    assert "# <- 301" in code
    holds(code)


@table(UNCERTAIN)
def test_what_is_true_on_some_paths_only_is_not_told(code):
    assert "softmax" in code and "cross_entropy" in code
    holds(code)


CONTEXTS = {
    "with": """
def evaluate(net: nn.Module, loader):
    net.eval()
    with torch.no_grad():
        out = net(loader)
    return out
""",
    "exit_stack": """
import contextlib

def evaluate(net: nn.Module, loader):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        out = net(loader)
    return out
""",
    "chosen": """
def evaluate(net: nn.Module, loader, flag):
    with torch.no_grad() if flag else torch.inference_mode():
        out = net(loader)
    return out
""",
    "set_grad_enabled": """
def evaluate(net: nn.Module, loader):
    with torch.set_grad_enabled(False):
        out = net(loader)
    return out
""",
    "decorator": """
@torch.no_grad()
def evaluate(net: nn.Module, loader):
    out = net(loader)
    return out
""",
}


@table(CONTEXTS)
def test_gradients_are_off_inside_and_on_after(code):
    (run,) = (run for run in runs(code + "    loss = net(loader)\n    loss.backward()\n") if run.root is not None)
    assert [event.grad_on for event in events(run, "forward")] == [False]


def test_a_context_ends_with_its_block():
    code = """
def f(net: nn.Module, x):
    with torch.no_grad():
        net(x)
        with torch.enable_grad():
            net(x)
        net(x)
    net(x)
"""
    (run,) = (run for run in runs(code) if run.root is not None)
    assert [event.grad_on for event in events(run, "forward")] == [False, True, False, True]


SWITCHED = {
    "off": ("torch.set_grad_enabled(False)", [False]),
    "on_some_paths": ("if flag:\n        torch.set_grad_enabled(False)", [None]),
    "one_context_or_another": ("with torch.no_grad() if flag else torch.enable_grad(): net(x)", [None, True]),
    "two_that_say_nothing_of_it": (
        "with torch.no_grad():\n        with torch.autocast(flag) if flag else torch.autocast('cpu'): net(x)",
        [False, True],
    ),
    "a_callers_context": ("with flag: net(x)", [None, True]),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "states"), list(SWITCHED.values()), ids=list(SWITCHED))
def test_whether_gradients_are_on(statement, states):
    (run,) = (r for r in runs(f"def f(net: nn.Module, x, flag):\n    {statement}\n    net(x)\n") if r.root is not None)
    assert [event.grad_on for event in events(run, "forward")] == states


def last(code):
    """The value of `result` at the end of a module's body."""
    body = runs(code)[0]
    (facts,) = {owner for owner, name in body.store.data if name == "result"}
    return body.store.get(facts, "result")


def test_constants_are_worked_out_but_never_guessed():
    for text, value in {
        "2 + 3": 5, "7 - 2": 5, "2 * 3": 6, "1 / 2": 0.5, "7 // 2": 3, "7 % 4": 3, "-2": -2, "not True": False,
        "float('2')": 2.0, "float(3)": 3.0, "'a' 'b'": None, "1 if True else 2": 1, "None is None": True,
        "'a' == 'a'": True, "True is not True": False, "1 / 0": None, "2 ** 3": None, "f'{1}'": None,
        "float('x')": None, "True if 3 > 2 else False": None,
    }.items():  # fmt: skip
        found = last(f"result = {text}")
        assert (found.value if isinstance(found, Const) else None) == value, text


def test_one_of_several_values_is_kept_until_there_are_too_many():
    layers = [f"{'elif' if n else 'if'} flag == {n}:\n    result = nn.Linear(1, {n})" for n in range(6)]
    few = last("\n".join(layers[:3]) + "\nelse:\n    result = nn.ReLU()\n")
    assert isinstance(few, Union)
    assert sum(isinstance(alt, Instance) for alt in real(few)) == 4
    many = last("\n".join(layers) + "\nelse:\n    result = nn.ReLU()\n")
    assert len(real(many)) <= 4 and any(type(alt) is Opaque and alt.source == "join" for alt in real(many))


@pytest.mark.parametrize(
    ("annotation", "declared"),
    [
        ("Tensor", "Tensor"),
        ("'torch.Tensor'", "Tensor"),
        ("DataLoader[tuple[Tensor, Tensor]]", "DataLoader"),
        ("torch.optim.Optimizer", "Optimizer"),
        ("np.ndarray | Tensor", ""),
        ("dict[str, DataLoader]", "dict"),
        ("Optional[nn.Module]", "Optional"),
        ("Callable[[int], Tensor]", "Callable"),
    ],
)
def test_an_annotation_is_sure_where_it_names_one_class(annotation, declared):
    assert declared_type(annotation) == declared


def test_what_is_cut_off_a_provenance_does_not_depend_on_addresses():
    events = [Event("forward", None, None, (), (), {}) for _ in range(3 * MOST)]
    kept = union_of([frozenset(events[:2]), frozenset(events[2:])])
    assert kept == frozenset(events[:2] + events[2 - MOST :])


def test_the_layers_inside_of_a_model_are_cut_off_first():
    model = Event("forward", None, None, (), (), {"inside": None})
    layers = frozenset(Event("forward", None, None, (), (), {"inside": model}) for _ in range(MOST))
    assert model in union_of([layers, frozenset({model})])


def test_a_provenance_that_is_full_stays_what_it_is():
    """Nothing that comes later is worth more: no new set, for the same many times over."""
    full = frozenset(Event("forward", None, None, (), (), {}) for _ in range(MOST))
    later = frozenset({Event("forward", None, None, (), (), {})})
    assert union_of([full, later]) is full
    assert union_of([later, full]) >= later
