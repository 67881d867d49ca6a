"""Whether a training goes on from a file: it begins at an epoch that is not the first, with weights that were loaded for it, or an
option says in so many words that it is resumed."""

from __future__ import annotations

import re
from itertools import takewhile

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Loop, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import from_file, in_files

# Names of what a training begins at, and what is said where its weights are loaded.
_BEGINNING = re.compile(r"start|begin|resume|last|restor|done|current|init", re.IGNORECASE)
_RESUMED = re.compile(r"resum|continu|restor|restart|reload|start|begin|last|latest|from_epoch|recover", re.IGNORECASE)
# What brings an optimizer's state back, or may.
_BROUGHT_BACK = re.compile(
    r"opt\w*(?:\[[^]]*\]|\(\))?\.load_state_dict|(?:load|resum|restor)\w*\([^)]*optim|load_checkpoint|load_state\(|accelerat|deepspeed|set_state_dict",
    re.IGNORECASE,
)
# What an option is called that says so, and what is said of weights that something else is done with.
_OPTION = re.compile(r"resum|(?<![a-z])continue[_d]|(?<![a-z])cont_|restor(?!ation)|restart", re.IGNORECASE)
_ELSE = re.compile(r"pre_?train|fine_?tun|transfer|teacher|backbone_w|init_|test|eval|valid|infer|predict|demo|sampl|generat|imagenet|export", re.IGNORECASE)
_OTHERS = re.compile(r"pre-?_?train|fine-?_?tun|transfer|imagenet|coco", re.IGNORECASE)
_NEAR = 4
_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_OF_ALL = frozenset({"self", "args", "opts", "config", "torch", "load", "path", "join", "else", "load_state_dict", "print", "model", "range"})


def weights_gone_on_from(view: View, step: Event, optimizer: Value) -> Site | None:
    """The line that loads the weights alone that the training around a step of an optimizer goes on from; None where it begins anew,
    or the optimizer's state may be loaded, too."""
    if any(view.made_anew(optimizer, loop) for loop in step.loops[:-1]):
        return None  # it forgets by itself
    loop = next((loop for loop in step.loops if _beginning(loop) is not None), None)
    if loop is None and not (step.loops and in_files(view, step, r"(?<!def )save\w*\(")) or in_files(view, step, _BROUGHT_BACK):
        return None
    here = (step.site.parsed.facts, (loop or step.loops[0]).site.parsed.facts)
    for load in view.of("load"):
        if load.loops or not any(map(from_file, real(load.get("state")))) or not _trains(view, optimizer, load.subject):
            continue
        for site in (load.site, *reversed(load.calls)):
            if site.parsed.facts in here and site not in step.calls and (_by_option(site) if loop is None else _is_resumed(site, loop)):
                return site
    return None


def _beginning(loop: Loop) -> str | None:
    """What a loop counts from, where that has the name of a beginning: `start_epoch` of `range(start_epoch, epochs)`."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For):
        return None
    counted = node.iter
    while isinstance(counted, cst.Call) and len(counted.args) == 1 and not counted.args[0].star:
        counted = counted.args[0].value  # tqdm(range(...))
    if not isinstance(counted, cst.Call) or len(counted.args) < 2:
        return None
    name, begins = loop.site.parsed.text(counted.func), loop.site.parsed.text(counted.args[0].value)
    return begins if name.endswith("range") and _BEGINNING.search(begins) else None


def _trains(view: View, optimizer: Value, model: Value | None) -> bool:
    """Whether an optimizer updates a model, as far as is known what it updates."""
    modules, _, whole = view.held_by(optimizer)
    if any(view.related_modules(held, alt) for held in modules for alt in real(model)):
        return True
    return not modules and not whole and any(view.about("forward", alt) for alt in real(model))


def _is_resumed(site: Site, loop: Loop) -> bool:
    """Whether what stands around a load says that a training goes on, or reads what the number that the loop begins at is from."""
    around = _around(site.parsed.facts.lines, site.location().row)
    if any(_RESUMED.search(line) for line in around):
        return True
    lines, beginning = loop.site.parsed.facts.lines, re.escape(_beginning(loop) or "")
    assigned = re.compile(rf"(?<![\w.]){beginning}\s*=[^=]")
    begins = [line for row, line in enumerate(lines, 1) if assigned.search(line) for line in (line, *_heads(lines, row))]
    return bool(_names(begins) & _names(around))


def _by_option(site: Site) -> bool:
    """Whether a load stands under an `if` that asks for an option to resume, and nothing says that it is about other weights."""
    lines, row = site.parsed.facts.lines, site.location().row
    heads = [line.split("#", 1)[0] for line in _heads(lines, row)]
    asks = [line for line in heads if line.lstrip().startswith(("if ", "elif ")) and _OPTION.search(line)]
    if not asks or any(_ELSE.search(line) for line in (lines[row - 1], *heads)):
        return False
    return not any(_OTHERS.search(line) for line in _around(lines, row))


def _around(lines: list[str], row: int) -> list[str]:
    """The lines beside a row, in its block, and the heads of the blocks that it stands in."""
    depth = _depth(lines[row - 1])
    inside = lambda line: not line.strip() or _depth(line) >= depth
    above = takewhile(inside, reversed(lines[max(row - 1 - _NEAR, 0) : row - 1]))
    return [*above, *takewhile(inside, lines[row - 1 : row + _NEAR]), *_heads(lines, row)]


def _heads(lines: list[str], row: int) -> list[str]:
    """The heads of the blocks that a row stands in, up to its function; not that of an `else`, which is about what is not so."""
    depth, heads = _depth(lines[row - 1]), []
    for line in reversed(lines[: row - 1]):
        if line.strip() and _depth(line) < depth:
            depth = _depth(line)
            if not line.lstrip().startswith(("else", "except")):
                heads.append(line)
            if line.lstrip().startswith(("def ", "async def ", "class ")):
                break
    return heads


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _names(lines: list[str]) -> set[str]:
    """What lines speak of, the heads of functions and classes left out."""
    lines = [line for line in lines if not re.match(r"\s*(?:async def|def|class)\s", line)]
    return {name for line in lines for name in _NAME.findall(line.split("#", 1)[0])} - _OF_ALL
