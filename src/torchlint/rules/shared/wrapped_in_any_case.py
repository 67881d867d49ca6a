"""A model that an option leaves on the CPU, in a DataParallel that asks only how many GPUs the machine has.

`--no-cuda` on a machine with several of them: `model.to(device)` leaves the weights where they are, and the wrapper, which spreads its work
over all GPUs, asks that they be on the first of these. The model may be one that is not in view: what stands in the wrapper's file counts.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.asked_for_gpu import option_of_choice, option_of_conditions
from torchlint.rules.shared.blocks import conditions_at, conditions_of, exclude_each_other

_WRAPPER = "torch.nn.parallel.DataParallel"
_COUNT = r"torch\.cuda\.device_count\(\)?"  # the bracket at a condition's end may be cut off
_COUNTED = re.compile(rf"(?P<counted>{_COUNT}|[\w.]+)\s*(?:>\s*[01]|>=\s*[12]|!=\s*[01])")
_THERE = re.compile(r"torch\.cuda\.is_available\(\)?")
_A_GPU = re.compile(r"[\"']cuda")
_ALL_OF_THEM = re.compile(rf"(?:list\()?range\({_COUNT}\)+")
# What may ask for GPUs, be it by another option, or by how many processes there are.
_MAY_ASK = re.compile(r"cuda|gpu|cpu|device|parallel|multi|nodes|is_available", re.IGNORECASE)
_HIDES_GPUS = re.compile(r"CUDA_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|set_default_device|set_default_tensor_type")
_WORD = re.compile(r"\w+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def wrapped_in_any_case(view: View) -> Iterator[tuple[Event, str]]:
    """Each such wrap with the case in which it fails, in words."""
    told: set[Site] = set()
    for event in view.of("wrap"):
        if isinstance(event.subject, Instance) and event.subject.type == _WRAPPER and _over_all(event):
            asked = _stays(view, event)
            if asked is not None and event.site not in told and not _asks(event, asked) and not _hidden(view, event):
                told.add(event.site)
                yield event, asked


def _over_all(event: Event) -> bool:
    """Whether a wrapper goes over several GPUs wherever there are several: where it is told to, or is come to only then."""
    given = event.subject.kwargs
    ids = event.site.node.args if isinstance(event.site.node, cst.Call) else None
    if ids is None or len(ids) > 2 or given.keys() - {"device_ids", "module"}:
        return False
    return len(ids) < 2 or _ALL_OF_THEM.fullmatch(event.site.parsed.text(ids[1].value)) is not None


def _stays(view: View, event: Event) -> str | None:
    """The case in which what is wrapped, or the wrapper, is left on the CPU: by the device, or the condition, of all that moves it in the
    function of the wrap."""
    try:
        tree = tree_of(text_of(event.site.parsed))
    except (SyntaxError, ValueError, RecursionError):
        return None
    body = _around(tree, event.site.location().row)
    names = _names_of(body, event)
    moves = [call for call in _own(body) if _moves(call, names, body, event)]
    cases = {_case(view, event, call) for call in moves}
    return cases.pop() if len(cases) == 1 and not _moved_elsewhere(tree, names, moves) else None


def _moved_elsewhere(tree: ast.Module, names: set[str], moves: list[ast.Call]) -> bool:
    """Whether another function brings to the GPU, whatever is asked for, what may be the same model by its name."""
    lasts = {name.rpartition(".")[2] for name in names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node not in moves]
    return any(
        (call.func.attr == "cuda" or call.func.attr == "to" and any(map(_A_GPU.search, map(ast.unparse, call.args))))
        and ast.unparse(call.func.value).rpartition(".")[2] in lasts
        for call in calls
    )


def _around(tree: ast.Module, row: int) -> ast.AST:
    """The innermost function around a row, or the whole file."""
    around = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and node.lineno <= row <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno, default=tree)


def _own(body: ast.AST) -> Iterator[ast.AST]:
    todo = list(ast.iter_child_nodes(body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def _names_of(body: ast.AST, event: Event) -> set[str]:
    """What the program calls the model and its wrapper."""
    row, names = event.site.location().row, set()
    wrapped = event.site.node.args[0].value
    if isinstance(wrapped, cst.Name | cst.Attribute):
        names.add(event.site.parsed.text(wrapped))
    for node in _own(body):
        if isinstance(node, ast.Assign) and node.lineno <= row <= (node.end_lineno or 0):
            names.update(map(ast.unparse, node.targets))
    return names


def _moves(node: ast.AST, names: set[str], body: ast.AST, event: Event) -> bool:
    """Whether a call moves the model: by one of its names, or where it is made or wrapped, `Net().to(device)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ("to", "cuda"):
        return False
    owner = node.func.value
    if not isinstance(owner, ast.Call):
        return ast.unparse(owner) in names
    assigned = (each for each in _own(body) if isinstance(each, ast.Assign) and each.value is node)
    return owner.lineno == event.site.location().row or any(names & set(map(ast.unparse, each.targets)) for each in assigned)


def _case(view: View, event: Event, move: ast.Call) -> str | None:
    """The option that leaves a model on the CPU, by the one thing that moves it."""
    lines = event.site.parsed.facts.lines
    asked = conditions_at(lines, move.lineno)
    if move.func.attr == "cuda":
        return option_of_conditions(view, event.site, asked)
    if move.func.attr != "to" or len(move.args) != 1 or move.keywords or any(_MAY_ASK.search(text) for text, _ in asked):
        return None
    return _chosen(view, event, ast.unparse(move.args[0]))


def _chosen(view: View, event: Event, device: str) -> str | None:
    """The option that chooses a device, by the one choice that its file has of it; what else makes it stands on another way."""
    lines, text = event.site.parsed.facts.lines, text_of(event.site.parsed)
    made = [
        node for node in ast.walk(tree_of(text))
        if isinstance(node, ast.Assign) and device in map(ast.unparse, node.targets)
    ]
    choices = [node for node in made if _choice_in(node.value) is not None]
    if len(choices) != 1 or any(node is not choices[0] and not exclude_each_other(lines, choices[0].lineno, node.lineno) for node in made):
        return None
    choice = _choice_in(choices[0].value)
    # As it is written: `ast.unparse` puts brackets around a `not`.
    written = (ast.get_source_segment(text, part) or "" for part in (choice.test, _named(choice.body), _named(choice.orelse)))
    return option_of_choice(view, event.site, *(" ".join(part.split()) for part in written))


def _choice_in(value: ast.expr) -> ast.IfExp | None:
    """`torch.device("cuda" if asked else "cpu")`, or the other way round, `torch.device("cuda") if asked else torch.device("cpu")`."""
    value = _named(value)
    return value if isinstance(value, ast.IfExp) else None


def _named(device: ast.expr) -> ast.expr:
    of_torch = isinstance(device, ast.Call) and ast.unparse(device.func) == "torch.device" and len(device.args) == 1 and not device.keywords
    return device.args[0] if of_torch else device


def _hidden(view: View, event: Event) -> bool:
    """Whether the program, or a file that it imports, says which GPUs there are, or where its models are made."""
    facts = event.site.parsed.facts
    run = {id(other.site.parsed.facts): other.site.parsed.facts for other in view.run.graph.events if other.site is not None}
    if any(_HIDES_GPUS.search(line.split("#", 1)[0]) for file in (facts, *run.values()) for line in file.lines):
        return True
    imported = set(_WORD.findall("".join(line for line in facts.lines if "import" in line)))
    project = view.run.world.project_of(facts.path)
    others = project.files.items() if project is not None else ()
    return any(_HIDES_GPUS.search(file.code) for path, file in others if os.path.splitext(os.path.basename(path))[0] in imported)


def _asks(event: Event, asked: str) -> bool:
    """Whether the wrap, or a call that leads to it, stands under more than a count of GPUs that is taken from the machine alone."""
    name = asked.split("`")[1].split(" ")[0].rpartition(".")[2]
    for site in (event.site, *event.calls):
        for text, holds in conditions_of(site) if site is not None else ():
            for part in text.split(" and "):
                found = _COUNTED.fullmatch(part.strip()) if holds else None
                asks = _MAY_ASK.search(part) or re.search(rf"\b{name}\b", part)
                if found is not None and not _of_the_machine(site, found["counted"]) or found is None and asks and not _THERE.fullmatch(part.strip()):
                    return True
    return False


def _of_the_machine(site: Site, counted: str) -> bool:
    """Whether a count is the machine's wherever its file makes it, or a number that is written there."""
    if re.fullmatch(_COUNT, counted):
        return True
    made = [
        ast.unparse(node.value) for node in ast.walk(tree_of(text_of(site.parsed)))
        if isinstance(node, ast.Assign) and counted in map(ast.unparse, node.targets)
    ]
    return any(re.fullmatch(_COUNT, text) for text in made) and all(re.fullmatch(rf"{_COUNT}|[01]", text) for text in made)
