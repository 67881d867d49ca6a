"""943: a keyword that torch does not take."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches

import libcst as cst

from torchlint.catalogue.apis import arguments, keywords, release
from torchlint.catalogue.hosted import hosted
from torchlint.catalogue.torchvision_gone import ARGUMENTS
from torchlint.dryrun.source_text import Site, dotted
from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, replace
from torchlint.rules.shared import hosted_arguments
from torchlint.rules.shared.asking import asks_first, called_twice, chosen_by_release
from torchlint.rules.shared.torchvision_old import arguments_gone
from torchlint.rules.shared.written_names import expected
from torchlint.rules.shared.written_optimizers import calls_of_optim

CODE = 943
WATCHED = frozenset(hosted().keywords) | ARGUMENTS.keys()


def check(view: View) -> Iterator[Report]:
    """`nn.LSTM(8, 8, batchfirst=True)`, `StepLR(optimizer, 5, verbose=True)`, which went."""
    told = set()
    for event in view.of("keywords"):
        for arg in event.site.node.args if isinstance(event.site.node, cst.Call) else ():
            word = arg.keyword.value if arg.keyword is not None else ""
            if word not in event.unknown or id(arg) in told or expected(event.site):
                continue
            told.add(id(arg))
            report = _report(view, event, arg, word)
            if report is not None:
                yield report
    for event, arg, roles in arguments_gone(view):
        if id(arg) not in told:
            told.add(id(arg))
            yield Report(CODE, Site(event.site.parsed, arg), roles)
    for site, name in calls_of_optim(view):
        for arg in _unknown_to(name, site.node):
            if id(arg) not in told and not asks_first(site) and not expected(site) and not called_twice(site):
                told.add(id(arg))
                yield Report(CODE, Site(site.parsed, arg), {"problem": f"`{name}` takes no argument `{arg.keyword.value}`", "mend": _list_of(name)})
    for site, roles in hosted_arguments.found(view):
        yield Report(CODE, site, roles)


def _unknown_to(name: str, call: cst.Call) -> Iterator[cst.Arg]:
    """The arguments that nothing in `torch.optim` by that name takes, nor took in any release."""
    takes = keywords(name)
    if takes is None or any(arg.star == "**" for arg in call.args):
        return
    gone = arguments().gone.get(name, {})
    yield from (arg for arg in call.args if arg.keyword is not None and arg.keyword.value not in takes and arg.keyword.value not in gone)


def _report(view: View, event: Event, arg: cst.Arg, word: str) -> Report | None:
    site = Site(event.site.parsed, arg)
    callee = dotted(event.site.node.func).partition(".")[0]
    function = event.name.rpartition(".")[2][:1].islower() and not event.name.startswith("torch.Tensor.")
    if function and event.guards and callee not in event.site.parsed.facts.imports:
        return None  # a variable, and conditions that may ask which function it is; classes are told apart before
    name = event.name.removeprefix("torch.nn.functional.").removeprefix("torch.nn.")
    gone = arguments().gone.get(event.name, {}).get(word)
    if gone is not None:
        after, by = gone
        if (
            chosen_by_release(event)
            or called_twice(event.site)
            or asks_first(event.site)
            or not view.admits(release(by))
        ):
            return None
        problem = f"`{name}` takes no `{word}` any more: torch {after} did, torch {by} does not"
        return Report(CODE, site, {"problem": problem, "mend": f"leave out `{word}`"})
    if event.name.startswith("torch.Tensor.") and event.guards and (chosen_by_release(event) or called_twice(event.site)):
        return None
    given = {other.keyword.value for other in event.site.node.args if other.keyword is not None}
    near = [other for other in get_close_matches(word, sorted(keywords(event.name) - given), 3, 0.75) if _meant(word, other)][:1]
    meant = f"write `{near[0]}`, if that is meant" if near else _list_of(event.name)
    mend = Mend(f"write `{near[0]}`", [replace(site, near[0], arg.keyword)], safe=False) if near else None
    return Report(CODE, site, {"problem": f"`{name}` takes no argument `{word}`", "mend": meant}, mend=mend)


def _meant(word: str, other: str) -> bool:
    """Whether a word may be another one, misspelt: part by part, as `use_xpu` is not `use_cpu`."""
    parts, others = word.split("_"), other.split("_")
    return len(parts) != len(others) or all(
        one == two or SequenceMatcher(None, one, two).ratio() >= 0.7 for one, two in zip(parts, others)
    )


def _list_of(name: str) -> str:
    takes = sorted(word for word in keywords(name) if len(word) > 2 and word[0] != "_")
    return (
        f"it takes {', '.join(f'`{word}`' for word in takes)}"
        if takes and len(takes) <= 12
        else "leave it out, or call what takes it"
    )
