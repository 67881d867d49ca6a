"""Loads of weights as they are written: those too that no run comes to, under a constant that is off (`RESUME = False`), and
those of models whose class is in no file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site, dotted
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import View
from torchlint.sieve.facts import FileFacts, Unit

_READS = re.compile(r"(?:^|\.)(?:torch|th|T)\.load$")
_HELPER = re.compile(r"(?:(?:my|partial|partially|safe|soft|maybe)_)*(?:re)?(?:load|store|sume)_?(?:(?:my|part|partial|whole|entire)_)?(?:model|weights?|checkpoints?|ckpt|state\w*|params|net\w*|snapshot)?$")


@dataclass(slots=True, frozen=True)
class WrittenLoad:
    """`owner.load_state_dict(...)` of something that `torch.load` read from `source`; or `owner = checkpoint["model"]`, a whole model; or
    `load_checkpoint(source, owner)`, by whatever helper."""

    site: Site
    owner: str
    source: str


def written_loads(view: View, site: Site) -> list[WrittenLoad]:
    """The loads of weights in the function that a place stands in, or in the file where it stands in no function."""
    facts = site.parsed.facts
    if not facts.words & {"load_state_dict", "load"} and not any(map(_HELPER.match, facts.words)):
        return []
    return _loads_in(_trees(view, site))


def loads_of_made(view: View, site: Site) -> Iterator[tuple[WrittenLoad, Site]]:
    """The loads in functions of the same file that give the function that a place stands in its models, `model = build(args)`; each is told
    of the model by the name that it gets there, and comes with the call."""
    for tree in _trees(view, site):
        for node in walk(tree.module):
            made = _made_by(node)
            inner = _function_of(view, tree, made[1]) if made is not None else None
            if made is not None and inner is not None:
                filled = (load for load in _loads_in([inner]) if load.owner == _gives_back(inner))
                yield from ((WrittenLoad(load.site, made[0], load.source), Site(tree, node)) for load in filled)


def _function_of(view: View, tree: Parsed, name: str) -> Parsed | None:
    """Another function of the same file."""
    unit = tree.facts.functions.get(name)
    return view.run.world.parse(tree.facts, unit) if unit is not None and unit is not tree.unit else None


def _made_by(node: cst.CSTNode) -> tuple[str, str] | None:
    """The name that a statement gives to what a function gives back, and that of the function."""
    if not isinstance(node, cst.Assign) or len(node.targets) > 1 or not isinstance(node.value, cst.Call):
        return None
    target, func = node.targets[0].target, node.value.func
    return (target.value, func.value) if isinstance(target, cst.Name) and isinstance(func, cst.Name) else None


def _gives_back(tree: Parsed) -> str | None:
    """The name that all the returns of a function give back."""
    names = {tree.text(node.value) for node in walk(tree.module) if isinstance(node, cst.Return) and node.value is not None}
    return names.pop() if len(names) == 1 else None


def _loads_in(trees: list[Parsed]) -> list[WrittenLoad]:
    read = _read_names(trees)
    found = []
    for tree, node in ((tree, node) for tree in trees for node in walk(tree.module)):
        if isinstance(node, cst.Assign):
            whole = _whole(tree, node, read)
            if whole is not None:
                found.append(whole)
        if not isinstance(node, cst.Call):
            continue
        found.extend(_by_helper(tree, node))
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "load_state_dict" and node.args:
            source = _source(tree, node.args[0].value, read)
            if source is not None:
                found.append(WrittenLoad(Site(tree, node), tree.text(node.func.value).removesuffix(".module"), source))
    return found


def is_out_of_a_file(view: View, site: Site) -> bool:
    """Whether what a call is given first was read by a `torch.load` beside it, or filled with what was: `new[key[7:]] = value`."""
    node = site.node
    if not isinstance(node, cst.Call) or not node.args:
        return False
    return _source(site.parsed, node.args[0].value, _read_names(_trees(view, site))) is not None


def _trees(view: View, site: Site) -> list[Parsed]:
    """The function that a place stands in, or the statements of its file where it stands in no function."""
    facts = site.parsed.facts
    scope = [item for item in facts.body if isinstance(item, Unit)]
    units = scope if site.parsed.unit in scope else []
    return [tree for unit in units if (tree := view.run.world.parse(facts, unit)) is not None] or [site.parsed]


def _by_helper(tree: Parsed, node: cst.Call) -> Iterator[WrittenLoad]:
    """What a call of a helper fills from a file: that is given a model and something else, and nothing of an optimizer; or that is a
    method of the model."""
    texts = [tree.text(arg.value) for arg in node.args]
    owner, _, method = dotted(node.func).rpartition(".")
    if owner and texts and owner not in ("self", "torch") and method != "load_state_dict" and _HELPER.match(method) and not re.search(r"optim|sched", tree.text(node), re.IGNORECASE):
        yield WrittenLoad(Site(tree, node), owner.removesuffix(".module"), texts[0])
    if not 2 <= len(texts) <= 4 or not _HELPER.match(dotted(node.func).rpartition(".")[2]) or any(arg.star for arg in node.args):
        return
    if isinstance(node.func, cst.Attribute) and dotted(node.func).startswith(("self.", "torch.")):
        return
    row = tree.facts.lines[Site(tree, node).location().row - 1]
    if re.search(r"optim|sched", row.split("#", 1)[0], re.IGNORECASE):
        return
    for at, text in enumerate(texts):
        if re.fullmatch(r"[A-Za-z_][\w.]*", text):
            source = texts[0 if at else 1]
            inner = re.fullmatch(r"[\w.]*load\((.*)\)", source)
            yield WrittenLoad(Site(tree, node), text.removesuffix(".module"), inner[1] if inner else source)


def _whole(tree: Parsed, node: cst.Assign, read: dict[str, str]) -> WrittenLoad | None:
    """What a statement takes out of a file as it is: whether that is a model its use tells."""
    target = node.targets[0].target
    if len(node.targets) > 1 or not isinstance(target, cst.Name) or not isinstance(node.value, (cst.Subscript, cst.Call)):
        return None
    if isinstance(node.value, cst.Call) and not _READS.search(dotted(node.value.func)):
        return None
    source = _source(tree, node.value, read)
    return WrittenLoad(Site(tree, node), target.value, source) if source is not None else None


def updated_by_name(view: View, optimizer: Site | None, owner: str) -> bool:
    """Whether what an optimizer is made of is written as the parameters of something with that name."""
    if optimizer is None or not isinstance(optimizer.node, cst.Call):
        return False
    lines = optimizer.parsed.facts.lines
    wrapped = re.compile(rf"\s*([A-Za-z_][\w.]*)\s*=\s*(?:[\w.]*Parallel\()?{re.escape(owner)}(?:\s*$|[,)])")
    again = [found[1] for line in lines for found in [wrapped.match(line)] if found is not None]
    names = "|".join(map(re.escape, (owner, *again)))
    asked = re.compile(rf"(?<![\w.])(?:{names})(?:\.\w+)*\.(?:named_)?parameters\(")
    if asked.search(optimizer.text()):
        return True
    args = optimizer.node.args
    first = next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "params"), args[0].value if args else None)
    if not isinstance(first, cst.Name):
        return False
    gives = re.compile(rf"(?<![\w.]){first.value}\b(?:\s*\+?=|\.(?:append|extend)\()")
    return any(gives.search(line) and asked.search(line) for line in lines)


def stands_before(load: Site, step: Event, loop: Loop) -> Site | None:
    """The loop, or the call that leads to it, that stands behind a load in the same function."""
    row = load.location().row
    for site in (loop.site, step.site, *step.calls):
        if site is not None and site.parsed.facts is load.parsed.facts and _scope(site) == _scope(load) and site.location().row > row:
            return site
    return None


def _scope(site: Site) -> Unit | FileFacts:
    facts = site.parsed.facts
    return facts if any(item is site.parsed.unit for item in facts.body) else site.parsed.unit


def _read_names(trees: list[Parsed]) -> dict[str, str]:
    """Names of what comes out of a `torch.load`, with the text of what it reads; also of what is made of that."""
    pairs = [(tree, value, name) for tree in trees for node in walk(tree.module) for value, name in _bound(node)]
    read: dict[str, str] = {}
    grown = True
    while grown:
        grown = False
        for tree, value, name in pairs:
            if name not in read and (source := _source(tree, value, read)) is not None:
                read[name] = source
                grown = True
    return read


def _bound(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str]]:
    """What a statement takes from, and the names that get it; a name whose items are set, too."""
    pairs: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    if isinstance(node, cst.Assign):
        pairs = [(node.value, target.target) for target in node.targets]
    elif isinstance(node, (cst.For, cst.CompFor)):
        pairs = [(node.iter, node.target)]
    elif isinstance(node, cst.Call) and node.args and isinstance(node.func, cst.Attribute) and node.func.attr.value == "update":
        pairs = [(node.args[0].value, node.func.value)]
    for value, target in pairs:
        while isinstance(target, cst.Subscript):
            target = target.value
        yield from ((value, part.value) for part in walk(target) if isinstance(part, cst.Name))


def _source(tree: Parsed, value: cst.CSTNode, read: dict[str, str]) -> str | None:
    """The text of the file's name that a value was read from; not of what is only built by what was read."""
    name = dotted(value.func) if isinstance(value, cst.Call) else ""
    built = name.rpartition(".")[2][:1].isupper() and not name.endswith("OrderedDict")
    for part in walk(value):
        if isinstance(part, cst.Call) and _READS.search(dotted(part.func)):
            return tree.text(part.args[0].value) if part.args else ""
        if isinstance(part, cst.Name) and part.value in read and not built and _asks_none_but(read, tree.text(value)):
            return read[part.value]
    return None


def _asks_none_but(read: dict[str, str], text: str) -> bool:
    """Whether no state is asked of anything but what was read: a whole model that was read has one, too."""
    return all(owner.partition(".")[0] in read for owner in re.findall(r"([\w.]*)(?:\[[^]]*\])?\.state_dict\(", text))
