"""The names under which a file calls and imports what is torch's: as written, before aliases are put together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Ref
from torchlint.rules.base import View
from torchlint.rules.shared.asking import asks_first


def calls(view: View) -> Iterator[tuple[Event, str]]:
    """The watched calls, with the qualified name that the file uses for what is called."""
    for event in view.of("call"):
        node = event.site.node
        if not isinstance(node, cst.Call):
            continue
        name = qualified(event.site, node.func)
        if canonical(name) != event.name:
            name = _imported_there(event.site, node.func)
        if canonical(name) != event.name:
            name = _by_way_of_files(view, event.site, node.func)
        if name and canonical(name) == event.name:
            yield event, name


def reads(view: View) -> Iterator[tuple[Site, str]]:
    """The watched names that are read and not called, such as `dist.reduce_op` and `{"xavier": init.xavier_normal}`."""
    for event in view.of("name"):
        if event.site is None:
            continue  # what the run itself asked for
        name = qualified(event.site, event.site.node)
        if canonical(name) != event.name:
            name = _by_way_of_files(view, event.site, event.site.node)
        if name and canonical(name) == event.name:
            yield event.site, name


def qualified(site: Site, node: cst.BaseExpression) -> str:
    """`torch.cuda.amp.autocast` for `amp.autocast`, by the imports of the file; "" for what is no dotted name."""
    first, parts = _parts(node)
    known = site.parsed.facts.imports.get(first)
    return ".".join([known, *parts]) if known else ""


def _imported_there(site: Site, node: cst.BaseExpression) -> str:
    """The same for a name that the function around it imports: `from torch.cuda.amp import autocast`."""
    first, parts = _parts(node)
    for item in walk(site.parsed.module):
        if isinstance(item, cst.ImportFrom) and item.module is not None and not item.relative and not isinstance(item.names, cst.ImportStar):
            for alias in item.names:
                if (alias.evaluated_alias or alias.evaluated_name) == first:
                    return ".".join([site.parsed.text(item.module), alias.evaluated_name, *parts])
    return ""


def _by_way_of_files(view: View, site: Site, node: cst.BaseExpression) -> str:
    """The same for a name that another file of the project has imported: `from model import *`."""
    first, parts = _parts(node)
    meant = view.run.exported(first, site.parsed.facts) if first else None
    return ".".join([meant.name, *parts]) if isinstance(meant, Ref) else ""


def _parts(node: cst.BaseExpression) -> tuple[str, list[str]]:
    """The first name of a dotted one, and the others; "" for what is no dotted name."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return (node.value if isinstance(node, cst.Name) else ""), parts[::-1]


def imports(view: View, wanted: Callable[[str], object]) -> Iterator[tuple[Site, str]]:
    """What is imported from torch's modules by name, as far as it is wanted: the alias, and the qualified name. Not what a
    `try` or an `if` stands around: such code asks first."""
    for event in view.of("import"):
        node, parsed = event.site.node, event.site.parsed
        if isinstance(node.names, cst.ImportStar):
            continue
        module = f"{parsed.text(node.module)}." if isinstance(node, cst.ImportFrom) else ""
        named = ((alias, module + alias.evaluated_name) for alias in node.names)
        found = [(Site(parsed, alias), name) for alias, name in named if wanted(name)]
        if found and not _guarded(event.site):
            yield from found


def second_choice(site: Site) -> bool:
    """Whether only a torch that lacks the new name comes here: in an `except`, or where the file asks first."""
    return asks_first(site) or _guarded(site, lambda item: isinstance(item, cst.ExceptHandler))


def asks_for_gpu(site: Site) -> bool:
    """Whether an `if` around a place asks for the device: what is done there suits the answer."""
    def asks(item: cst.CSTNode) -> bool:
        return isinstance(item, cst.If) and bool(_DEVICE.search(site.parsed.text(item.test)))

    return _guarded(site, asks)


_DEVICE = re.compile("cuda|gpu|device", re.IGNORECASE)


def expected(site: Site) -> bool:
    """Whether a `try` around a place is ready for a TypeError there."""
    def catches(item: cst.CSTNode) -> bool:
        if not isinstance(item, cst.Try):
            return False
        kinds = [handler.type for handler in item.handlers]
        return any(kind is None or any(name in site.parsed.text(kind) for name in _CAUGHT) for kind in kinds)

    return _guarded(site, catches)


_CAUGHT = ("TypeError", "Exception")


def tried_otherwise(site: Site, other: str) -> bool:
    """Whether a `try` around a place has another way in one of its handlers, with some text in it."""
    def has_it(item: cst.CSTNode) -> bool:
        return isinstance(item, cst.Try) and any(other in site.parsed.text(handler.body) for handler in item.handlers)

    return _guarded(site, has_it)


def _asks(item: cst.CSTNode) -> bool:
    # A method is parsed inside an `if 1:`, which is nobody's.
    return isinstance(item, cst.Try) or isinstance(item, cst.If) and not isinstance(item.test, cst.Integer)


def _guarded(site: Site, guards: Callable[[cst.CSTNode], bool] = _asks) -> bool:
    return any(guards(item) for item in site.parsed.around(site.node))
