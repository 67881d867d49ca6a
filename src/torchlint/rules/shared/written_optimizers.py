"""Calls of what stands in `torch.optim`, in the functions of a run, whichever way goes there: the one for another optimizer is not taken
where a constant says which it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import names_in, table
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.shared.asking import asks_first, asks_of_releases
from torchlint.rules.shared.checkpoints import files_of
from torchlint.rules.shared.written_names import imports, qualified

_MODULES = ("torch.optim", "torch.optim.lr_scheduler")
# What a module of torch's imports for itself, from the standard library.
_OF_PYTHON = frozenset("Any Callable Counter Iterable Iterator List Literal Optional Sequence SupportsFloat TypedDict Union".split())


def calls_of_optim(view: View) -> Iterator[tuple[Site, str]]:
    """Such calls, with the full names; not those behind a question about releases. Whether the file asks torch for the name is left to who
    has something to say: it is read in the whole text."""
    for tree in view.trees():
        if tree.unit.words.isdisjoint(("optim", "lr_scheduler")):
            continue
        for node in walk(tree.module):
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value[:1].isupper():
                site = Site(tree, node)
                name = canonical(qualified(site, node.func))
                if name.rpartition(".")[0] in _MODULES and not asks_of_releases(site):
                    yield site, name


def _small_letters(view: View) -> Iterator[tuple[Site, str]]:
    """Calls by the name of a module, which is that of the class in small letters: `torch.optim.sgd(...)`."""
    for tree in view.trees():
        if tree.unit.words.isdisjoint(_IN_SMALL_LETTERS):
            continue
        for node in walk(tree.module):
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _IN_SMALL_LETTERS:
                site = Site(tree, node)
                name = qualified(site, node.func)
                if name == f"torch.optim.{node.func.attr.value}" and not asks_of_releases(site):
                    yield site, name


_IN_SMALL_LETTERS = frozenset(name.lower() for name in names_in("torch.optim") or () if name[:1].isupper())


def in_no_release(view: View) -> Iterator[tuple[Site, str]]:
    """What is called or imported from there by a name that torch has had in no release."""
    yield from ((site, name) for site, name in calls_of_optim(view)
               if _is_unknown(name) and not asks_first(site) and not _put_there(view, name))
    yield from ((site, name) for site, name in _small_letters(view) if not asks_first(site) and not _put_there(view, name))
    yield from ((site, name) for site, name in imports(view, _is_unknown) if not asks_first(site) and not _put_there(view, name))


def _is_unknown(name: str) -> bool:
    module, _, own = name.rpartition(".")
    known = names_in(module) if module in _MODULES and own[:1].isupper() else None
    return bool(known) and own not in known and own not in _OF_PYTHON and name not in table().removed


def _put_there(view: View, name: str) -> bool:
    """Whether the program puts something of its own into torch's module by that name."""
    own = name.rpartition(".")[2]
    puts = re.compile(rf"\boptim(?:\.lr_scheduler)?\.{own}\s*=[^=]|\blr_scheduler\.{own}\s*=[^=]|\bsetattr\([^)]*(?:optim|lr_scheduler)\b")
    return any(puts.search(line) for facts in files_of(view, view.run.graph.events[0]) for line in facts.lines)
