"""Where a program asks torchvision and torchtext for what they no longer have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from torchlint.catalogue import torchtext_gone, torchvision_gone
from torchlint.catalogue.apis import Gone, release
from torchlint.catalogue.torchvision_gone import (
    ARGUMENTS,
    DATA,
    DATA_RENAMED,
    GONE_DATASETS,
    WARNED,
    WARNED_SINCE,
    WARNING_DATASETS,
)
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Ref, real
from torchlint.rules.base import View
from torchlint.rules.shared.asking import chosen_by_release
from torchlint.rules.shared.blocks import heads_of
from torchlint.rules.shared.written_names import calls, expected, imports, reads, second_choice

NAMES = {**torchvision_gone.NAMES, **torchtext_gone.NAMES}
_TORCH_BESIDE = {"torchvision": torchvision_gone.TORCH_BESIDE, "torchtext": torchtext_gone.TORCH_BESIDE}


def names_gone(view: View) -> Iterator[tuple[Site, str, Gone]]:
    """`transforms.Scale(256)`, and its import."""
    # Where a name is imported by itself, the import is what fails.
    called = ((event.site, name) for event, name in calls(view) if isinstance(event.site.node.func, cst.Attribute))
    for site, name in _once_a_row((*imports(view, _gone), *called, *reads(view))):
        if _has_it_not(view, name.partition(".")[0], NAMES[name].by):
            yield site, name, NAMES[name]


def names_warned_of(view: View) -> Iterator[tuple[Site, str, str]]:
    """`transforms.Scale(256)` in a project that runs beside a torchvision that still has it: the place, the name, and what to use."""
    for site, name in _once_a_row((event.site, name) for event, name in calls(view)):
        if name in WARNED and not _has_it_not(view, "torchvision", NAMES[name].by) and _has_it_not(view, "torchvision", WARNED_SINCE):
            yield site, name, NAMES[name].instead


def _once_a_row(written: Iterable[tuple[Site, str]]) -> Iterator[tuple[Site, str]]:
    """The places that ask for what is gone, and its name, but where the program asks before what there is."""
    told = set()
    for site, text in written:
        name = _gone(text)
        if name is not None and (site.parsed, site.location().row, name) not in told and not _asked(site):
            told.add((site.parsed, site.location().row, name))
            yield site, name


def _gone(name: str) -> str | None:
    """The name that is gone, or the module that it is in."""
    while "." in name:
        if name in NAMES:
            return name
        name = name.rpartition(".")[0]
    return None


def renamed_data(view: View, gone: bool) -> Iterator[tuple[Site, str, str]]:
    """`dataset.train_data` of torchvision's MNIST, which warns, or of its CIFAR10, which has it no more: the place, its text, and the
    name that it has now."""
    told = set()
    package, wanted = "torchvision", GONE_DATASETS if gone else WARNING_DATASETS
    if not _has_it_not(view, package, DATA_RENAMED.by):
        return
    for event in view.of("attribute"):
        made, site = real(event.subject), event.site
        if event.name not in DATA or not all(isinstance(one, Instance) and isinstance(one.cls, Ref) and one.type in wanted for one in made):
            continue
        key = (site.parsed, site.location().row, event.name)
        if key not in told and not _asked(site):
            told.add(key)
            yield site, site.parsed.text(site.node), DATA[event.name]


def arguments_gone(view: View) -> Iterator[tuple[Event, cst.Arg, dict[str, str]]]:
    """`make_grid(images, range=(-1, 1))`, with the words of the finding."""
    for event in view.of("call"):
        renamed = ARGUMENTS.get(event.name)
        if renamed is None or not isinstance(event.site.node, cst.Call) or second_choice(event.site) or expected(event.site) or chosen_by_release(event):
            continue
        for arg in event.site.node.args:
            word = arg.keyword.value if arg.keyword is not None else ""
            gone = renamed.get(word)
            if gone is not None and _has_it_not(view, "torchvision", gone.by):
                name = event.name.rpartition(".")[2]
                problem = f"`{name}` takes no `{word}` any more: torchvision {gone.after} did, {gone.by} does not"
                yield event, arg, {"problem": problem, "mend": f"write `{gone.instead}`"}


def _asked(site: Site) -> bool:
    """Whether the program asks what there is before: by `hasattr`, for a version, or in a `try`."""
    lines, row = site.parsed.facts.lines, site.location().row
    heads = " ".join(heads_of(lines, row))
    return second_choice(site) or bool(re.search(r"hasattr|version|\btry:", heads))


def _has_it_not(view: View, package: str, by: str) -> bool:
    """Whether nothing says that the program runs beside a torchvision or torchtext that is older than a release."""
    return view.admits(_TORCH_BESIDE[package][by]) and view.admits(release(by), package)
