"""What an optimizer is known to have, of parameters that are put together in one way or another."""

import pytest

from tests.torchlint.dryrun.support import events, runs

MADE = "import itertools\na, b, c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)\nw = nn.Parameter(torch.zeros(2))\n"


def created(text):
    (event,) = [event for run in runs(MADE + text + "\nopt = torch.optim.SGD(params, lr=1)\nopt.step()\n") for event in events(run, "optimizer.create")]
    return [module.name for module in event.modules], [tensor.name for tensor in event.tensors], event.complete, event.bound


@pytest.mark.parametrize("params", [
    "list(a.parameters()) + list(b.parameters())",
    "[*a.parameters(), *b.parameters()]",
    "tuple(a.parameters()) + (*b.parameters(),)",
    "itertools.chain(a.parameters(), b.parameters())",
    "itertools.chain(*[model.parameters() for model in (a, b)])",
    "sum([list(model.parameters()) for model in (a, b)], [])",
    "[{'params': list(a.parameters()) + list(b.parameters())}]",
    "[]\nfor model in (a, b):\n    params += list(model.parameters())",
    "[]\nfor model in (a, b):\n    params.extend(model.parameters())",
    "list(a.parameters())\nparams += b.parameters()",
])
def test_all_of_two_models(params):
    assert created(f"params = {params}") == (["a", "b"], [], True, True)


@pytest.mark.parametrize("params", [
    "[p for p in a.parameters()]",
    "filter(lambda p: p.requires_grad, a.parameters())",
    "list(filter(lambda p: p.requires_grad, a.parameters()))",
    "tuple(filter(None, a.parameters()))",
    "[p for p in filter(lambda p: p.requires_grad, a.parameters())]",
    "[a.weight]",
    "[]\nfor p in a.parameters():\n    params.append(p)",
])
def test_no_others_though_perhaps_not_all(params):
    assert created(f"params = {params}") == (["a"], [], False, True)


def test_a_parameter_beside_them():
    assert created("params = list(a.parameters()) + [w]") == (["a"], ["w"], True, True)


@pytest.mark.parametrize("params", ["list(a.parameters()) + more", "list(a.parameters())[:-1]", "[*a.parameters(), *more]", "list(more) + [a.weight]"])
def test_others_beside_them(params):
    assert created(f"params = {params}")[2:] == (False, False)
