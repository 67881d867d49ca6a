"""941: what torch no longer has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

import libcst as cst

from torchlint.catalogue.apis import Gone, names_in, release, table
from torchlint.catalogue.hosted import gone_names
from torchlint.catalogue.torchvision_gone import DATA, DATA_RENAMED
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Change, Mend
from torchlint.rules.mends.imports import Use, span, use_at
from torchlint.rules.mends.rows import indent_of, statement_at
from torchlint.rules.saving.deprecated_api import rename
from torchlint.rules.shared import hosted_names
from torchlint.rules.shared.asking import asks_first, chosen_by_release, tried_twice
from torchlint.rules.shared.autograd_instances import instances
from torchlint.rules.shared.inner_functions import calls_within
from torchlint.rules.shared.no_such_name import nowhere
from torchlint.rules.shared.number_losses import first_items
from torchlint.rules.shared.torchvision_old import NAMES as OF_OTHERS
from torchlint.rules.shared.torchvision_old import names_gone, renamed_data
from torchlint.rules.shared.written_names import calls, expected, imports, reads, second_choice
from torchlint.rules.shared.written_optimizers import in_no_release

CODE = 941
# A function until a module took its name; and what has to be told what it once assumed.
_FFT, _STFT = Gone("1.7", "1.8", "torch.fft.fft"), Gone("1.13", "2.0", "return_complex=True")
WATCHED = frozenset(map(canonical, table().removed)) | gone_names().keys() | OF_OTHERS.keys() | {"torch.fft", "torch.stft"}
_WORDS = frozenset(name.rpartition(".")[2] for name in table().removed)
CALLS = frozenset({".next", ".reinforce", ".multinomial", *(f".{name}" for name in DATA)})
_LOADER = re.compile(r"loader$|(?:^|_)(?:train|test|vali?|valid|dev)(?:_data)?_(?:iter|dl)$", re.I)
# The same under another name; of the last two only as `_same` says.
_RENAMED = {
    "torch.set_deterministic": "torch.use_deterministic_algorithms",
    "torch.is_deterministic": "torch.are_deterministic_algorithms_enabled",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.symeig": "torch.linalg.eigh",
}
# What torch._six held for the two Pythons that there were.
_SIX = {
    "inf": "from math import inf", "nan": "from math import nan",
    "container_abcs": "import collections.abc as container_abcs",
    "string_classes": "string_classes = (str, bytes)", "int_classes": "int_classes = int",
}


def check(view: View) -> Iterator[Report]:
    """A call of `torch.symeig`, an import from `torch._six`."""
    # Where a name is imported by itself, the import is what fails.
    called = ((event, name) for event, name in calls(view) if isinstance(event.site.node.func, cst.Attribute))
    met = [(event.site, name) for event, name in called if not chosen_by_release(event, _instead(name))]
    told = set()
    within = ((site, name) for site, name in calls_within(view, _WORDS) if not second_choice(site))
    for site, name in (*met, *imports(view, _removed), *reads(view), *within):
        found = _removed(name)
        if found is None or asks_first(site):
            continue
        where = site.location()
        if (where.filename, where.row, where.column, found) in told:
            continue
        told.add((where.filename, where.row, where.column, found))
        gone = table().removed[found]
        if not view.admits(release(gone.by)):
            continue
        then = f"; use `{gone.instead}`" if gone.instead else ""
        roles = {"name": found, "package": "torch", "after": gone.after, "by": gone.by, "then": then}
        yield Report(CODE, site, roles, mend=_mend(site, name))
    yield from _otherwise(view)
    yield from _next_of_python_2(view)
    yield from _reinforced(view)
    yield from _drawn_without_a_number(view)
    for site, name, gone in names_gone(view):
        then = f"; use `{gone.instead}`" if gone.instead else ""
        yield Report(CODE, site, {"name": name, "package": name.partition(".")[0], "after": gone.after, "by": gone.by, "then": then})
    for site, old, new in renamed_data(view, gone=True):
        after, by = DATA_RENAMED.after, DATA_RENAMED.by
        yield Report(CODE, site, {"name": old, "package": "torchvision", "after": after, "by": by, "then": f"; use `{new}`"})
    for site, asked, loss in first_items(view) if view.admits((1, 0)) else ():
        # An array of no dimension raises at once; of a tensor, 0.4 only warned.
        after, by = ("0.3", "0.4") if re.search(r"\.(?:numpy|tolist)\(", asked) else ("0.4", "1.0")
        roles = {"name": asked, "package": "torch", "after": after, "by": by, "then": f"; use `{loss}.item()`"}
        yield Report(CODE, site, roles)
    for site, roles in hosted_names.gone(view):
        yield Report(CODE, site, roles)
    newest = table().releases[-1]
    is_newer = view.torch_version is not None and view.torch_version > release(newest)  # it may have what nobody knew when this was written
    for site, name in () if is_newer else (*in_no_release(view), *nowhere(view)):
        where = site.location()
        if (where.filename, where.row, where.column, name) not in told:
            told.add((where.filename, where.row, where.column, name))
            yield Report(CODE, site, {"name": name, "newest": newest, "then": _meant(name)}, words=_IN_NO_RELEASE)

    for site, name, is_called in instances(view):
        if is_called and view.admits(release("1.6")) and not second_choice(site) and not expected(site):
            yield Report(CODE, site, {"call": view.call_text(site), "name": name}, words=_LEGACY_FUNCTION)


_LEGACY_FUNCTION = (
    "`{call}` calls an instance of an autograd function: torch 1.4 takes that, torch 1.6 raises",
    "call `{name}.apply(...)`, with static methods `forward(ctx, ...)` and `backward(ctx, ...)`",
)
_IN_NO_RELEASE = ("torch has no `{name}`, in no release up to {newest}{then}", "write the name that torch has, or import it from where it is defined")


def _meant(name: str) -> str:
    module, _, own = name.rpartition(".")
    known = sorted(names_in(module) or ())
    near = [other for other in known if other.lower() == own.lower()] or get_close_matches(own, known, 1, 0.8)
    return f"; `{near[0]}` may be meant" if near else ""


def _instead(name: str) -> str:
    found = _removed(name)
    return table().removed[found].instead if found is not None else ""


def _otherwise(view: View) -> Iterator[Report]:
    """`torch.fft(x, 2)`, which is a module now, and `torch.stft(x, 512)`, which has to be told whether it gives complex numbers."""
    for event in view.of("call"):
        if event.name == "torch.fft":
            name, gone = "torch.fft(...)", _FFT
        elif event.name == "torch.stft" and len(event.args) < 10 and not event.kwargs.keys() & {"return_complex", "*", "**"}:
            name, gone = "torch.stft(...)` without `return_complex", _STFT
        else:
            continue
        site = event.site
        if chosen_by_release(event, gone.instead) or second_choice(site) or expected(site):
            continue
        if view.admits(release(gone.by)):
            roles = {"name": name, "package": "torch", "after": gone.after, "by": gone.by, "then": f"; use `{gone.instead}`"}
            yield Report(CODE, site, roles)


def _next_of_python_2(view: View) -> Iterator[Report]:
    """`iter(loader).next()`: what a loader is gone through by had that method as well, until 1.13."""
    for event in view.of("method"):
        made = real(event.subject)
        if event.name != "next" or event.args or not all(isinstance(alt, Iter) and alt.kind == "same" for alt in made):
            continue
        if chosen_by_release(event) and not tried_twice(event.site):
            continue
        over = [alt for iterator in made for alt in real(iterator.base)]
        if not over or not all(_is_loader(alt) for alt in over):
            continue
        if view.admits((1, 13)):
            owner = view.owner_text(event, "")
            roles = {"name": f"{owner or 'iterator'}.next", "package": "torch", "after": "1.12", "by": "1.13", "then": f"; use `next({owner or 'iterator'})`"}
            yield Report(CODE, event.site, roles)


_DRAWS = re.compile(r"(?:\.|\bimport .*\b)(?:multinomial|bernoulli)\b")
_OF_ITS_OWN = re.compile(r"def reinforce\b|\.reinforce\s*=")


def _reinforced(view: View) -> Iterator[Report]:
    """`action.reinforce(reward)`: what multinomial() had drawn took its reward that way, until 0.4."""
    for event in view.of("method"):
        made = real(event.subject)
        if event.name != "reinforce" or len(event.args) != 1 or not all(type(one) is Opaque or isinstance(one, Tensor) for one in made):
            continue
        lines = [line.split("#", 1)[0] for line in event.site.parsed.facts.lines]
        if any(map(_DRAWS.search, lines)) and not any(map(_OF_ITS_OWN.search, lines)):
            then = "; use `-distribution.log_prob(action) * reward` of `torch.distributions.Categorical` as the loss"
            roles = {"name": f"{view.owner_text(event, 'action')}.reinforce", "package": "torch", "after": "0.3", "by": "0.4", "then": then}
            yield Report(CODE, event.site, roles)


def _drawn_without_a_number(view: View) -> Iterator[Report]:
    """`probabilities.multinomial()`: until 0.4 a Variable was drawn from once where no number was given."""
    for event in view.of("method"):
        made = real(event.subject)
        if event.name != "multinomial" or event.args or event.kwargs or not all(type(one) is Opaque or isinstance(one, Tensor) for one in made):
            continue
        if view.admits((0, 4)) and not second_choice(event.site) and not expected(event.site):
            owner = view.owner_text(event, "probabilities")
            roles = {"name": f"{owner}.multinomial()` without `num_samples", "package": "torch", "after": "0.3", "by": "0.4",
                     "then": f"; use `{owner}.multinomial(1)`"}
            yield Report(CODE, event.site, roles)


def _is_loader(value: Value) -> bool:
    """Whether it is a DataLoader: as it was made, by its annotation, or by its name."""
    if isinstance(value, Instance):
        return value.kind == "loader"
    return type(value) is Opaque and ("loader" in value.tags or bool(_LOADER.search(value.name or "")))


def _mend(site: Site, name: str) -> Mend | None:
    """Calls it by the name it has now, or takes what torch._six held from where it is."""
    if isinstance(site.node, cst.ImportAlias):
        return _without_six(site, name)
    new = _RENAMED.get(name)
    change = rename(site, name, new) if new is not None else None
    use = use_at(site, name) if change is not None else None
    more = _same(site.parsed, use) if use is not None else None
    return Mend(f"use `{new}`", [change, *more]) if more is not None else None


def _same(parsed: Parsed, use: Use) -> list[Change] | None:
    """What besides the name has to change; None where other arguments are given than are taken now."""
    call = use.parent
    if use.qualified == "torch.matrix_rank":
        return [] if len(call.args) == 1 and not call.keywords else None
    if use.qualified == "torch.symeig":
        # Without eigenvectors it gave an empty tensor beside the values; by default it read the upper triangle.
        given = call.keywords[0] if len(call.keywords) == 1 and len(call.args) == 1 else None
        if given is None or given.arg != "eigenvectors" or getattr(given.value, "value", None) is not True:
            return None
        return [Change(parsed, span(parsed, given), 'UPLO="U"')]
    return []


def _without_six(site: Site, name: str) -> Mend | None:
    place = statement_at(site)
    found = place.statement if place is not None else None
    if not name.startswith("torch._six.") or not isinstance(found, ast.ImportFrom) or not place.alone:
        return None
    names = [alias.name for alias in found.names]
    if any(alias.asname for alias in found.names) or not set(names) <= _SIX.keys():
        return None
    indent = indent_of(site.parsed, found.lineno)
    lines = sorted((_SIX[one] for one in names), key=lambda line: "import" not in line)
    at = span(site.parsed, found)
    return Mend("take it from where it is", [Change(site.parsed, at, f"\n{indent}".join(lines))])


def _removed(name: str) -> str | None:
    """The removed name, or the removed module that it is in."""
    while name.count("."):
        if name in table().removed:
            return name
        name = name.rpartition(".")[0]
    return None
