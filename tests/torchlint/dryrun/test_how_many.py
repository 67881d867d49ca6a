"""How many arguments a call gives to `*args` settles what its function asks of their number; and what a model's own look-ups run."""

from tests.torchlint.dryrun.support import events, holds, runs, table

EINSUM = """
def einsum(equation, *operands):
    if len(operands) == 1:
        if isinstance(operands[0], (tuple, list)):
            operands = operands[0]
        return torch.einsum(equation, *operands)
    elif len(operands) != 2:
        return torch.einsum(equation, *operands)
    a, b = operands
    return torch.einsum(equation, a, b)  # {mark}


def run(a, b, c):
    return {call}
"""


@table({
    "three of three": EINSUM.format(call='einsum("...c,...ce,...e->...", a, b, c)', mark=""),
    "two of three": EINSUM.format(call='einsum("...c,...ce,...e->...", a, b)', mark="<- 428"),
    "in one list": EINSUM.format(call='einsum("...c,...ce,...e->...", [a, b, c])', mark=""),
    "nobody knows how many": EINSUM.format(call='einsum("...c,...ce->...e", *a)', mark=""),
})
def test_the_number_of_arguments_settles_the_way(code):
    holds(code)


@table({
    "a function that nobody calls in view may be given any": """
def train(model, *optimizers):
    if len(optimizers) == 1:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(2)).sum()
        loss.backward()
        optimizer.zero_grad()  # <- 102
        optimizer.step()
""",
    "a tuple grows in a loop": """
def train(model, loader, *first):
    losses = ()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        losses = losses + (model(x).sum(),)
        if len(losses) == 1:
            continue
        losses[0].backward()
        optimizer.zero_grad()  # <- 102
        optimizer.step()
""",
})
def test_what_is_not_known_settles_nothing(code):
    holds(code)


def test_a_model_runs_nothing_where_its_parts_are_looked_up():
    (run,) = runs("""
model = nn.Sequential(nn.Linear(4, 2))
layer, weight = model.get_submodule("0"), model.get_parameter("0.weight")
""")
    assert events(run, "forward") == []
