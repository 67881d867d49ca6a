"""114: what is changed in place may be a leaf by one way, and none by another."""

from tests.torchlint.dryrun.support import holds, table

ATTACK = """
def attack(model, x, target, keeps_best, rounds):
    best, lowest = None, None

    def better(loss, lowest, x, best):
        if lowest is None:
            best, lowest = x.clone().detach(), loss.clone().detach()
        else:
            found = lowest < loss
            best[found] = x[found].clone().detach(){mark}
            lowest[found] = loss[found]
        return lowest, best

    for _ in range(rounds):
        x = x.clone().detach().requires_grad_(True)
        loss = F.cross_entropy(model(x), target, reduction="none")
        grad, = torch.autograd.grad(loss.mean(), [x])
        with torch.no_grad():
            lowest, best = {first}
            x = x + grad.sign()
    loss = F.cross_entropy(model(x), target, reduction="none")
    lowest, best = better(loss, lowest, x, best)
    return best
"""


@table({
    "one way of two": ATTACK.format(first="better(loss, lowest, x, best) if keeps_best else (loss, x)", mark=""),
    "the only way": ATTACK.format(first="(loss, x)", mark="  # <- 114"),
    "a method, one way of two": """
def noise(shape, learned):
    z = torch.randn(shape, requires_grad=True) if learned else torch.randn(shape)
    z.clamp_(-1, 1)
    return z
""",
    "a method, both ways": """
def noise(shape, wide):
    z = torch.randn(shape, requires_grad=True) if wide else torch.rand(shape, requires_grad=True)
    z.clamp_(-1, 1)  # <- 114
    return z
""",
})
def test_ways(code):
    holds(code)
