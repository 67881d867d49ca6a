"""805: every process of a distributed run writes the same file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Dict, Event, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.processes import (
    INIT,
    RANK,
    by_rank,
    called_by_rank,
    on_one_machine,
    once_per_machine,
    one_of_several,
    starts,
    without_own_gpu,
)

CODE = 805
CALLS = frozenset({INIT})


def check(view: View) -> Iterator[Report]:
    """torch.save of a model's state after init_process_group or DistributedDataParallel, under no condition on the rank."""
    for event in view.of("save"):
        if len(event.args) < 2 or not _is_state(view, event.args[0]) or _own_file(event):
            continue
        start = one_of_several(view, event)
        if start is None or _asked_by_somebody(view):
            continue
        guard = once_per_machine(event)
        if guard is None and (by_rank(event, start) or without_own_gpu(event) or called_by_rank(view, event)):
            continue
        if on_one_machine(event.site, start.site, *event.calls):
            path = event.site.parsed.text(event.site.node.args[1].value)
            roles = {"path": f"`{path}`" if len(path) <= 40 else "the file", "who": "every process of the run"}
            related = [(start.site, "the run becomes one of several processes here")]
            if guard is not None:
                roles["who"] = "one process on each machine"
                related.append((guard, "the local rank is 0 once on each machine; the global rank is 0 once in the run"))
            call = _unasked_call(view, event, start)
            if call is not None:
                roles["path"] = "the same file"
                related.append((event.site, "it is written here, which another call comes to by the rank alone"))
            yield Report(CODE, call or event.site, roles, related)


def _unasked_call(view: View, event: Event, start: Event) -> Site | None:
    """The call by which a run comes to a helper of another file that writes, where another call of the same helper stands under a condition
    that speaks of the process: the helper leaves it to its callers to ask, and this one does not. Not a call in which the processes begin."""
    asked = [other for other in view.of("save") if other.site == event.site and by_rank(other, start)]
    ways = {call for other in (*asked, *starts(view)) for call in other.calls}
    call = next((call for call in event.calls if call not in ways), None) if asked else None
    return call if call is not None and call.parsed.facts is not event.site.parsed.facts else None


def _asked_by_somebody(view: View) -> bool:
    """Whether the run begins with a method that only saves: whoever calls it, in sight of nobody, may ask for the rank first."""
    root = view.run.root
    return root is not None and root.home is not None and bool(re.search(r"save|checkpoint|dump|export", root.name))


def _is_state(view: View, value: Value, depth: int = 0) -> bool:
    """Whether what is saved is a model, its state, or a dict with one of them in it."""
    for alt in real(value):
        if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
            return True
        if isinstance(alt, Opaque) and alt.tags & {"state_dict", "module"}:
            return True
        if isinstance(alt, Dict) and depth < 2 and any(_is_state(view, item, depth + 1) for item in view.run.known_items(alt)):
            return True
    return False


# Each process has its own of these.
_TEMPORARY = re.compile(r"\b(?:TemporaryFile|NamedTemporaryFile|SpooledTemporaryFile|TemporaryDirectory|mkstemp|mkdtemp|BytesIO)\b|tmp_path|tmpdir")


def _own_file(event: Event) -> bool:
    """Whether the name of the file may have the rank in it. What it is made of is seen in the source around it."""
    path = event.args[1]
    seen, todo = set(), [path]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if RANK.search(getattr(value, "name", "") or ""):
            return True
        todo.extend(value.parts)
    unit, facts = event.site.parsed.unit, event.site.parsed.facts
    lines = facts.lines[unit.start - 1 : unit.end]
    text = event.site.parsed.text(event.site.node.args[1].value)
    names, whole = _names(text), _dotted(text)
    if RANK.search(text) or any(_TEMPORARY.search(line) and names & set(_words(line)) for line in lines):
        return True
    return any(_sets(target, whole) and RANK.search(value) for target, value in _given(event))


def _given(event: Event) -> Iterator[tuple[str, str]]:
    """Targets in the function around the save, and what each of them is given."""
    unit = event.site.parsed.unit
    for node in ast.walk(tree_of(text_of(event.site.parsed))):
        value = getattr(node, "iter" if isinstance(node, ast.For) else "value", None)
        if isinstance(node, _BINDS) and value is not None and unit.start <= node.lineno <= unit.end:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield ast.unparse(target), ast.unparse(value)


_BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For)


def _sets(target: str, names: set[str]) -> bool:
    """Whether what is set is in an expression, or holds what is: `args` and `args.path` do for `args.path`, `args.rank` does not."""
    return not names.isdisjoint(one.strip() for one in re.split(r"[,()\[\]*]", target))


def _names(text: str) -> set[str]:
    """The names in an expression; what stands in its strings is none of them."""
    nodes = list(_nodes(text))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def _nodes(text: str) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(f"({text})", mode="eval"))


def _dotted(text: str) -> set[str]:
    """The names and attributes in an expression, each with what it is an attribute of."""
    return {ast.unparse(node) for node in _nodes(text) if isinstance(node, (ast.Name, ast.Attribute))}


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
