"""Data sets to train and to evaluate on that are one, or that two calls make of the same things: the evaluation goes over the training's
samples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Opaque, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import created, option
from torchlint.rules.shared.surroundings import read

_PARTS = r"(?:val|vali|valid|validation|dev|test|testing|eval|evaluation)"
_HELD_OUT = re.compile(
    rf"(?:^|_){_PARTS}_?(?:data)?_?(?:loader|dl|iter|iterator|gen|generator|batches|set|ds)?$|^(?:data_?)?(?:loader|dl|iter|iterator)_{_PARTS}$",
    re.IGNORECASE,
)
_TRAINS = re.compile("train|trn", re.IGNORECASE)
_SET = re.compile(r"(?:^|\.)[A-Z]\w*(?:Data[sS]et|Data|Folder|Images?)\w*$|^torchvision\.datasets\.")
# A call that need not give the same twice.
OTHERS = re.compile(r"rand|shuffl|sampl|synth|fake|toy|demo|dummy|overfit|next\(|pop\(|read\(|input\(", re.IGNORECASE)


@dataclass(slots=True, frozen=True)
class Twice:
    """Where data to evaluate on are made, where the same are made to train on, and the name of the loader that evaluates."""

    site: Site
    trained: Site
    name: str


def one_for_both(view: View) -> Iterator[Twice]:
    """`test_loader = DataLoader(pictures)` beside `train_loader = DataLoader(pictures, shuffle=True)`, under the same conditions."""
    made = [(event, loader, data) for event, loader in created(view) if (data := _only(loader)) is not None]
    for at, (event, held, data) in enumerate(made):
        other = next((one for one, loader, trained in made[:at] if trained is data and _is_for_training(loader)), None)
        if other is None or not _is_for_evaluation(held) or not _are_beside(other, event):
            continue
        name = _handed_over(event.site)
        if name is None or name != _handed_over(other.site) or OTHERS.search(name) or _is_touched(name, event.site):
            continue
        if _is_gone_through(held) and _is_gone_through(other.subject):
            yield Twice(event.site, other.site, held.name.rpartition(".")[2])


def _only(loader: Instance) -> Instance | Opaque | None:
    """The one data set of a loader that draws from all of it."""
    alts = real(option(loader, "dataset"))
    if len(alts) != 1 or not isinstance(alts[0], (Instance, Opaque)) or not loader.name:
        return None
    return alts[0] if option(loader, "sampler") is None and option(loader, "batch_sampler") is None else None


def _are_beside(one: Event, other: Event) -> bool:
    """Whether two loaders are made in one function, or in what is outside any, whenever one of them is."""
    return one.site.parsed.facts is other.site.parsed.facts and one.calls == other.calls and (
        one.loops == other.loops and list(one.guards) == list(other.guards)
    )


def _handed_over(loader: Site) -> str | None:
    """The name under which a loader is given its data set."""
    args = loader.node.args if isinstance(loader.node, cst.Call) else ()
    given = next((arg for arg in args if arg.keyword is not None and arg.keyword.value == "dataset"), args[0] if args else None)
    return loader.parsed.text(given.value) if given is not None and isinstance(given.value, (cst.Name, cst.Attribute)) else None


def _is_gone_through(loader: Instance) -> bool:
    """Whether a line of the file goes through a loader, or gives it to somebody."""
    name = re.escape(loader.name.rpartition(".")[2])
    used = re.compile(rf"\bin\b.*\b{name}\b|\w\(.*\b{name}\b(?!\s*=(?!=)).*\)|=\s*(?:[\w.]*\.)?{name}\s*[,)]")
    lines = (re.sub(r"\blen\([^()]*\)", "", line.split("#", 1)[0]) for line in loader.site.parsed.facts.lines)
    return any(used.search(line) for line in lines if not re.match(r"\s*(?:return|def)\b", line))


def _is_touched(name: str, loader: Site) -> bool:
    """Whether something may be set on a data set, or called of it: `pictures.use("test")`."""
    changes = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(?:\.\w+\s*(?:=[^=]|\()|\[[^]]*\]\s*=[^=])")
    return any(changes.search(line) for line in loader.parsed.facts.lines)


def _is_for_evaluation(loader: Instance) -> bool:
    name = loader.name.rpartition(".")[2]
    return _HELD_OUT.search(name) is not None and not _TRAINS.search(name)


def _is_for_training(loader: Instance) -> bool:
    name = loader.name.rpartition(".")[2]
    return _TRAINS.search(name) is not None and not _HELD_OUT.search(name)


def made_twice(view: View) -> Iterator[Twice]:
    """`val_loader = DataLoader(Pictures(root))` beside `train_loader = DataLoader(Pictures(root), shuffle=True)`."""
    loaders = [(loader, data) for _, loader in created(view) if loader.name and (data := whole(loader)) is not None]
    if len(loaders) < 2:
        return
    learnt_from = _learnt_from(view)
    for held, data in loaders:
        if not _is_for_evaluation(held) or id(held) in learnt_from:
            continue
        for other, trained in loaders:
            trains = _is_for_training(other) or id(other) in learnt_from and not _HELD_OUT.search(other.name.rpartition(".")[2])
            if trains and data is not trained and _are_same(data, trained):
                yield Twice(data.site, trained.site, held.name.rpartition(".")[2])
                break


def _learnt_from(view: View) -> set[int]:
    """What the loops go over in which there is a backward."""
    loops = {loop for step in view.of("backward") for loop in step.loops if loop.over is not None}
    return {id(over) for loop in loops for over in real(view.run.iterated(loop.over))}


def whole(loader: Instance) -> Instance | Opaque | None:
    """The data set that a loader goes through from its beginning to its end."""
    alts = real(option(loader, "dataset"))
    one = alts[0] if len(alts) == 1 else None
    if option(loader, "sampler") is not None or option(loader, "batch_sampler") is not None:
        return None
    if not isinstance(one, (Instance, Opaque)):
        return None
    called = one.type if isinstance(one, Instance) else one.name if one.source == "call" else ""
    if one.site is None or not isinstance(one.site.node, cst.Call) or not _SET.search(called) or is_changed(one.site, loader.site):
        return None
    return one


def _are_same(data: Instance | Opaque, trained: Instance | Opaque) -> bool:
    """Whether two calls are written alike, but for their transforms, what they ask for is given nothing in between, and what they make
    is only handed over."""
    parsed, nodes = data.site.parsed, (data.site.node, trained.site.node)
    if trained.site.parsed is not parsed or data.site == trained.site or parsed.text(nodes[0].func) != parsed.text(nodes[1].func):
        return False
    texts = [said(parsed, made.site.node, made) for made in (data, trained)]
    if not texts[0] or texts[0] != texts[1] or any(OTHERS.search(parsed.text(node)) for node in nodes):
        return False
    rows = sorted(made.site.location().row for made in (data, trained))
    given = {name for arg in telling(nodes[0]) for name in read(arg.value)}
    between = (node for node in walk(parsed.module) if isinstance(node, _CHANGES) and rows[0] < parsed.location(node).row < rows[1])
    return not any(_of_name(target) in given for node in between for target in _changed(node))


_CHANGES = (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.Expr)


def _changed(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What a statement sets or does something to: `root = ...`, `options.part = ...`, `rows.pop()`."""
    if isinstance(node, cst.Expr):
        return [node.value.func] if isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute) else []
    targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
    return [element.value for target in targets for element in target.elements] if isinstance(targets[0], cst.Tuple) else targets


