"""Whether a call in a module is met in evaluation as it is in training, and is not meant to be."""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.values import Event
from torchlint.rules.shared.class_around import class_around
from torchlint.rules.shared.surroundings import read
from torchlint.sieve.facts import FileFacts

# Conditions that tell training from evaluation, and a return under one of them.
_MODE_WORD = r"(?:train|eval|test|infer|phase|mode)"
MODE = re.compile(_MODE_WORD, re.IGNORECASE)
# The module's own mode: "mode" would be in every `model`.
_OWN = r"\b(?:is_)?(?:train(?:ing)?|eval)\b"
_ASKS = re.compile(rf"\bif\b[^\n]*{_OWN}", re.IGNORECASE)
LEAVES = re.compile(
    rf"\bif\b[^\n]*{_MODE_WORD}[^\n]*:\s*(?:#[^\n]*\n\s*)?(?:[^\n]*\n[ \t]*)?return\b", re.IGNORECASE
)

# What says that values are dropped in prediction on purpose: uncertainty from several predictions, or new views of the data.
_MEANT = re.compile(
    r"monte.?carlo|(?<![a-z])mc(?![a-z])|mc_?(?:drop|predict|sampl|forward|infer)|bayes|uncertain|epistemic|enable_dropout"
    r"|always.on|test.time.(?:dropout|augment)",
    re.IGNORECASE,
)
_MODEL = r"\w{0,40}(?:self|model|net)(?:\.\w{1,60}){0,4}\([^()\n]{0,200}\)"
_SAMPLES = re.compile(
    rf"{_MODEL}[^\n]{{0,60}}?\sfor\s+_\w{{0,20}}\s+in\s+range\("
    rf"|\bfor\s+_\w{{0,20}}\s+in\s+range\([^\n]{{0,200}}:\s*\n(?:[^\n]{{0,200}}\n)?"
    rf"[^\n]{{0,200}}(?:append\(|\+=)[^\n]{{0,100}}{_MODEL}",
    re.IGNORECASE,
)
ATTENTION = "scaled_dot_product_attention"
_AUGMENTS = re.compile(r"augment|corrupt|perturb|noise|noisy", re.IGNORECASE)


def in_every_mode(event: Event) -> bool:
    """Whether a call in a module's own code is met in evaluation as well, and nothing says that this is meant."""
    if not event.get("in_module") or any(MODE.search(site.text()) for site, _ in event.guards):
        return False
    return not (_left_before(event) or _rate_follows(event) or _asked_before(event) or _meant(event))


def _meant(event: Event) -> bool:
    """Whether a file speaks of several predictions for one input, or a method of changing its data."""
    parsed = event.site.parsed
    return bool(_AUGMENTS.search(parsed.unit.name)) or _speaks_of_samples("".join(parsed.facts.lines))


@lru_cache(maxsize=4)
def _speaks_of_samples(text: str) -> bool:
    return bool(_MEANT.search(text) or _SAMPLES.search(text))


def _left_before(event: Event) -> bool:
    """Whether evaluation has left the function before it comes to the call: `if not self.training: return x`."""
    unit, lines = event.site.parsed.unit, event.site.parsed.facts.lines
    if not LEAVES.search("".join(lines[unit.start - 1 : unit.end])):
        return False  # most do not: where the call stands takes a walk over the tree
    return bool(LEAVES.search("".join(lines[unit.start - 1 : event.site.location().row - 1])))


def rate_of(event: Event) -> list[cst.BaseExpression]:
    """What a call of a dropout, or of an attention with one, is given as the rate, by whatever name it is called; nothing where it
    is not given."""
    node = event.site.node
    attention = (event.get("name") or "").endswith(ATTENTION)
    name, place = ("dropout_p", 4) if attention else ("p", 1)
    return [arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value == name] or [
        arg.value for arg in node.args[place : place + 1] if arg.keyword is None
    ]


def _rate_follows(event: Event) -> bool:
    """Whether how much is dropped may be nothing in evaluation: the caller says it, or it is worked out from the mode, or the
    attribute that holds it changes."""
    given = rate_of(event)
    unit, facts = event.site.parsed.unit, event.site.parsed.facts
    if not given:
        return False
    if re.search(_OWN, event.site.parsed.text(given[0]), re.IGNORECASE) or isinstance(given[0], cst.Name) and given[0].value in unit.params:
        return True
    cls, text = class_around(event.site.parsed), "".join(facts.lines[unit.start - 1 : unit.end])
    for name in read(given[0]) - {"self"}:
        if re.search(rf"\b{name}\s*=(?!=)[^\n]*{_OWN}|{_OWN}[^\n]*:\s*\b{name}\s*=(?!=)", text, re.IGNORECASE):
            return True
        for method in cls.methods.values() if cls is not None else ():
            if method.name == name and "training" in method.words or name in method.sets and method.name != "__init__":
                return True
        if isinstance(given[0], cst.Attribute) and _set_from_outside(facts, name):
            return True
    return False


def _set_from_outside(facts: FileFacts, name: str) -> bool:
    """Whether a file sets an attribute of an object other than `self`."""
    return any(re.search(rf"(?<!\bself)\.{name}\s*=(?!=)", line) for line in facts.lines)


def _asked_before(event: Event) -> bool:
    """Whether a method is called close behind a question for the mode: the call of it may be met in training alone."""
    facts, unit = event.site.parsed.facts, event.site.parsed.unit
    cls = class_around(event.site.parsed)
    for method in cls.methods.values() if cls is not None and unit.name != "forward" else ():
        lines = facts.lines[method.start - 1 : method.end] if unit.name in method.words else []
        for at, line in enumerate(lines):
            if f"self.{unit.name}(" in line and any(_ASKS.search(near) for near in lines[max(at - 2, 0) : at + 1]):
                return True
    return False
