"""901: torch.load of a whole model, or of another object, by whichever release: up to 2.5 it may run code, since 2.6 it raises."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site, dotted
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.blocks import conditional
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.own_files import ALLOWED, Refused, asked_keys_of, refused_in, refused_in_unmet, taker_of
from torchlint.rules.shared.read_configs import settings_asked
from torchlint.rules.shared.read_objects import asked_as_object, used_as_object
from torchlint.rules.shared.replaced_objects import replaced_class
from torchlint.rules.shared.written_beside import Beside, object_beside
from torchlint.sieve.facts import Unit

CODE = 901
CALLS = frozenset({"torch.load", "[]="})
_AS_MODEL = ("forward", "module.train", "module.eval", "optimizer.create")


def check(view: View) -> Iterator[Report]:
    """`model = torch.load(path)` and then `model.eval()` or `model(x)`, where no release of torch is known."""
    if not view.admits((2, 6)):
        return  # what is left out is told of by the page's own form
    models = {site for event in view.of(*_AS_MODEL) for alt in real(event.subject) for site in _read_from(alt)}
    for event in view.of("call"):
        if event.name not in CALLS or event.kwargs.keys() & {"weights_only", "pickle_module", "**"}:
            continue
        own = refused_in(view, event)
        if own is not None:
            yield _of_own(view, event.site, own)
        elif (asked := _settings(event)) is not None and not in_files(view, event, ALLOWED):
            roles = {"call": view.call_text(event.site), "part": f'"{asked[0]}"', "kind": f"an object, as `{asked[1]}` is asked of it"}
            yield Report(CODE, event.site, roles, words=_OWN)
        elif (beside := _beside(view, event)) is not None:
            kind = f"{beside.kind}, as {beside.path} writes it in line {beside.row}"
            roles = {"call": view.call_text(event.site), "part": f'"{beside.key}"', "kind": kind}
            yield Report(CODE, event.site, roles, words=_OWN)
        elif event.site in models or used_as_object(event.site) is not None:
            if not any(given in real(save.args[1]) for given in real(event.args[0] if event.args else None)
                       for save in view.of("save") if len(save.args) > 1):
                yield Report(CODE, event.site, {"call": view.call_text(event.site), "then": _THEN})
        elif (replaced := replaced_class(event.site)) is not None and not in_files(view, event, ALLOWED):
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "kind": replaced}, words=_REPLACED)
        elif (question := asked_as_object(event.site)) is not None and not in_files(view, event, ALLOWED):
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "asked": question}, words=_ASKED)
    for site in _not_come_to(view):
        own = refused_in_unmet(view, site)
        question = asked_as_object(site) if own is None else None
        if own is None and question is None and used_as_object(site) is None or in_files(view, view.run.graph.events[0], ALLOWED):
            continue
        if question is not None:
            yield Report(CODE, site, {"call": view.call_text(site), "asked": question}, words=_ASKED)
        elif own is None:
            yield Report(CODE, site, {"call": view.call_text(site), "then": _THEN})
        else:
            yield _of_own(view, site, own)


_THEN = "; since torch 2.6 it raises, because a whole model is no weights"
_OWN = (
    "`{call}` raises since torch 2.6, which reads weights alone unless it is told otherwise: `{part}` in this file is {kind}",
    "save what is plain (`vars(args)`, `state_dict()`, `float(...)`), or pass `weights_only=False` where only this program writes the file",
)

_REPLACED = (
    "`{call}` raises since torch 2.6, which reads weights alone unless told otherwise: what it reads takes the place of a `{kind}`",
    "save what is plain (`vars(...)`, `state_dict()`), or pass `weights_only=False` where only this program writes the file",
)

_ASKED = (
    "`{call}` raises since torch 2.6, which reads weights alone unless told otherwise: `{asked}` is asked of what it reads, so that is an object of a class",
    "save what is plain (`vars(...)`, `state_dict()`), or pass `weights_only=False` where only this program writes the file",
)


def _of_own(view: View, load: Site, own: Refused) -> Report:
    related = [(own.site, "it is saved here")] if own.site is not load else []
    return Report(CODE, load, {"call": view.call_text(load), "part": own.text, "kind": own.kind}, related, words=_OWN)


def _settings(load: Event) -> tuple[str, str] | None:
    """The settings in what is loaded that an attribute is asked of, here or where the function is called that gives it back."""
    asked, taker = settings_asked(load.site), taker_of(load)
    return asked if asked is not None or taker is None else settings_asked(taker)


def _beside(view: View, load: Event) -> Beside | None:
    """What other functions and programs of the project put into the file, as two keys or more that are asked of it tell."""
    keys = asked_keys_of(load)
    return object_beside(view, load.site, keys) if len(keys) > 1 and not in_files(view, load, ALLOWED) else None


def _not_come_to(view: View) -> Iterator[Site]:
    """The loads in functions that were run, under a condition that a constant has switched off: `checkpoint = None`."""
    come_to = {event.site.location() for event in view.of("call") if event.name in CALLS}
    for tree in (*view.trees(), *_silent(view)):
        for node in walk(tree.module) if "load" in tree.unit.words else ():
            if not isinstance(node, cst.Call) or dotted(node.func) not in CALLS or any(arg.star or arg.keyword is not None
               and arg.keyword.value in ("weights_only", "pickle_module") for arg in node.args):
                continue
            site = Site(tree, node)
            if site.location() not in come_to and conditional(site):
                yield site


def _silent(view: View) -> Iterator[Parsed]:
    """The statements outside functions that were run, and of which nothing came."""
    told = {id(tree.unit) for tree in view.trees()}
    for facts in {id(tree.facts): tree.facts for tree in view.trees()}.values():
        for item in facts.body:
            if isinstance(item, Unit) and "load" in item.words and id(item) in view.run.ran and id(item) not in told:
                tree = view.run.world.parse(facts, item)
                if tree is not None:
                    yield tree


def _read_from(value: Value) -> Iterator[Site]:
    """Where an object was read from a file: by itself, or in a dict, `torch.load(path)["model"]`."""
    for _ in range(4):
        if not isinstance(value, Opaque):
            return
        if "loaded" in value.tags and value.site is not None:
            yield value.site
        if value.origin is None or value.source != "item" and not _is_moved(value):
            return
        value = value.origin


def _is_moved(value: Opaque) -> bool:
    """Whether a value is what `.to(device)` gave, whatever name it has taken since."""
    node = value.site.node if value.site is not None else None
    func = node.func if isinstance(node, cst.Call) else None
    return value.name in ("to", "cuda") or isinstance(func, cst.Attribute) and func.attr.value in ("to", "cuda", "cpu", "float", "half")
