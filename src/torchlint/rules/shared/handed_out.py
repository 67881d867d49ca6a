"""Batches that an object of the project's own hands out, `__next__` after `__next__`: slices of what it keeps, in the order in which that lies."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.values import Class, Event, Instance, Loop, real
from torchlint.rules.base import View
from torchlint.rules.shared.cut_in_order import NOT_IN_ORDER, once_an_epoch
from torchlint.rules.shared.loaders import written
from torchlint.rules.shared.mixed_once import mixes_in_training, mixings
from torchlint.rules.shared.sample_order import OF_TIME, bare_text

# What says that a class mixes, draws or arranges what it hands out. (Samples may be sequences, with lengths and tokens.)
_ARRANGED = re.compile(r"perm|shuf|sampl(?:er|ing|ed?\s*\()|choice|rand(?!n\b)|mix|roll|sort|bucket|indices|\bqueue", re.IGNORECASE)
_ITSELF = re.compile(r"^\s*return\s+self\s*$", re.MULTILINE)
_COUNTED = re.compile(r"^\s*self\.(\w+)\s*(?:\+=|=\s*self\.\1\s*\+)", re.MULTILINE)


def handed_out(view: View, step: Event) -> tuple[Loop, str, str, list[Event]] | None:
    """The loop around a step that goes through such an object, once in each turn of another loop; the object's name; what it cuts; and
    what mixes something before. None where there is none, or something may change the order from turn to turn."""
    for loop, outer, around in once_an_epoch(step):
        given = view.run.iterated(loop.over) if isinstance(loop.site.node, cst.For) and loop.over is not None else None
        if not isinstance(given, Instance) or given.kind != "instance" or not isinstance(given.cls, Class) or given.site is None:
            continue
        cut = _cut_by(given.cls)
        if cut is None or any(view.made_anew(each, outer) for each in (given, *real(step.subject))):
            return None
        name, within = _name_of(loop, given), written(outer.site.parsed, outer.site.node)
        if not name or NOT_IN_ORDER.search(within) or OF_TIME.search(given.site.text()) or _may_be_arranged(name, cut, within):
            return None
        files = {facts.path: facts for facts in (loop.site.parsed.facts, given.site.parsed.facts, given.cls.facts)}
        mixed = None
        if not mixes_in_training(view, around):
            mixed = mixings(view, [(facts, None) for facts in files.values()], around, within if len(files) == 1 else "")
        return None if mixed is None else (loop, name, cut, mixed)
    return None


def _cut_by(cls: Class) -> str | None:
    """What the `__next__` of a class cuts by a number that it counts up, and sets to 0 again; None where it may arrange what it cuts."""
    begins, hands = _text_of(cls, "__iter__"), _text_of(cls, "__next__")
    if not hands or not _ITSELF.search(begins) or any(name not in ("object", "builtins.object") for name in cls.externals()):
        return None
    whole = "".join(bare_text(owner.facts, unit) for owner in cls.mro() if isinstance(owner, Class) for unit in owner.cf.methods.values())
    if _ARRANGED.search(whole) or OF_TIME.search(whole + cls.name):
        return None
    for number in _COUNTED.findall(hands):
        if re.search(rf"^\s*self\.{number}\s*=\s*0\s*$", begins + hands, re.MULTILINE):
            cut = _sliced(hands, number)
            if cut is not None and not re.search(rf"^\s*{re.escape(cut)}\s*[-+*/]?=", begins + hands, re.MULTILINE):
                return cut
    return None


def _text_of(cls: Class, name: str) -> str:
    found = cls.method(name)
    return bare_text(found[0].facts, found[1]) if found is not None else ""


def _sliced(text: str, number: str) -> str | None:
    """What a text slices by a number that the object counts: `self.rows[self.i * size : ...]`, or `start = self.i * size` and
    `self.rows[start : ...]`."""
    times = r"\s*\*\s*[\w.]+"
    low = rf"(?:self\.{number}(?:{times})?|[\w.]+\s*\*\s*self\.{number})"
    named = re.findall(rf"^\s*(\w+)\s*=\s*{low}\s*$", text, re.MULTILINE)
    found = re.search(rf"(self\.\w+)\[\s*(?:{'|'.join([low, *named])})\s*:\s*[^\[\]:]+\]", text)
    return found[1] if found is not None else None


def _name_of(loop: Loop, given: Instance) -> str:
    """What a loop calls what it goes through, `batches` of `enumerate(tqdm(batches))`."""
    over = loop.site.node.iter
    while isinstance(over, cst.Call) and over.args:
        over = over.args[0].value
    return loop.site.parsed.text(over) if isinstance(over, cst.Name | cst.Attribute) else given.name


def _may_be_arranged(name: str, cut: str, within: str) -> bool:
    """Whether the epochs ask the object for something, give it other data, or give its name something else."""
    own = rf"(?<![\w.]){re.escape(name)}"
    return re.search(rf"{own}\s*=[^=]|{own}\.\w+\(|\.{re.escape(cut.removeprefix('self.'))}\s*=[^=]", within) is not None
