"""Where a program asks torchvision for what it no longer has."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import Gone, release
from torchlint.catalogue.torchvision_gone import ARGUMENTS, ARGUMENTS_AFTER, ARGUMENTS_BY, NAMES, TORCH_BESIDE
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import calls, expected, imports, second_choice


def names_gone(view: View) -> Iterator[tuple[Site, str, Gone]]:
    """`transforms.Scale(256)`, and its import."""
    met = [(event.site, name) for event, name in calls(view) if not event.guards]
    for site, name in (*imports(view, NAMES.get), *met):
        gone = NAMES.get(name)
        if gone is not None and _has_it_not(view, gone.by) and not second_choice(site):
            yield site, name, gone


def arguments_gone(view: View) -> Iterator[tuple[Event, cst.Arg, dict[str, str]]]:
    """`make_grid(images, range=(-1, 1))`, with the words of the finding."""
    if not _has_it_not(view, ARGUMENTS_BY):
        return
    for event in view.of("call"):
        renamed = ARGUMENTS.get(event.name)
        if renamed is None or not isinstance(event.site.node, cst.Call) or second_choice(event.site) or expected(event.site):
            continue
        for arg in event.site.node.args:
            word = arg.keyword.value if arg.keyword is not None else ""
            if word in renamed:
                name = event.name.rpartition(".")[2]
                problem = f"`{name}` takes no `{word}` any more: torchvision {ARGUMENTS_AFTER} did, {ARGUMENTS_BY} does not"
                yield event, arg, {"problem": problem, "mend": f"write `{renamed[word]}`"}


def _has_it_not(view: View, by: str) -> bool:
    """Whether nothing says that the program runs beside an older torchvision."""
    if view.torch_version is not None and view.torch_version < TORCH_BESIDE[by]:
        return False
    return view.releases.get("torchvision", release(by)) >= release(by)
