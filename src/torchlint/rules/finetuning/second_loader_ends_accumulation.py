"""011: another loader that Accelerate has prepared is begun, and not gone through, in the midst of an accumulation."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.hosted import is_accelerator
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import Report, View, once

CODE = 11
_AROUND = frozenset({"enumerate", "tqdm", "iter"})


def check(view: View) -> Iterator[Report]:
    """`for batch in loader: with accelerator.accumulate(model): ...; sample = next(iter(other))`."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    prepared: dict[str, Event] = {}
    for event in view.of("prepare"):
        if is_accelerator(event.subject):
            prepared.update(dict.fromkeys((event.site.parsed.text(arg.value) for arg in getattr(event.site.node, "args", ())), event))
    for event in view.of("backward") if prepared else ():
        if event.get("framework") is None or not event.loops or not any(context.kind == "accumulate" for context in event.get("contexts", ())):
            continue
        loop = event.loops[-1]
        node = _for(loop)
        own = _over(loop.site.parsed, node.iter) if node is not None and loop.site is not None else ""
        if node is None or loop.site is None or own not in prepared:
            continue
        for place, other, how in _begun(loop.site.parsed, node, prepared, own):
            roles = {"other": other, "own": own, "how": how}
            yield Report(CODE, Site(loop.site.parsed, place), roles, [(prepared[other].site, "both loaders are prepared here"), (event.site, "this accumulates")])


def _for(loop: Loop) -> cst.For | None:
    if loop.site is None:
        return None
    return next((item for item in (loop.site.node, *loop.site.parsed.around(loop.site.node)) if isinstance(item, cst.For)), None)


def _over(parsed: Parsed, node: cst.BaseExpression) -> str:
    """What a loop goes through, as it is written."""
    while isinstance(node, cst.Call) and node.args and parsed.text(node.func).rsplit(".", 1)[-1] in _AROUND:
        node = node.args[0].value
    return parsed.text(node)


def _begun(parsed: Parsed, loop: cst.For, prepared: dict[str, Event], own: str) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Where another prepared loader is begun in a loop's body, and left before its end."""
    todo: list[cst.CSTNode] = [loop.body]
    while todo:
        node = todo.pop(0)
        if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            continue
        if isinstance(node, cst.Call) and parsed.text(node.func) == "next" and node.args:
            given = parsed.text(node.args[0].value)
            inside = re.fullmatch(r"iter\((.+)\)", given)
            if inside is not None and inside[1] in prepared and inside[1] != own:
                yield node, inside[1], "takes one batch"
        if isinstance(node, cst.For):
            other = _over(parsed, node.iter)
            if other in prepared and other != own and _breaks(node.body):
                yield node.iter, other, "may break off"
        todo.extend(node.children)


def _breaks(node: cst.CSTNode) -> bool:
    """Whether a loop's own body breaks it off."""
    if isinstance(node, cst.Break):
        return True
    return not isinstance(node, (cst.For, cst.While, cst.FunctionDef, cst.Lambda, cst.ClassDef)) and any(map(_breaks, node.children))
