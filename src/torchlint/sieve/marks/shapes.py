"""Marks for the shape of a single statement or expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.catalogue.apis import NUMBER_AMONG, everywhere, is_nowhere
from torchlint.catalogue.apis import words as last_words
from torchlint.catalogue.effects import ANSWERS, ARRAYS, INPLACE, PURE_FUNCTIONS, PURE_IF_TENSOR, PURE_TENSOR_ONLY, READS, SIZED, WAYS_OUT
from torchlint.sieve.marks.quotients import divides
from torchlint.sieve.nodes import last_name, of_self

_CONTEXTS = frozenset({"no_grad", "inference_mode", "enable_grad", "autocast"})
_PURE = PURE_TENSOR_ONLY | PURE_IF_TENSOR
_GROWING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_COPIED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.IfExp)
_SIZE_WORDS = frozenset({"in_features", "in_channels", "input_size", "num_features", "embed_dim", "normalized_shape", "num_channels"})
_SUMS = last_words(NUMBER_AMONG)
# What torch's modules are called.
_CALLED = {
    "torch": "torch", "th": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "functional": "torch.nn.functional", "init": "torch.nn.init",
}
_OTHERS = frozenset({"np", "numpy", "plt", "pd", "tf", "jnp"})  # nobody calls torch so


def _mark_import(node, words: set[str]) -> None:
    for alias in node.names:
        words.add(alias.name)
        if alias.name[:6] == "torch." or alias.name[:10] == "torchtext.":
            words.update(_with_what_it_is_in(alias.name))
    module = getattr(node, "module", None) or ""
    if module[:5] == "torch":
        words.update(f"!from {name}" for name in _with_what_it_is_in(module))
    elif module == "transformers":
        words.add("!from_transformers")
    if any(name.partition(".")[0] == "torchvision" for name in (module, *(alias.name for alias in node.names))):
        words.add("torchvision")


def _with_what_it_is_in(module: str) -> Iterator[str]:
    while "." in module:
        yield module
        module = module.rpartition(".")[0]


def _mark_expr(node: ast.Expr, words: set[str]) -> None:
    value = node.value
    if type(value) is ast.Attribute:
        words.add("!bare")
    elif type(value) is ast.Call:
        name = last_name(value.func)
        if name in _CONTEXTS:
            words.add("!dropped")
        elif type(value.func) is ast.Attribute and (name in _PURE or name in PURE_FUNCTIONS and _is_torch(value.func.value)):
            words.add("!discarded")
        elif name == "load_state_dict" and any(type(item) is ast.Constant and item.value is False for item in _given(value)):
            words.add("!loose")


def _is_torch(owner: ast.expr) -> bool:
    return type(owner) is ast.Name and owner.id == "torch"


def _given(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by place or by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _mark_with(node: ast.With, words: set[str]) -> None:
    if any(type(item.context_expr) in (ast.Attribute, ast.Name) for item in node.items):
        words.add("!bare")


def _mark_asked(node: ast.If | ast.IfExp | ast.While | ast.UnaryOp | ast.BoolOp, words: set[str]) -> None:
    asked = node.values if type(node) is ast.BoolOp else [node.operand if type(node) is ast.UnaryOp else node.test]
    for value in asked:
        if type(value) is ast.Attribute and value.attr in ANSWERS:
            words.add("!asked")


def _mark_product(node: ast.BinOp, words: set[str]) -> None:
    if type(node.op) is ast.Mult and type(node.left) is ast.List:
        words.add("!repeat")


def _mark_list(node: ast.ListComp, words: set[str]) -> None:
    if type(node.elt) is ast.Name:
        words.add("!repeat")


def _mark_augmented(node: ast.AugAssign, words: set[str]) -> None:
    if type(node.value) is ast.Constant and type(node.value.value) is int:
        return  # counts
    target = node.target.value if type(node.target) is ast.Subscript else node.target
    _written(target, words)
    if of_self(target):
        words.add(f"!grows {target.attr}")


def _written(target: ast.expr, words: set[str]) -> None:
    """Marks what something is written to in place: a name, an attribute, what a call gave."""
    words.add("!inplace")
    while type(target) is ast.Subscript:
        target = target.value
    if type(target) is ast.Name:
        words.add(f"!into {target.id}")
    elif type(target) is ast.Call:
        words.add(f"!onto {last_name(target.func)}")
    elif type(target) is not ast.Attribute or target.attr not in ("data", "grad"):
        words.add("!leafwrite")


def _mark_formatted(node: ast.FormattedValue, words: set[str]) -> None:
    if type(node.value) is ast.Attribute and node.value.attr in READS:
        words.add("!bare")


def _mark_dict(node: ast.Dict, words: set[str]) -> None:
    if any(type(value) is ast.Attribute and value.attr in READS for value in node.values):
        words.add("!bare")


def _mark_call(node: ast.Call, words: set[str]) -> None:
    if any(type(given) is ast.Attribute and given.attr in READS for given in _given(node)):
        words.add("!bare")
    if type(node.func) is ast.Attribute:
        name, owner = node.func.attr, node.func.value
        if name in INPLACE:
            _written(owner, words)
        elif name == "Tensor":
            words.add(name)
        elif name in _GROWING and of_self(owner):
            words.add(f"!grows {owner.attr}")
    elif type(node.func) is ast.Name:
        if node.func.id == "setattr":
            words.add("!setattr")
        elif node.func.id == "Tensor":
            words.add("Tensor")
    if last_name(node.func) == "tensor" and node.args and type(node.args[0]) in _COPIED:
        words.add("!copied")
    if type(node.func) is ast.Attribute and getattr(node.func.value, "id", "") in ("torch", "th"):
        if node.func.attr == "range":
            words.add("!range")
        elif len(node.args) > 2 and node.func.attr in _SUMS:
            words.add("!sum")
    if type(node.func) is ast.Attribute and (module := _CALLED.get(last_name(node.func.value))) and is_nowhere(module, node.func.attr):
        words.add("!nowhere")
    if written_size(node):
        words.add("!sized")
    for argument in node.args[:2]:
        if type(argument) is ast.Constant and type(argument.value) is str and "->" in argument.value:
            words.add("!pattern")
    if type(node.func) is ast.Attribute and node.func.attr == "mean":
        words.add("!sequence")
    if node.keywords:
        given = [keyword.arg for keyword in node.keywords]
        if "requires_grad" in given:
            words.add("!leaf")
        if _unknown_keyword(node.func, given):
            words.add("!keyword")
        if "size_average" in given or "reduce" in given:
            words.add("!reduced")
        if "pretrained" in given or "pretrained_backbone" in given:
            words.add("!pretrained")
        if "volatile" in given:
            words.add("!volatile")
        if any(word.arg == "reduction" and getattr(word.value, "value", "") == "elementwise_mean" for word in node.keywords):
            words.add("!reduced")


def _unknown_keyword(func: ast.expr, given: list[str | None]) -> bool:
    """Whether something of torch that is called so does not take one of the keywords."""
    name = last_name(func)
    takes = everywhere().get(name)
    if takes is None or getattr(getattr(func, "value", None), "id", "") in _OTHERS:
        return False
    return any(word is not None and word not in takes for word in given)


def written_size(node: ast.Call) -> bool:
    """Whether a layer is made for an input of a size that is written there: a number, arithmetic, or a CONSTANT."""
    if last_name(node.func) not in SIZED:
        return False
    given = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg in _SIZE_WORDS), None)
    return type(given) in (ast.Constant, ast.BinOp, ast.Tuple, ast.List) or type(given) is ast.Name and given.id.isupper()


def _mark_compare(node: ast.Compare, words: set[str]) -> None:
    for side in (node.left, *node.comparators):
        if getattr(side, "attr", getattr(side, "id", "")) in ("nan", "NaN", "NAN"):
            words.add("!nan")
        elif type(side) is ast.Call and getattr(side.func, "id", "") == "float" and side.args and type(side.args[0]) is ast.Constant:
            words.add("!nan")


_TOTALS = re.compile(r"loss(?!es)|total|correct|(?:^|_)(?:err|acc)", re.IGNORECASE)


def _is_read_out(node: ast.expr) -> bool:
    """Whether it may be a number as it was read out of a tensor, or a sum of such: `x.data`, `x.data.cpu()`, `x.numpy()`, `total`."""
    if type(node) is ast.Call and type(node.func) is ast.Attribute and node.func.attr in WAYS_OUT:
        return node.func.attr in ARRAYS or _is_read_out(node.func.value)
    return getattr(node, "attr", "") == "data" or type(node) is ast.Name and _TOTALS.search(node.id) is not None


def _mark_subscript(node: ast.Subscript, words: set[str]) -> None:
    if type(node.slice) is ast.Constant and node.slice.value == 0 and _is_read_out(node.value):
        words.add("!first")
    if divides(node):
        words.add("!quotient")
    if type(node.slice) is ast.Tuple and [type(key) for key in node.slice.elts[:2]] == [ast.Slice, ast.UnaryOp]:
        words.add("!sequence")  # x[:, -1]
    if type(node.ctx) is ast.Store:
        if not (type(node.slice) is ast.Constant and type(node.slice.value) is str):
            _written(node.value, words)
        if of_self(node.value):
            words.add(f"!grows {node.value.attr}")


MARKERS = {
    ast.Import: _mark_import,
    ast.ImportFrom: _mark_import,
    ast.Expr: _mark_expr,
    ast.BinOp: _mark_product,
    ast.ListComp: _mark_list,
    ast.With: _mark_with,
    ast.If: _mark_asked,
    ast.IfExp: _mark_asked,
    ast.While: _mark_asked,
    ast.UnaryOp: _mark_asked,
    ast.BoolOp: _mark_asked,
    ast.AugAssign: _mark_augmented,
    ast.Call: _mark_call,
    ast.FormattedValue: _mark_formatted,
    ast.Dict: _mark_dict,
    ast.Compare: _mark_compare,
    ast.Subscript: _mark_subscript,
}
