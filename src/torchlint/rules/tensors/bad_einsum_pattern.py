"""428: patterns of einsum and einops that cannot be valid."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.torch_api.shapes import ANY, Shape
from torchlint.dryrun.values import Const, Event, Tensor, Value
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.einsum_patterns import einops_problem, einsum_problem
from torchlint.rules.shared.reached import may_be_dead
from torchlint.rules.shared.written_names import expected

CODE = 428
# Which function of einops a name stands for, and where its pattern is among the arguments.
_EINOPS = {
    f"einops.{place}{name}": (name.lower(), at)
    for name, at, places in (
        ("rearrange", 1, ("", "einops.")),
        ("reduce", 1, ("", "einops.")),
        ("repeat", 1, ("", "einops.")),
        ("einsum", -1, ("", "einops.")),
        ("Rearrange", 0, ("layers.torch.",)),
        ("Reduce", 0, ("layers.torch.",)),
    )
    for place in places
}
WATCHED = frozenset(_EINOPS) | {"torch.einsum"}


def check(view: View) -> Iterator[Report]:
    """`torch.einsum("bik,bkj->bijl", a, b)`, `rearrange(x, "b (h w) c -> b c h w")`."""
    for event in view.of("call"):
        if event.name not in WATCHED or "*" in event.kwargs or not isinstance(event.site.node, cst.Call):
            continue
        # A call through a partial or a decorator has other arguments than those that are written.
        if len(event.args) != sum(arg.keyword is None for arg in event.site.node.args) or expected(event.site):
            continue
        found = _of_torch(event) if event.name == "torch.einsum" else _of_einops(event)
        if found is not None:
            pattern, problem = found
            yield from once([Report(CODE, event.site, {"pattern": pattern, "problem": problem})])


def _of_torch(event: Event) -> tuple[str, str] | None:
    pattern = _text(event.args[0] if event.args else None)
    if pattern is None:
        return None
    given = event.args[1:]
    one_by_one = len(given) != 1 or isinstance(given[0], Tensor)  # else it may be a list of them
    problem = einsum_problem(pattern, _shapes(event, given) if given and one_by_one else None)
    return (pattern, problem) if problem else None


def _of_einops(event: Event) -> tuple[str, str] | None:
    function, at = _EINOPS[event.name]
    given = list(event.args)
    if "pattern" in event.kwargs:
        pattern = _text(event.kwargs["pattern"])
    elif -len(given) <= at < len(given):
        pattern = _text(given.pop(at))
    else:
        return None
    if pattern is None:
        return None
    lengths = [name for name in event.kwargs if name not in ("pattern", "reduction", "tensor")]
    operands = None
    if function == "einsum":
        operands = _shapes(event, given)
    elif at == 1 and given and isinstance(given[0], Tensor):
        operands = _shapes(event, given[:1])
    problem = einops_problem(function, pattern, None if "**" in event.kwargs else lengths, operands)
    return (pattern, problem) if problem else None


def _text(value: Value | None) -> str | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def _shapes(event: Event, values: list[Value]) -> list[Shape]:
    """What is known of the operands; nothing behind a condition on sizes."""
    dead = may_be_dead(event)
    return [value.traits.get("shape", ANY) if isinstance(value, Tensor) and not dead else ANY for value in values]