def _of_name(target: cst.BaseExpression) -> str:
    """The name that a target begins with."""
    while isinstance(target, (cst.Attribute, cst.Subscript)):
        target = target.value
    return target.value if isinstance(target, cst.Name) else ""


def telling(call: cst.Call) -> list[cst.Arg]:
    """The arguments that may say which samples are meant."""
    return [arg for arg in call.args if arg.keyword is None or arg.keyword.value not in ("transform", "transforms", "download")]


# What takes `train`, which is True unless it is given, behind `root`.
_WITH_TRAIN = frozenset(f"torchvision.datasets.{name}" for name in ("MNIST", "FashionMNIST", "KMNIST", "CIFAR10", "CIFAR100", "USPS"))
_PLACES = ("root", "train")


def said(parsed: Parsed, call: cst.Call, data: Instance | Opaque) -> list[str]:
    """What the arguments of a call that makes such data say of the samples."""
    args = telling(call)
    if not isinstance(data, Instance) or data.type not in _WITH_TRAIN or any(arg.star for arg in args):
        return [parsed.text(arg) for arg in args]
    named = [(arg.keyword.value if arg.keyword is not None else "".join(_PLACES[at : at + 1]), parsed.text(arg.value)) for at, arg in enumerate(args)]
    return [f"{name}={text}" for name, text in named if (name, text) != ("train", "True")]


_HANDED = frozenset({"DataLoader", "len", "print", "str"})


def is_changed(site: Site, loader: Site) -> bool:
    """Whether something may be set on a data set before its loader is made, or taken out of it: `val_set.transform = plain`."""
    name = _assigned(site)
    if name is None:
        return False
    if name == "" or loader.parsed is not site.parsed:
        return True
    lines = site.parsed.facts.lines[site.location().row - 1 : loader.location().end_row]
    text = "".join(line.split("#", 1)[0].rstrip("\n") + "\n" for line in lines)
    handed = re.findall(rf"([\w.]*)\(\s*{re.escape(name)}\s*[,)]", text)
    done = re.search(rf"^\s*{re.escape(name)}\s*[.\[]", text, re.MULTILINE)
    return done is not None or any(called.rpartition(".")[2] not in _HANDED for called in handed)


def _assigned(site: Site) -> str | None:
    """The name that a data set is given; None where it is handed over at once, "" where it may have several."""
    for node in site.parsed.around(site.node):
        if isinstance(node, cst.Arg):
            return None
        if isinstance(node, cst.Assign):
            return site.parsed.text(node.targets[0].target) if len(node.targets) == 1 and node.value is site.node else ""
    return ""
