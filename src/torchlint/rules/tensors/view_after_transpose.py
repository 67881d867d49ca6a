"""406: a view that must merge dimensions that are no longer neighbours in memory."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Seq, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, replace

CODE = 406


def check(view: View) -> Iterator[Report]:
    """Only views that must merge what no stride can merge: those cannot be legal by accident."""
    for event in view.of("view"):
        alts = real(event.subject)
        if alts and all(_must_fail(view, event, _order_of(alt)) for alt in alts) and not _for_any_caller(event.site, alts[0].sites["layout"]):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)},
                         [(alts[0].sites["layout"], "the dimensions are taken out of order here")], _mend(event.site))


def _for_any_caller(viewed: Site, moved: Site) -> bool:
    """Whether a helper of another file takes the view. It works for a dimension of size 1 that was moved, which the file that moves it may
    have."""
    return viewed.parsed.facts is not moved.parsed.facts


def _mend(site: Site) -> Mend | None:
    """Copies where a view cannot be: the same elements in the same order."""
    func = site.node.func if isinstance(site.node, cst.Call) else None
    if not isinstance(func, cst.Attribute) or func.attr.value != "view":
        return None
    return Mend("use `reshape`", [replace(site, "reshape", func.attr)])


def _order_of(value: Value) -> list[int] | None:
    """The permutation of a value's dimensions, as far as they are known."""
    if not isinstance(value, Tensor) or not isinstance(value.traits.get("layout"), tuple):
        return None
    order = _order(value.traits["layout"])
    return order and [*order, *range(len(order), value.traits.get("rank", 0))]


def _order(layout: tuple[str, list[Value]]) -> list[int] | None:
    """The permutation of the dimensions; for a transpose of unknown rank, up to the dimensions it names."""
    name, args = layout
    numbers = [number(arg) for arg in args]
    if name == "permute" and len(args) > 1 and None not in numbers:
        order = [int(n) for n in numbers]
        return order if sorted(order) == list(range(len(order))) else None
    if name == "transpose" and len(numbers) == 2 and None not in numbers:
        one, two = int(numbers[0]), int(numbers[1])
        if one >= 0 and two >= 0 and one != two:
            order = list(range(max(one, two) + 1))
            order[one], order[two] = order[two], order[one]
            return order
    if name == "t":
        return [1, 0]
    return None


def _must_fail(view: View, event, order: list[int] | None) -> bool:
    """Whether the view has fewer dimensions than there are runs of memory to keep apart.

    Dimensions that are still neighbours in memory can be merged into one; those out of order cannot. (Size 1 is the
    exception: a first dimension that moved may be a batch of one, so then only the flattest view is sure to fail.)
    """
    args = event.args
    if len(args) == 1 and isinstance(args[0], Seq):
        args = view.run.items_of(args[0]) or ()
    if order is None or event.kwargs or not args:
        return False
    if len(args) == 1:
        return order != sorted(order) and isinstance(args[0], Const) and args[0].value == -1
    runs = 1 + sum(after != one + 1 for one, after in zip(order, order[1:]))
    return order[0] == 0 and len(args) < runs
