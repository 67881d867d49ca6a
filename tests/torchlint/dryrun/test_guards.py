"""Conditions: when two are one, and what an event, an object or an alternative stands under."""

import pytest

from torchlint.dryrun.values import exclude_each_other

from .support import IMPORTS, engine, events, found, holds, runs, table

ACCUMULATES = """
def train(model, loader, k, scaler=None):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()  # <- 102
        loss = F.cross_entropy(model(x), y)
        if scaler:
            scaler.scale(loss / k).backward()
        else:
            (loss / k).backward()
        if i % k == 0:
            if scaler:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
"""


def test_a_second_if_with_the_same_test_is_the_same_condition():
    (code,) = {number for row, number in found(IMPORTS + ACCUMULATES) if number == 102}
    assert code == 102


def guards(test, between="", again=None):
    """The guards of two events under conditions: the first one, and that of another `if` behind some statements."""
    text = f"def f(a, b, xs, model):\n    if {test}:\n        model.train()\n{between}    if {again or test}:\n        model.eval()\n"
    run = runs(text)[-1]
    (train,), (evaluation,) = events(run, "module.train"), events(run, "module.eval")
    return train.guards, evaluation.guards


@pytest.mark.parametrize("test, again", [
    ("a", "a"), ("a is None", "a  is None"), ("a == b", "b == a"), ("not a != b", "a == b"), ("len(xs) > 2", "2 < len(xs)"),
    ("a and b", "a and b"), ("isinstance(a, int)", "isinstance(a, int)"),
])
def test_one_condition(test, again):
    one, other = guards(test, again=again)
    assert one == other


@pytest.mark.parametrize("test, again", [("a", "not a"), ("a is None", "a is not None"), ("a == 1", "a != 1"), ("a < 1", "a >= 1")])
def test_contraries(test, again):
    (one,), (other,) = guards(test, again=again)
    assert one != other and one == other.contrary()


@pytest.mark.parametrize("test, again", [
    ("a > 1", "a == 1"), ("a == 1", "a == 2"), ("a < 1", "a > 1"), ("a.n >= 3", "a.n < 2"), ("a > 1", "a <= 0.5"),
    ("not a.n_classes > 1", "a.n_classes != 1"), ("a.num_classes <= 1", "1 != a.num_classes"), ("len(xs) <= 0", "len(xs) != 0"),
    ("a.ndim < 1", "a.ndim != 0"),
])
def test_comparisons_with_numbers_that_never_hold_both(test, again):
    one, other = guards(test, again=again)
    assert exclude_each_other(one, other) and exclude_each_other(other, one)


@pytest.mark.parametrize("test, again", [
    ("a > 1", "a != 1"), ("a <= 1", "a != 1"), ("a.rank <= 0", "a.rank != 0"), ("a > 1", "b == 1"), ("a < 2", "a > 1"),
    ("a.num_workers <= 1", "a.num_workers != 1"), ("a.num_targets <= 1", "a.num_targets != 1"),
    ("a.n_classes <= 2", "a.n_classes != 2"), ("a >= 1", "a <= 1"), ("len(xs) <= 1", "len(xs) != 1"),
    ("a > b", "a == b"), ("a.n_classes < 3", "a.n_classes > 1"),
])
def test_comparisons_with_numbers_that_may_hold_both(test, again):
    one, other = guards(test, again=again)
    assert not exclude_each_other(one, other) and not exclude_each_other(other, one)


def test_a_number_that_was_set_in_between_is_another_one():
    one, other = guards("a > 1", "    a = b\n", "a == 1")
    assert not exclude_each_other(one, other)


