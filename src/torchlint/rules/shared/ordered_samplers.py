"""Samplers that count the samples up, the same way in each pass over the data."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.values import Class, Instance, Value, alternatives
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import body_of

_METHODS = frozenset({"__init__", "__iter__", "__len__"})
_BASE = re.compile(r"^(?:object|(?:typing|abc|builtins)\.\w+|torch\.utils\.data\.(?:sampler\.)?Sampler)$")
_OF_TORCH = re.compile(r"^torch\.utils\.data\.(?:sampler\.)?SequentialSampler$")
_RANGE = re.compile(r"(?:return iter\(|yield from )range\((?:[\w.,+\-* ]|len\([\w.]+\))*\)\)?$")


def in_order(view: View, sampler: Value | None) -> str:
    """The name of what counts the samples up where no process has a share of them; "" where a sampler may be another one."""
    alts = alternatives(sampler) if sampler is not None else ()
    counting = [alt for alt in alts if _counts_up(view, alt)]
    others = [alt for alt in alts if not any(alt is known for known in counting)]
    shared_out = all(isinstance(alt, Instance) and alt.type.endswith(".DistributedSampler") for alt in others)
    return counting[0].type.rpartition(".")[2] if counting and shared_out else ""


def counts_a_range(view: View, sampler: Instance) -> bool:
    """Whether a sampler of a class of the project gives the numbers of a range, the same in each pass."""
    if not isinstance(sampler.cls, Class):
        return False
    # Whatever else the class does, `set_epoch` say, may change what it counts.
    own = [owner for owner in sampler.cls.mro() if isinstance(owner, Class)]
    plain = all(_METHODS.issuperset(owner.cf.methods) for owner in own)
    return plain and all(_BASE.match(name) for name in sampler.cls.externals()) and _gives_a_range(view, sampler.cls)


def _counts_up(view: View, sampler: Value) -> bool:
    return isinstance(sampler, Instance) and (bool(_OF_TORCH.match(sampler.type)) or counts_a_range(view, sampler))


def _gives_a_range(view: View, cls: Class) -> bool:
    """Whether all that `__iter__` does is `return iter(range(...))`, or `yield from range(...)`."""
    function, parsed = body_of(view, cls, "__iter__")
    if function is None or not isinstance(function.body, cst.IndentedBlock):
        return False
    lines = [line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line for line in function.body.body]
    if lines and isinstance(lines[0], cst.Expr) and isinstance(lines[0].value, cst.SimpleString):
        del lines[0]
    return len(lines) == 1 and bool(_RANGE.match(parsed.text(lines[0])))
