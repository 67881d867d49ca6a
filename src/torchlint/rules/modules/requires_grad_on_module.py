"""522: `requires_grad` is set on a module, where nothing reads it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Opaque, Value
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.sieve.facts import ClassFacts, FileFacts

CODE = 522


def check(view: View) -> Iterator[Report]:
    """`layer.requires_grad = False`."""
    others = {event.site for event in view.of("flag.set") if not _certain(event)}
    for event in view.of("flag.set"):
        if event.name == "requires_grad" and event.site not in others and not _read(event) and not _asked(event):
            wanted = event.site.parsed.text(event.site.node).rpartition("=")[2].strip()
            name = owner_text(event)
            if name != "self" and not (isinstance(event.subject, Opaque) and _some_class_has_its_own(event.site.parsed.facts)):
                roles = {"module": name, "wanted": wanted if len(wanted) < 30 else "..."}
                yield Report(CODE, event.site, roles, mend=_mend(event))


def _mend(event: Event) -> Mend | None:
    """Calls the method that the attribute was taken for. Safe where the module is known, and nothing reads the attribute."""
    site = event.site
    node = site.node
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0].target
    if not isinstance(target, cst.Attribute):
        return None
    return Mend("call `requires_grad_`", [replace(site, f"{code_of(site, target)}_({code_of(site, node.value)})")], _plainly_meant(event))


def _plainly_meant(event: Event) -> bool:
    """Whether nothing but the flag of all parameters can be meant, and the method sets just that."""
    if not is_module(event.subject):
        return False  # by its use alone: its class may have a flag of its own
    tree = tree_of(text_of(event.site.parsed))
    flag = event.value.value if isinstance(event.value, Const) else None
    if not isinstance(flag, bool) or "jit" in event.site.parsed.facts.words:
        return False  # what is no bool is refused, and so is a scripted module
    if flag and any(isinstance(node, ast.keyword) and node.arg == "requires_grad" for node in ast.walk(tree)):
        return False  # a parameter that must not be trained, it may be
    parameters = {name for node in ast.walk(tree) for name in _bound_to_parameters(node)}
    return not any(_reads_flag(node, parameters) for node in ast.walk(tree))


def _bound_to_parameters(node: ast.AST) -> Iterator[str]:
    """The names that a loop gives to parameters, and those that a `lambda` has, which are asked for one at a time."""
    if isinstance(node, (ast.For, ast.comprehension)) and _PARAMETERS.search(ast.unparse(node.iter)):
        yield from (name.id for name in ast.walk(node.target) if isinstance(name, ast.Name))
    elif isinstance(node, ast.Call) and _PARAMETERS.search(ast.unparse(node)):
        for arg in node.args:
            if isinstance(arg, ast.Lambda):
                yield from (one.arg for one in arg.args.args)


_PARAMETERS = re.compile(r"\bparam\w*\b|\bnamed_parameters\(", re.IGNORECASE)


def _reads_flag(node: ast.AST, parameters: set[str]) -> bool:
    """Whether an expression asks something that may be a module for its flag."""
    if isinstance(node, ast.Constant):
        return node.value == "requires_grad"
    if not isinstance(node, ast.Attribute) or node.attr != "requires_grad" or not isinstance(node.ctx, ast.Load):
        return False
    owner = node.value
    of_tensor = isinstance(owner, ast.Attribute) and owner.attr in ("weight", "bias")
    return not of_tensor and not (isinstance(owner, ast.Name) and owner.id in parameters)


def _certain(event: Event) -> bool:
    """Whether the flag is set on a module: it is known to be one, or is asked for its weight or parameters."""
    if is_module(event.subject):
        return True
    if type(event.subject) is not Opaque or event.subject.source not in ("attr", "global", "param", "call"):
        return False
    used = re.compile(
        rf"(?<![\w.]){re.escape(owner_text(event))}\.(?:weight\b|(?:named_)?parameters\(|in_features\b|out_features\b)"
    )
    return any(used.search(line) for line in event.site.parsed.facts.lines)


def is_module(value: Value) -> bool:
    """Whether a value is a module for certain, with no meaning of its own for such an attribute."""
    if isinstance(value, Opaque):
        over = value.origin
        return "module" in value.tags and value.source == "item" and getattr(over, "kind", "") in _VIEWS
    if not isinstance(value, Instance) or value.kind not in ("module", "wrapper", "loss"):
        return False
    if isinstance(value.cls, Class):
        return not any(isinstance(item, Class) and _has_its_own(item.facts, item.cf) for item in value.cls.mro())
    return value.type.startswith(("torch.nn.", "torchvision.models."))


def _some_class_has_its_own(facts: FileFacts) -> bool:
    return any(_has_its_own(facts, cls) for cls in facts.classes.values())


def _has_its_own(facts: FileFacts, cls: ClassFacts) -> bool:
    """Whether a class means something by the flag itself: it defines it, reads it, or sees to attributes itself."""
    if _OWN & cls.methods.keys():
        return True
    text = "".join(facts.lines[cls.start - 1 : cls.end])
    return "requires_grad" in text and _speaks_of_its_flag(text)


_OWN = frozenset({"requires_grad", "requires_grad_", "__setattr__", "__getattr__", "__getattribute__"})


@lru_cache(maxsize=64)
def _speaks_of_its_flag(text: str) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError):
        return True
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    for item in body:
        targets = item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == "requires_grad" for target in targets):
            return True
    return any(
        isinstance(node, ast.Constant) and node.value == "requires_grad"
        or isinstance(node, ast.Attribute) and node.attr == "requires_grad" and getattr(node.value, "id", "") == "self"
        for node in ast.walk(tree)
    )


_VIEWS = frozenset({"modules", "children", "named_modules", "named_children"})


def owner_text(event: Event) -> str:
    """What stands before the flag's name where it is set."""
    node = event.site.node
    # Of several targets it is the one of that name: `frozen = layer.requires_grad = False`.
    flags = (item for item in walk(node) if isinstance(item, cst.Attribute) and item.attr.value == event.name)
    flag = next(flags, None)
    text = event.site.parsed.text(node if flag is None else flag.value)
    return text if len(text) <= 40 else "the module"


def _asked(event: Event) -> bool:
    """Whether a condition around it says that this is a parameter."""
    name = re.escape(owner_text(event))
    wanted = re.compile(rf"isinstance\(\s*{name}\s*,.*(?:Parameter|Tensor)|hasattr\(\s*{name}\s*,\s*.requires_grad")
    return any(holds and wanted.search(site.text()) for site, holds in event.guards)


def _read(event: Event) -> bool:
    """Whether the program reads the flag from modules itself."""
    return any(f"if {owner_text(event)}.requires_grad" in line for line in event.site.parsed.facts.lines)
