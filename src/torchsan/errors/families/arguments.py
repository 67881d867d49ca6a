"""Arguments of torch's own classes and functions: names that they do not know, what is missing, what is of another type."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.utils.data import DataLoader

from torchsan.errors.family import Family, Said, Seen, shape
from torchsan.errors.operands import Frame, expression, look_up
from torchsan.own import F, inspect, torch
from torchsan.program.source import tree_of
from torchsan.program.where import _USER

_PLACES: tuple[Any, ...] = (nn, torch.optim, torch.optim.lr_scheduler, torch.utils.data, torch.amp, F, torch)


def _owner(name: str) -> Any:
    """torch's class or function of this name."""
    return next((found for place in _PLACES if (found := getattr(place, name, None)) is not None), None)


def _names(thing: Any) -> list[str]:
    try:
        return [name for name in inspect.signature(thing).parameters if name not in ("self", "args", "kwargs")]
    except (TypeError, ValueError):
        return []


def _wrong(seen: Seen) -> Said | None:
    """Which arguments there are, and the nearest to the one that was given."""
    name = seen.match["call"]
    known = _names(_owner(name))
    if not known:
        return None
    short = ", ".join(known[:6]) + (", ..." if len(known) > 6 else "")
    given = seen.match.groupdict().get("given")
    fact = (f"{name} takes {short}",)
    aliases = {
        "learning_rate": "lr",
        "axis": "dim",
        "input_dim": "in_features",
        "output_dim": "out_features",
        "filters": "out_channels",
        "rate": "p",
        "units": "out_features",
        "hidden_dim": "hidden_size",
        "workers": "num_workers",
        "batch": "batch_size",
    }
    near = (
        [aliases[given]] if aliases.get(given or "") in known else difflib.get_close_matches(given or "", known, 1, 0.6)
    )
    return Said(fact, None, f"write `{near[0]}=` for `{given}=`" if near else "")


def _is_torchs(way: list[Frame]) -> bool:
    """Whether the class or function that the line calls is one of torch's."""
    at = next((one for one in reversed(way) if one.kind == _USER), None)
    node = expression(at) if at is not None else None
    called = look_up(at.frame, node.func) if at is not None and isinstance(node, ast.Call) else None
    if called is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        called = _attribute(at, node.func)
    return str(getattr(called, "__module__", "")).split(".")[0] == "torch"


def _attribute(at: Any, node: ast.Attribute) -> Any:
    owner = look_up(at.frame, node.value)
    if owner is None and isinstance(node.value, ast.Attribute):
        owner = _attribute(at, node.value)
    return vars(owner).get(node.attr) if type(owner).__name__ == "module" else None


def _type(seen: Seen) -> Said | None:
    wanted, given = seen.match["wanted"], seen.match["type"]
    mends = {
        "tuple of ints": "`(n,)` for one number, `//` where a size is computed",
        "int": "`int(x)`, or `//` where it is computed",
        "float": "`float(x)`",
        "bool": "True or False",
        "tuple of Tensors": "put them into a list: `[a, b]`",
        "Number": "a number: `x.item()`",
    }
    return Said((f"`{seen.match['arg']}` is of type {given}, {wanted} is wanted",), None, mends.get(wanted, ""))


def _unpacking(at: Frame) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What a frame's line unpacks, and out of what."""
    tree = tree_of(at.frame.f_code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if getattr(node, "lineno", 0) == at.line:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
                yield node.targets[0], node.value
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, (ast.Tuple, ast.List)):
                yield node.target, node.iter


def _of_torch(value: Any, node: ast.expr) -> bool:
    return isinstance(value, (torch.Tensor, DataLoader)) or (isinstance(node, ast.Attribute) and node.attr == "shape")


def _unpacks(way: list[Frame]) -> bool:
    at = way[-1] if way and way[-1].kind == _USER else None
    return at is not None and any(_of_torch(look_up(at.frame, node), node) for _, node in _unpacking(at))


def _unpacked(seen: Seen) -> Said | None:
    at = seen.way[-1]
    for target, node in _unpacking(at):
        value, text = look_up(at.frame, node), ast.unparse(node)
        count = len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 0
        if isinstance(value, torch.Tensor):
            return Said(
                (f"`{text}` is {shape(value)}: it unpacks along its first dimension",),
                None,
                f"`{text}.unbind(1)` for its columns, `{text}.chunk({count}, 1)` for parts",
            )
        if isinstance(value, DataLoader):
            return Said(
                (f"a batch of `{text}` does not have {count} parts",),
                None,
                f"take as many as `__getitem__` gives; print `next(iter({text}))`",
            )
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            held = look_up(at.frame, node.value)
            sizes = (
                f"`{text}` is {shape(held)}"
                if isinstance(held, torch.Tensor)
                else f"`{text}` has another number of sizes"
            )
            return Said(
                (sizes,),
                None,
                "name as many sizes as there are dimensions; a batch or channel dimension may be missing: "
                "`x.unsqueeze(0)`",
            )
    return None


def _settings(seen: Seen) -> Said | None:
    """The arguments of the constructor that refused one, as far as they are plain."""
    held = next((one.frame.f_locals for one in reversed(seen.way) if one.frame.f_code.co_name == "__init__"), {})
    plain = [
        f"{name} {value}"
        for name, value in held.items()
        if isinstance(value, (bool, int, float, str)) and len(str(value)) < 20
    ]
    return Said((f"it was given {', '.join(plain[:8])}",), beside=True) if plain else None


FAMILIES = (
    Family("unknown-argument", r"(?P<call>\w+)(\.__init__)?\(\) got an unexpected keyword argument '(?P<given>\w+)'",
           "{call} has no argument of that name", "look at what it takes", look=_wrong, kinds=(TypeError,),
           fits=_is_torchs),
    Family("missing-argument", r"(?P<call>\w+)(\.__init__)?\(\) missing \d+ required positional arguments?: "
           r"(?P<names>.*)", "{call} is called without what it needs", "give it: {names}", look=_wrong,
           kinds=(TypeError,), fits=_is_torchs),
    Family("too-many-arguments", r"(?P<call>\w+)(\.__init__)?\(\) takes (from )?[\d to]+ positional arguments? but "
           r"\d+ were given", "{call} is given too many arguments", "several layers go in as one list: `[a, b]`; "
           "settings by their name", look=_wrong, kinds=(TypeError,), fits=_is_torchs),
    Family("argument-type", r"(?P<call>\w+)\(\): argument '(?P<arg>\w+)' (\(position \d+\) )?must be (?P<wanted>[\w. "
           r"]+?),? (not|but got) (?P<type>[\w.]+)", "an argument of {call} is of another type",
           "give it what it takes", look=_type, kinds=(TypeError,)),
    Family("unpacked", r"(not enough|too many) values to unpack \(expected (?P<n>\d+)", "something of torch's is "
           "unpacked into another number of names", "as many names as parts", look=_unpacked, kinds=(ValueError,),
           fits=_unpacks),

    Family("setting", r"(?P<said>.*\b(must be|should be|has to be|[Ee]xpected|cannot be|only supports?|[Uu]nknown|not "
           r"supported)\b.*)", "a layer, optimizer or schedule is made with a setting that it does not take",
           "bring it into the range that torch names; look at what it is computed from", look=_settings,
           kinds=(ValueError, TypeError, AssertionError),
           inside=r"torch/(nn/modules|optim|utils/data)/\w+\.py:__init__$"),
)