CRITERION = """
def train(model, loader):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = {choice}
    for x, y in loader:
        opt.zero_grad()
        y = y.to(dtype=torch.long)
        if {test}:
            loss = criterion(model(x).squeeze(1), y.float())
        else:
            loss = criterion(model(x), y)
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize("choice, test, numbers", [
    ("nn.CrossEntropyLoss() if model.n_classes > 1 else nn.BCEWithLogitsLoss()", "model.n_classes == 1", []),
    ("nn.BCEWithLogitsLoss() if model.n_classes < 2 else nn.CrossEntropyLoss()", "model.n_classes == 1", []),
    ("nn.BCEWithLogitsLoss() if model.n_classes == 1 else nn.CrossEntropyLoss()", "model.n_classes <= 1", []),
    ("nn.CrossEntropyLoss() if model.n_classes > 2 else nn.BCEWithLogitsLoss()", "model.n_classes == 1", [306]),
])
def test_a_loss_is_chosen_by_one_comparison_and_used_under_another(choice, test, numbers):
    text = IMPORTS + CRITERION.format(choice=choice, test=test)
    assert [number for _, number in found(text)] == numbers


@pytest.mark.parametrize("test, between", [("a", "    a = b\n"), ("a.on", "    a.on = b\n"), ("draw(a)", ""), ("next(a)", "")])
def test_what_may_have_changed_is_another_condition(test, between):
    one, other = guards(test, between)
    assert one != other


def test_a_condition_does_not_lead_to_its_contrary():
    holds('''
def main(model, loader, frozen):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        if frozen:
            opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # <- 101
        if not frozen:
            opt.step()
''')


def test_in_another_round_it_may():
    holds('''
def main(model, loader, k):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / k
        if i % k == 0:
            opt.zero_grad()
        loss.backward()
        if i % k != 0:
            opt.step()
''')


@table({
    "model": '''
def main(loader, small):
    if small:
        model = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim=1))
    else:
        model = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim=1))
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()  # <- 301
''',
    "optimizers of two classes": '''
def main(model: nn.Module, loader, name):
    if name == "sgd":
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
    else:
        opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()  # <- 101
        opt.step()
''',
    "the other way round": '''
def main(model: nn.Module, loader, name):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    if name == "adam":
        opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
''',
    "out of a table": '''
def main(model: nn.Module, loader, name):
    opt = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[name](model.parameters(), lr=0.1)
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()  # <- 101
        opt.step()
''',
})
def test_alternatives_are_judged_each(code):
    holds(code)


def test_an_alternative_is_not_met_where_it_was_not_made():
    holds('''
def main(model: nn.Module, x, y, lbfgs):
    opt = torch.optim.LBFGS(model.parameters()) if lbfgs else None
    if lbfgs:
        opt = torch.optim.LBFGS(model.parameters())
    else:
        opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        if not lbfgs:
            opt.zero_grad()
            F.mse_loss(model(x), y).backward()
            opt.step()
''')


def test_the_main_test_is_no_condition():
    run, *_ = runs('model = nn.Linear(2, 2)\nif __name__ == "__main__":\n    model.train()\n')
    assert [event.guards for event in events(run, "module.train")] == [()]


def test_the_sieve_loses_nothing_of_it():
    assert found(IMPORTS + ACCUMULATES) == found(IMPORTS + ACCUMULATES, judge=engine(sieve=False))


def inside(test, between, again):
    """The guards of what stands under a second condition inside of a first one: none where that is never run."""
    text = f"def f(a, b, xs, model):\n    if {test}:\n{between}        if {again}:\n            model.eval()\n        else:\n            model.train()\n"
    run = runs(text)[-1]
    return [event.kind for event in (*events(run, "module.eval"), *events(run, "module.train"))]


@pytest.mark.parametrize("test, again, kind", [
    ("a", "not a", "module.train"), ("a", "a", "module.eval"), ("a > 1", "a <= 1", "module.train"), ("a and b", "b", "module.eval"),
    ("not (a or b)", "a", "module.train"), ("a", "a or b", "module.eval"), ("isinstance(a, int)", "isinstance(a, int)", "module.eval"),
])
def test_what_is_settled_already_is_not_run_both_ways(test, again, kind):
    assert inside(test, "", again) == [kind]


@pytest.mark.parametrize("test, between, again", [
    ("a", "        a = b\n", "not a"), ("a.on", "        a.on = b\n", "not a.on"), ("len(xs) > 2", "        xs.clear()\n", "len(xs) > 2"),
    ("a[0]", "", "a[0]"), ("hasattr(a, 'x')", "", "hasattr(a, 'x')"), ("a", "", "b"),
])
def test_what_may_have_changed_is_not_settled(test, between, again):
    assert inside(test, between, again) == ["module.eval", "module.train"]


def test_a_wrapper_that_only_several_processes_reach():
    """The one process of the other branch never wraps its model."""
    assert not found(IMPORTS + """
from torch import multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

def train(rank, h):
    device = torch.device(f"cuda:{rank}")
    model = nn.Linear(4, 4).to(device)
    if h.num_gpus > 1:
        model = DistributedDataParallel(model, device_ids=[rank]).to(device)
    return model

def main(h):
    if h.num_gpus > 1:
        mp.spawn(train, nprocs=h.num_gpus, args=(h,))
    else:
        train(0, h)
""")


def varies(body):
    """Whether a condition on an argument that may be one of two is another one in the next round of the loop that asks for it."""
    text = f"def f(model, xs, on):\n{body}\n\ndef main(model, xs, some):\n    on = False\n    if some:\n        on = True\n    f(model, xs, on)\n"
    run = runs(text)[-1]
    (guard,) = next(event.guards for event in events(run, "module.train") if event.calls)
    return bool(guard.varies)


ROUND = "    for x in xs:\n        if on:\n            model.train()\n"


@pytest.mark.parametrize("body, is_varying", [
    (ROUND, False), (ROUND + "        model(x)", False), (ROUND + "        on = not on", True),
    ("    def flip():\n        nonlocal on\n        on = not on\n" + ROUND + "        flip()", True),
])
def test_an_argument_is_the_same_in_each_round_unless_it_is_set(body, is_varying):
    assert varies(body) is is_varying


def test_in_each_round_of_a_loop_around_the_call_it_may_be_another_one():
    run = runs("def f(model, on):\n    if on:\n        model.train()\n\ndef main(model, xs):\n    on = False\n    for x in xs:\n        f(model, on)\n        on = x > 1\n")[-1]
    guards = [guard for event in events(run, "module.train") if event.calls for guard in event.guards]
    assert guards and all(guard.varies for guard in guards)
