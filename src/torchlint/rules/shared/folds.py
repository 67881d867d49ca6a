"""A model that goes on learning from fold to fold of a cross-validation: what a fold validates on was trained on in the folds before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import children, walk
from torchlint.dryrun.values import Event, Instance, Loop, Opaque, Value
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import given_held_out, goes_over_held_out
from torchlint.rules.shared.loaders import written
from torchlint.rules.shared.surroundings import read

# Splits of which each row is trained on in some fold and held out in another. (Not those by time, which go on from one to the next.)
_SPLITTER = r"(?:\w+\.)*(?:(?:Repeated|Multilabel)?(?:Stratified)?(?:Group)?(?:KFold|ShuffleSplit)|LeaveOneOut|LeaveOneGroupOut)\("
_SPLITS = re.compile(rf"(?:enumerate\(|tqdm\()*(?:(?P<name>[\w.]+)|{_SPLITTER}.*\))\.split\(")
# What gives a model its first weights again, or another one.
_STARTS_OVER = re.compile(
    r"\.apply\(|load_state|load_model|reset|deepcopy|re_?init|init_weight|weights_init|clone|restore|warm_?start", re.IGNORECASE
)


@dataclass(slots=True, frozen=True)
class OneForAll:
    """A loop over folds, the model that goes on from one to the next, and where a fold validates it."""

    loop: Site
    model: Event
    validated: Site


def one_for_all_folds(view: View) -> Iterator[OneForAll]:
    """`for train_idx, val_idx in kfold.split(data):` that trains and validates a model that was made before."""
    told: set[int] = set()
    for step in view.of("backward"):
        loop = next((loop for loop in step.loops if id(loop) not in told and _goes_over_folds(loop)), None)
        flows = [flow for flow in step.flows if flow.kind == "forward" and not flow.get("inside")] if loop is not None else ()
        for flow in flows:
            if loop not in flow.loops or not _is_made_before(view, flow.subject, loop):
                continue
            validated = next((event for event in view.of("forward") if _validates(view, event, flow.subject, loop)), None)
            if validated is not None:
                told.add(id(loop))
                yield OneForAll(loop.site, flow, validated.site)
                break


def _goes_over_folds(loop: Loop) -> bool:
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For):
        return False
    parsed = loop.site.parsed
    splits = _SPLITS.match(parsed.text(node.iter))
    if splits is None or splits["name"] and not _is_splitter(loop.site, splits["name"]):
        return False
    indices = [name.value for name in walk(node.target) if isinstance(name, cst.Name)][-2:]
    if len(indices) < 2 or not set(indices) <= read(node.body):
        return False
    return not _STARTS_OVER.search(written(parsed, node)) and not _leaves(node.body)


def _is_splitter(site: Site, name: str) -> bool:
    """Whether all lines of a file that give a name something make a splitter of it."""
    lines = site.parsed.facts.lines
    given = [line.partition("=")[2].strip() for line in lines if re.match(rf"\s*{re.escape(name)}\s*=[^=]", line)]
    return bool(given) and all(re.match(_SPLITTER, text) for text in given)


def _leaves(body: cst.CSTNode) -> bool:
    """Whether a loop may leave out folds: one alone validates what it has not seen."""
    todo: list[cst.CSTNode] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Break | cst.Continue | cst.Return):
            return True
        if not isinstance(node, cst.For | cst.While | cst.FunctionDef | cst.ClassDef):
            todo.extend(children(node))
    return False


def _is_made_before(view: View, model: Value | None, loop: Loop) -> bool:
    """Whether a model is made outside of a loop."""
    if isinstance(model, Instance):
        return model.kind in ("module", "wrapper") and not view.made_anew(model, loop)
    if type(model) is not Opaque or model.source != "call" or model.site is None or model.site.parsed is not loop.site.parsed:
        return False
    place = loop.site.location()
    return not place.row <= model.site.location().row <= (place.end_row or place.row)


def _validates(view: View, event: Event, model: Value, loop: Loop) -> bool:
    if event.subject is not model or loop not in event.loops or event.mode is not False and event.grad is not False:
        return False
    if any(event in step.flows for step in view.of("backward")):
        return False
    return goes_over_held_out(event) or given_held_out(event)
