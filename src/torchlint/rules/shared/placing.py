"""Where else a tensor may have been put: by the model that it is given to, or by a method that moves its object."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Instance, Opaque, Tensor, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.mends.rows import call_at
from torchlint.sieve.facts import units_of


def places_itself(module: Value, index: int) -> bool:
    """Whether a model of the project puts its argument number `index` on a device in its own forward, or has a use for
    it that wants the CPU: lengths of packed sequences."""
    return _places(module, index)


def names_its_place(module: Value, name: str) -> bool:
    """The same of an argument that is passed by name."""
    return _places(module, name)


def _places(module: Value, argument: int | str) -> bool:
    if not isinstance(module, Instance) or not isinstance(module.cls, Class):
        return False
    found = module.cls.method("forward")
    if found is None:
        return False
    cls, unit = found
    text = textwrap.dedent("".join(cls.facts.lines[unit.start - 1 : unit.end]))
    try:
        forward = ast.parse(text).body[0]
        names = [arg.arg for arg in forward.args.args][1:]
    except (SyntaxError, AttributeError, IndexError):
        return False
    if isinstance(argument, int):
        if argument >= len(names):
            return False
        argument = names[argument]
    lengths = rf"pack_padded_sequence\([^()]*,\s*{re.escape(argument)}\b"
    return any(moves(node, argument) for node in ast.walk(forward)) or bool(re.search(lengths, text))


def moves(node: ast.AST, name: str) -> bool:
    """`x.to(device)`, and `x.reshape(-1, x.size(-1))[0].float().cuda()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ("to", "cuda", "cpu"):
        return False
    moved: ast.AST = node.func.value
    while isinstance(moved, (ast.Call, ast.Attribute, ast.Subscript)):
        moved = moved.func if isinstance(moved, ast.Call) else moved.value
    return isinstance(moved, ast.Name) and moved.id == name


def same_device(one: Any, other: Any) -> bool:
    """Whether two devices, as the dry run knows them, are one for certain: new tensors are on the CPU unless it is told
    otherwise."""
    names = [device if device != "default" else "cpu" for device in (one, other)]
    return one is other or isinstance(one, str) and names[0] == names[1]


def moved_elsewhere(tensor: Tensor) -> bool:
    """Whether a tensor was made for an attribute that another method of the file puts on a device."""
    site = tensor.sites.get("made")
    if site is None:
        return False
    lines = site.parsed.facts.lines
    row = site.location().row
    target = re.match(r"\s*self\.(\w+)\s*=", lines[row - 1]) if row <= len(lines) else None
    if target is None:
        return False
    moved = re.compile(rf"self\.{target[1]}\s*=\s*self\.{target[1]}\.(?:to|cuda)\(")
    return any(
        unit is not site.parsed.unit and target[1] in unit.sets
        and any(moved.search(line) for line in lines[unit.start - 1 : unit.end])
        for unit in units_of(site.parsed.facts)
    )


def moved_on_a_path(tensor: Tensor) -> bool:
    """Whether the function that makes a tensor moves it on some path, itself or by a helper of the file: `if use_gpu:`
    may be folded, and yet be the same question that the model is moved by."""
    site = tensor.sites.get("made")
    if site is None:
        return False
    facts, unit = site.parsed.facts, site.parsed.unit
    text = without_comments(facts.lines[unit.start - 1 : unit.end])
    row = site.location().row
    target = re.match(r"\s*(\w+)\s*=[^=]", facts.lines[row - 1]) if row <= len(facts.lines) else None
    given = [rf"\b{target[1]}\b"] if target is not None else []
    if target is not None and re.search(rf"\b{target[1]}\s*=\s*{target[1]}\.(?:to|cuda)\(", text):
        return True
    calls = re.compile(rf"\b(\w+)\(\s*(?:{'|'.join([*given, re.escape(site.text())])})")
    helpers = set(calls.findall(text))
    return any(
        item.name in helpers and _MOVES_IT.search(without_comments(facts.lines[item.start - 1 : item.end]))
        for item in units_of(facts)
    )


_MOVES_IT = re.compile(r"\.(?:to|cuda)\(")


def graph_data(value: Value, site: Site) -> str:
    """What the program calls the graph that an argument of the call at `site` is read from, if it comes straight out of a
    dataset of PyTorch Geometric, whichever of several, which is on the CPU; "" if not. `Data.to` moves in place: nothing in the file
    may do that."""
    names = [_graph_of(alt, site) for alt in real(value)]
    return names[0] if len(set(names)) == 1 else ""


def _graph_of(value: Value, site: Site) -> str:
    reads = 0
    while isinstance(value, Opaque) and value.source in ("item", "attr") and value.origin is not None:
        value, reads = value.origin, reads + 1
    made_by = value.name if isinstance(value, Opaque) and value.source == "call" else ""
    if reads < 2 or not made_by.startswith("torch_geometric.datasets."):
        return ""
    call = call_at(site)
    given = [*call.args, *(keyword.value for keyword in call.keywords)] if call is not None else []
    names = [node.id for part in given for node in ast.walk(part) if isinstance(node, ast.Name)]
    if not names:
        return ""
    words = "|".join(map(re.escape, [*names, "data", "dataset", "graph"]))
    moves = re.compile(rf"\b(?:{words})(?:\[[^\]]*\]|\.\w+)*\.(?:to|cuda)\(|ToDevice|set_default_device")
    if value.site is None or any(moves.search(line) for line in site.parsed.facts.lines):
        return ""
    end = value.site.location()
    behind = value.site.parsed.facts.lines[end.end_row - 1][end.end_column - 1 :]
    return "" if behind.lstrip().startswith(".") else names[0]
