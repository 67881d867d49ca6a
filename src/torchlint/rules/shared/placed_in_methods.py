"""What a model's forward hands to methods alone that put it on a device: its own methods, and those of its parts.

    def forward(self, words):
        return self.vectors.look_up(words)     # which begins with `words = LongTensor(words).cuda()`
"""

from __future__ import annotations

import ast

from torchlint.dryrun.values import Value
from torchlint.rules.base import View
from torchlint.rules.shared.met_by_nothing import in_numbers, method_of, reads
from torchlint.rules.shared.placing import moves


def placed_in_methods(view: View, module: Value, index: int) -> bool:
    """Whether all that the forward of a model of the project does with its argument number `index` is to hand it to such methods, or
    to ask it for sizes and numbers."""
    forward = method_of(module, "forward")
    names = _parameters(forward) if forward is not None else []
    if index >= len(names):
        return False
    found = [list(way) for way in reads(forward, names[index])]
    handed = [way for way in found if not in_numbers(list(way))]
    return bool(handed) and all(_is_placed(view, module, way) for way in handed)


def _is_placed(view: View, module: Value, way: list[ast.AST]) -> bool:
    """Whether what is read is an argument of a call of such a method: `self.embed(x)`, `self.vectors.look_up(x)`."""
    name, call = way[-1], way[-2] if len(way) > 1 else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or name not in call.args:
        return False
    owner, place = call.func.value, call.args.index(name)
    if any(isinstance(arg, ast.Starred) for arg in call.args[:place]):
        return False
    of_part = isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self"
    if not of_part and not (isinstance(owner, ast.Name) and owner.id == "self"):
        return False
    owners = view.run.children.get(id(module), ()) if of_part else (module,)
    methods = [method for one in owners if (method := method_of(one, call.func.attr)) is not None]
    return bool(methods) and all(_places(method, place) for method in methods)


def _places(method: ast.FunctionDef, place: int) -> bool:
    """Whether a method puts its argument at a place on a device, or the tensor that it makes of it: `v = LongTensor(data)`, `v.cuda()`."""
    names = _parameters(method)
    if place >= len(names):
        return False
    made = {names[place], *(node.targets[0].id for node in ast.walk(method) if _is_made_of(node, names[place]))}
    return any(moves(node, name) for node in ast.walk(method) for name in made)


def _is_made_of(node: ast.AST, name: str) -> bool:
    """`v = LongTensor(data)`: what is called is no layer, which would want it on its own device."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    call = node.value
    given = isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id == name
    return given and not ast.unparse(call.func).startswith("self")


def _parameters(method: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*method.args.posonlyargs, *method.args.args)][1:]
