"""States that a class keeps of its model, not copied, for a method of its own that loads them back when another one has trained it: a
search for a rate that puts the model back to where it was."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Opaque, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of


def kept_to_go_back(view: View) -> Iterator[tuple[Event, Opaque, str]]:
    """Each assignment of a state to an attribute, the state, and the method that loads it back."""
    for event in view.of("assign"):
        target = event.target
        if event.loops or not isinstance(target, cst.Attribute) or event.site.parsed.text(target.value) != "self":
            continue
        states = [alt for alt in real(event.subject) if isinstance(alt, Opaque) and "state_dict" in alt.tags and alt.origin is not None]
        if len(states) != 1 or len(real(event.subject)) != 1:
            continue
        method = _loads_back(event.site, target.attr.value)
        if method is not None:
            yield event, states[0], method


def _loads_back(kept: Site, name: str) -> str | None:
    row = kept.location().row
    return kept.parsed.facts.once(("kept to go back", row, name), lambda: _method_of(kept, row, name))


def _method_of(kept: Site, row: int, name: str) -> str | None:
    """The method that loads it back into the model that it was taken of, where another one trains that, and nothing else is done with
    what is kept, and the model is not moved: what was taken of it before that stays where it was."""
    holder = next((node for node in ast.walk(tree_of(text_of(kept.parsed))) if isinstance(node, ast.ClassDef) and node.lineno < row <= (node.end_lineno or 0)), None)
    methods = [node for node in holder.body if isinstance(node, ast.FunctionDef)] if holder is not None else []
    first = next((node for node in methods if node.lineno <= row <= (node.end_lineno or 0)), None)
    taken = next((node for node in ast.walk(first) if isinstance(node, ast.Assign) and node.lineno == row), None) if first is not None else None
    if taken is None or not isinstance(taken.value, ast.Call) or not isinstance(taken.value.func, ast.Attribute) or taken.value.func.attr != "state_dict":
        return None
    owner = ast.unparse(taken.value.func.value)
    models = {owner} if owner.startswith("self.") else {text for text, given in _sets(first) if given == owner}
    texts = {node.name: ast.unparse(node) for node in methods}
    whole = "\n".join(texts.values())
    since = "\n".join([*(texts[node.name] for node in methods if node is not first), *(ast.unparse(node) for node in first.body if node.lineno > row)])
    for model in models:
        used = re.findall(rf"(?<![\w.])self\.{re.escape(name)}\b", whole)
        back = re.compile(rf"(?<![\w.]){re.escape(model)}\.load_state_dict\(self\.{re.escape(name)}\)")
        moved = rf"(?<![\w.]){re.escape(model)}(?:\.(?:module\.)?(?:to|cuda|half|float|double|cpu|bfloat16)\(| =(?! {re.escape(owner)}$))"
        if len(used) != 2 or re.search(moved, since, re.MULTILINE):
            continue
        loading = next((method for method in texts if back.search(texts[method]) and method != first.name), None)
        if loading is not None and any(_trains(text, model) for method, text in texts.items() if method not in (first.name, loading)):
            return loading
    return None


def _sets(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """The attributes that a method sets, and what to."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = zip(target.elts, value.elts, strict=False) if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [(target, value)]
        yield from ((ast.unparse(one), ast.unparse(given)) for one, given in pairs if ast.unparse(one).startswith("self."))


def _trains(text: str, model: str) -> bool:
    """Whether a method runs a model, goes back through it, and steps an optimizer of the object."""
    run = re.search(rf"(?<![\w.]){re.escape(model)}\(", text)
    return run is not None and ".backward(" in text and re.search(r"(?<![\w.])self\.\w*opt\w*\.step\(", text) is not None
