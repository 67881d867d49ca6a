"""Whether a training goes on from a file: it begins at an epoch that is not the first, with weights that were loaded for it, or an
option says in so many words that it is resumed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Loop, Opaque, Value, from_file, real
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import around_row, block_of, conditions_of, excluded, heads_of, leaves
from torchlint.rules.shared.brought_back import brought_back
from torchlint.rules.shared.checkpoint_options import IMAGENET, does_nothing_but_train, goes_on_from_option, helped
from torchlint.rules.shared.checkpoints import checkpoints, in_files, kept_in
from torchlint.rules.shared.counted_loops import added_to_each, begins, begins_by_name, counted_from, never_turns
from torchlint.rules.shared.named_counts import counts_of_name
from torchlint.rules.shared.own_checkpoints import is_literal, named_by, read_in, writes_what_it_read, written_again
from torchlint.rules.shared.read_states import reads_of
from torchlint.rules.shared.written_loads import WrittenLoad, is_out_of_a_file, loads_of_made, stands_before, updated_by_name, written_loads
from torchlint.sieve.facts import FileFacts, Unit

# Names of what a training begins at, and what is said where its weights are loaded.
_BEGINNING = re.compile(r"start|begin|resume|last|restor|done|current|init|first_(?:epoch|iter|step)", re.IGNORECASE)
_RESUMED = re.compile(r"resum|continu|restor|restart|reload|start|begin|last|latest|from_epoch|recover", re.IGNORECASE)
# What an option is called that says so, and what is said of weights that something else is done with.
_OPTION = re.compile(r"resum|(?<![a-z])continue[_d]|_continue\b|[\"']-*continue[\"']\s+in\s|(?<![a-z])cont_|restor(?!ation)|restart", re.IGNORECASE)
_ELSE = re.compile(
    r"pre_?train|fine_?tun|transfer|teacher|backbone_w|(?<!_)init_|(?<!la)(?<!las)(?<!grea)test|(?<!ri)eval|valid|infer|predict|demo"
    rf"|sampl(?!es?_(?:num|rate|size|per))|generat|{IMAGENET}|export|prun|quanti[sz]|distill",
    re.IGNORECASE,
)
_OTHERS = re.compile(rf"pre-?_?train|fine-?_?tun|transfer|{IMAGENET}|coco", re.IGNORECASE)
_SAID = re.compile(r"\s*(?:print|log\w*(?:\.\w+)?)\(")
_PRETRAINED = re.compile(r"pre-?_?trained", re.IGNORECASE)  # what is said of any weights that were trained before
_PRETRAIN = re.compile(r"pre-?_?train(?:ed)?", re.IGNORECASE)
# Asks whether nothing is resumed: `if args.resume is None`, `if start_epoch == 0`.
_ANEW = re.compile(
    r"\bnot\s+(?:[\w.]*\.)?(?!no_)\w*(?:resum|continue|restor|restart|start_)\w*\s*(?:\)|:|and\b|or\b)"
    r"|(?:resum|continue|restor|restart|start_)\w*\s*(?:==|\bis)\s*(?:None\b|False\b|0\b|\"\"|'')",
    re.IGNORECASE,
)
_HELD = re.compile(r"^\s*(?:el)?if\b[^=]*(?:checkpoint|ckpt|state)\w*(?:\[|\.get\()")  # asks what is in a file, which is read in any case
_NOT = re.compile(r"not\b[^=]*$")
_WHICH = re.compile(r"==\s*[\"']\w|\bin [\[(\"']")  # asks for a kind, not for whether
# A function that brings a training back; not its best weights, or those of an average.
_RESUMING = re.compile(r"_?(?:auto_?|maybe_?|try_?)?(?:resume|restore)(?!\w*(?:best|ema|avg|average|backup|shadow|from))", re.IGNORECASE)
# An option for which stage of a training this run is: what it begins with is then the stage before.
_STAGED = re.compile(r"add_argument\(\s*[\"']--?(?:\w+[-_])?stage\b[\"']|DEFINE_\w+\(\s*[\"'](?:\w+_)?stage[\"']", re.IGNORECASE)
_PHASE = re.compile(r"stage|phase", re.IGNORECASE)
# A number that a checkpoint holds, with the name that it is given.
_COUNTED = re.compile(
    r"\s*((?:[A-Za-z_][\w.]*\s*=\s*)+)(?:int\()?[\w.]*(?:\[\s*[\"']\w+[\"']\s*\])*"
    r"\[\s*[\"'](?:\w*_)?(?:epochs?|episodes?|iters?|iterations?|steps?|n_iter)(?:_\w+)?[\"']\s*\]"
)
_TAKEN = re.compile(r"\s*[A-Za-z_][\w.]*\s*,.*?\b(?:\w*_)?(epochs?|episodes?|iters?|iterations?|steps?)\b[^=]*=\s*[\w.]*load\w*\(")
_LONG_ENOUGH = 4
Says = Callable[[View, Site, Event, "Loop | None"], bool]
_EPOCHS = re.compile(r"epoch|iter|step|batch|while", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_OF_ALL = frozenset({"self", "args", "opts", "config", "torch", "load", "path", "join", "else", "load_state_dict", "print", "model", "range"})


def weights_gone_on_from(view: View, step: Event, optimizer: Value) -> Site | None:
    """The line that loads the weights alone that the training around a step of an optimizer goes on from; None where it begins anew,
    or the optimizer's state may be loaded, too."""
    sweeps = tuple(loop for loop in step.loops[:-1] if view.made_anew(optimizer, loop))  # by each turn of which another model is trained
    loops = step.loops[len(sweeps):]
    if any(map(never_turns, loops)):
        return None
    if not step.loops or sweeps != step.loops[:len(sweeps)] or any(_EPOCHS.search(_head(loop)) for loop in sweeps):
        return None  # it forgets by itself
    loop = next((loop for loop in loops if any(map(_BEGINNING.search, begins_by_name(loop)))), None)
    if loop is None and not in_files(view, step, r"(?<!def )save\w*\(") or brought_back(view, step, optimizer):
        return None
    if any(alt is optimizer for load in view.of("load") if _of_a_file(view, load) for alt in real(load.subject)):
        return None  # a helper that is handed several things fills each
    around = loop or loops[0]
    here = (step.site.parsed.facts, around.site.parsed.facts)
    loads = [load for load in view.of("load") if load.loops == sweeps and _of_a_file(view, load) and _trains(view, optimizer, load.subject)]
    loads = [load for load in loads if not _where_nothing_is_trained(view, load, optimizer)]
    for says in (_goes_on, _is_meant_to):
        for load in loads:
            for site in (load.site, *reversed(load.calls)):
                if site.parsed.facts not in here and not _made_beside(site, load, step, optimizer):
                    continue
                if site in step.calls or _ends_there(site, step, around):
                    continue
                if says(view, site, step, loop):
                    return site
        written = _as_written(view, step, optimizer, loop, says)
        if written is not None:
            return written
    again = (_own_again(view, load, step, around, here) or _by_option_elsewhere(load, step, around, here) for load in loads)
    return next((site for site in again if site is not None), None)


def _where_nothing_is_trained(view: View, load: Event, optimizer: Value) -> bool:
    """Whether a load comes only where the optimizer is not made: `if mode == "train": optimizer = Adam(...)`, `else: model.load_state_dict(...)`."""
    made = [create for create in view.of("optimizer.create") if create.subject is optimizer]
    return bool(made) and all(any(guard.contrary() in create.guards for guard in load.guards) for create in made)


def _made_beside(site: Site, load: Event, step: Event, optimizer: Value) -> bool:
    """Whether a place stands in the file that makes the optimizer, and is come to before the training."""
    made = getattr(optimizer, "site", None)
    return made is not None and site.parsed.facts is made.parsed.facts and _comes_before(load, step)


def _comes_before(load: Event, step: Event) -> bool:
    return load.serial < step.serial and not any(guard.contrary() in step.guards for guard in load.guards)


def _by_option_elsewhere(load: Event, step: Event, loop: Loop, here: tuple[FileFacts, ...]) -> Site | None:
    """Where a function of another file is called that asks for an option to resume, and fills what is trained."""
    sites = (load.site, *reversed(load.calls))
    shown = next((site for site in sites if site.parsed.facts in here and site not in step.calls), None)
    if shown is None or not _comes_before(load, step) or _ends_there(shown, step, loop):
        return None
    inner = sites[: sites.index(shown)]
    if not any(map(_by_option, inner)) or any(_about_others(site, heads_alone=True) for site in sites[len(inner) :]):
        return None
    heads = (line for site in sites for line in heads_of(site.parsed.facts.lines, site.location().row))
    return None if any(map(_ANEW.search, heads)) else shown


def _ends_there(load: Site, step: Event, loop: Loop) -> bool:
    """Whether the function that trains is left where the weights are loaded, or trains on another way only."""
    behind = stands_before(load, step, loop)
    return behind is not None and (leaves(load, behind) or excluded(load, behind))


def _head(loop: Loop) -> str:
    return loop.site.parsed.facts.lines[loop.site.location().row - 1] if loop.site is not None else ""


def _own_again(view: View, load: Event, step: Event, loop: Loop, here: tuple[FileFacts, ...]) -> Site | None:
    """Where a training begins with weights out of a file that it writes, too, or by a function that is called so."""
    read = read_in(load)
    shown = next((site for site in (load.site, *reversed(load.calls)) if site.parsed.facts in here and site not in step.calls), None)
    if read is None or shown is None or not _comes_before(load, step):
        return None
    named = read[1] if is_literal(*read) else ""
    if any(_about_others(site, named=named) for site in (read[0], load.site)):
        return None
    if any(_about_others(site, heads_alone=True) for site in load.calls):
        return None
    behind = stands_before(read[0], step, loop)
    if _ends_there(read[0], step, loop):
        return None
    if any(_RESUMING.match(getattr(site.parsed.unit, "name", "")) for site in (load.site, *load.calls)):
        return shown
    own = read[0].parsed.facts in here and written_again(view, *read, step, behind, _in_making(load))
    return shown if own or writes_what_it_read(view, load, step) else None


def _in_making(load: Event) -> bool:
    """Whether a model is filled where the object is made that it belongs to."""
    return any(getattr(site.parsed.unit, "name", "") == "__init__" for site in (load.site, *load.calls))


def _about_others(site: Site, heads_alone: bool = False, named: str = "", own: bool = False) -> bool:
    """Whether a place, or what it stands under, says that something else than this training is done with weights. Where the file is `named`
    in the program, as one of its own, they may be called pretrained; so may the option that it is the default of, where that is asked for, and
    what is asked for the program's `own` weights."""
    lines, row = site.parsed.facts.lines, site.location().row
    told = [line for line in heads_of(lines, row) if not line.lstrip().startswith(("def ", "async def ", "class "))]
    if re.fullmatch(r"[A-Za-z_]\w*\.\w+", named):
        told = [line.replace(named, "") for line in told]
    told += [] if heads_alone else [_PRETRAINED.sub("", lines[row - 1]) if named else lines[row - 1]]
    told = [_PRETRAINED.sub("", line) for line in told] if own else told
    if any(_ELSE.search(line) or _OTHERS.search(line) or _PHASE.search(line) for line in told):
        return True
    return _OTHERS.search(os.path.basename(site.parsed.facts.path)) is not None


def _of_a_file(view: View, load: Event) -> bool:
    if any(map(from_file, real(load.get("state")))) or "torch.load(" in load.site.text() or is_out_of_a_file(view, load.site):
        return True
    return next(reads_of(view, load), None) is not None


def _as_written(view: View, step: Event, optimizer: Value, loop: Loop | None, says: Says) -> Site | None:
    """The same, of loads that only the text shows."""
    seen = {load.site.location() for load in view.of("load") if not _trains(view, optimizer, load.subject)}
    for load, place in _loads_around(view, step, loop):
        if load.site.location() in seen or not updated_by_name(view, getattr(optimizer, "site", None), load.owner):
            continue
        behind = stands_before(place, step, loop or step.loops[0])
        if behind is None or leaves(place, behind) or excluded(place, behind):
            continue
        if says(view, load.site, step, loop):
            return load.site
        if place is load.site and (_same_file(load) or says is _is_meant_to and _written_by(view, load, step, behind)):
            return load.site
    return None


def _written_by(view: View, load: WrittenLoad, step: Event, behind: Site) -> bool:
    """Whether the training around a step writes the file of a load that is about nothing else. Where the epochs begin at a number that has
    a name, the program's own weights may be called pretrained."""
    goes_on = begins(step.loops[0]) is not None
    return not _about_others(load.site, own=goes_on) and written_again(view, load.site, load.source, step, behind)


def _loads_around(view: View, step: Event, loop: Loop | None) -> Iterator[tuple[WrittenLoad, Site]]:
    """The loads that are written in the functions that lead to a step, and those of models that other functions make for these; each
    with its place there."""
    for place in dict.fromkeys((*step.calls, (loop or step.loops[0]).site)):
        if place is not None:
            yield from ((load, load.site) for load in written_loads(view, place))
            yield from loads_of_made(view, place)


def _goes_on(view: View, site: Site, step: Event, loop: Loop | None) -> bool:
    """Whether what stands around a load says that the training around a step goes on from it."""
    if any(_ANEW.search(line) for line in heads_of(site.parsed.facts.lines, site.location().row)) or _in_else_for_else(site):
        return False
    if loop is not None and _is_resumed(site, loop):
        return True
    if _by_option(site) or _counts_on(view, site, step) or _names_beginning(site, step.loops[0]):
        return True
    return named_by(site, counted_from(loop or step.loops[0]))


def _is_meant_to(view: View, site: Site, step: Event, loop: Loop | None) -> bool:
    """Whether there is no other use for a load under an `if`: the epochs begin at a number that an option gives, or the checkpoints that
    the training writes have the optimizer's state, too."""
    lines, row = site.parsed.facts.lines, site.location().row
    heads = [line.split("#", 1)[0] for line in heads_of(lines, row)]
    asks = [line for line in heads if line.lstrip().startswith(("if ", "if(", "elif ", "try:")) and "__name__" not in line]
    asks = [line for line in asks if not _HELD.search(line)]
    if not asks or any(_ELSE.search(line) for line in (lines[row - 1], *asks)) or _WHICH.search(asks[0]) or any(map(_ANEW.search, asks)):
        return False
    if _in_else_for_else(site):
        return False
    if any(_OTHERS.search(line) for line in around_row(lines, row)):
        return False
    return loop is not None and _by_number_of_options(loop) or _saves_optimizer(view, step)


_GIVEN = re.compile(r"(?<![\w.])(?:self\.)?(?:args?|opts?|options?|config|cfg|conf|hparams|params|flags)(?:\.\w|\[[\"']\w)", re.IGNORECASE)


def _by_number_of_options(loop: Loop) -> bool:
    """Whether the number that a loop begins at is an option's, or is made of one."""
    first = counted_from(loop) or ""
    if _GIVEN.match(first):
        return True
    given = re.compile(rf"(?<![\w.]){re.escape(first)}\s*=[^=].*{_GIVEN.pattern}", re.IGNORECASE)
    return any(given.search(line.split("#", 1)[0]) for line in loop.site.parsed.facts.lines)


def _saves_optimizer(view: View, step: Event) -> bool:
    """Whether a checkpoint that is written holds the state of the optimizer that steps, beside a model's."""
    owners = set(map(id, real(step.subject)))
    return any(
        {"model", "optimizer"} <= parts
        and any(id(alt.origin) in owners for value in (kept_in(view, event) or {}).values() for alt in real(value)
                if isinstance(alt, Opaque) and "optimizer_state" in alt.tags)
        for event, parts in checkpoints(view)
    )


def _names_beginning(site: Site, loop: Loop) -> bool:
    """Whether a load stands under an `if` that asks for the number that the loop begins at, or reads a file whose name has it; or is told by
    such an `if` for the number that is added to each turn's which file that is."""
    lines, row, first = site.parsed.facts.lines, site.location().row, counted_from(loop)
    if first is None:
        return any(_is_asked_and_named(site, added) for added in added_to_each(loop))
    if not re.fullmatch(r"[\w.]{3,}", first):
        return False
    asked = re.compile(rf"(?<![\w.]){re.escape(first)}\b")
    heads = [line for line in heads_of(lines, row) if line.lstrip().startswith(("if ", "elif "))]
    return any(asked.search(line.split("#", 1)[0]) for line in (*heads, *around_row(lines, row)))


def _is_asked_and_named(site: Site, number: str) -> bool:
    """Whether an `if` asks whether a number is another one than 0 over a load, and the file that is read is named by it: `if done > 0:
    load(f"{done}.pt")`."""
    lines, row = site.parsed.facts.lines, site.location().row
    word = rf"(?<![\w.]){re.escape(number)}"
    asks = re.compile(rf"\s*(?:el)?if\s*\(?\s*{word}\s*(?:(?:!=|>)\s*0\s*|>=\s*1\s*|is\s+not\s+None\s*)?\)?\s*:")
    return any(map(asks.match, heads_of(lines, row))) and re.search(rf"load\w*\(.*{word}\b", lines[row - 1]) is not None and not _about_others(site)


def _same_file(load: WrittenLoad) -> bool:
    """Whether what is loaded under an `if`, or tried, is the file that the training writes. Where the same function writes it, in a program
    that does nothing but train, that may be called a pretrained one."""
    lines, row = load.site.parsed.facts.lines, load.site.location().row
    heads = [line for line in heads_of(lines, row) if line.lstrip().startswith(("if ", "elif ", "try:")) and "__name__" not in line]
    if len(load.source) < _LONG_ENOUGH or not heads:
        return False
    same = re.compile(rf"\bsave\w*\(.*[,=(]\s*{re.escape(load.source)}\s*\)")
    here = any(same.search(line.split("#", 1)[0]) for line in _rest_of_unit(load.site))
    own = here and does_nothing_but_train(lines)
    asks = [_PRETRAIN.sub("", line) if own else line for line in (lines[row - 1], *heads)]
    return not any(_ELSE.search(line) or _OTHERS.search(line) for line in asks) and (here or any(same.search(line) for line in lines[row:]))


def _rest_of_unit(site: Site) -> list[str]:
    """The lines behind a place in its function; where it stands in none, those of its file that stand in none."""
    facts, unit, row = site.parsed.facts, site.parsed.unit, site.location().row
    outside = [item for item in facts.body if isinstance(item, Unit)]
    units = outside if unit in outside else [one for one in facts.functions.values() if one is unit]
    return [line for one in units for line in facts.lines[max(one.start - 1, row) : one.end]]


def _counts_on(view: View, site: Site, step: Event) -> bool:
    """Whether a number that the training counts is read beside the weights: `self.episode = checkpoint["episode"]`; in the rest of their
    block one that a loop begins at; or is taken out of the name of their file."""
    lines, row = site.parsed.facts.lines, site.location().row
    near = around_row(lines, row)
    for line in (*near, *(line for line in block_of(lines, row) if line not in near)):
        read = _COUNTED.match(line) or _TAKEN.match(line)
        for name in re.split(r"\s*=\s*", read[1].rstrip(" =")) if read is not None else ():
            begun, counted = rf"range\([^)]*(?<![\w.]){re.escape(name)}\b[^)]*,", rf"(?<![\w.]){_counted_up(name)}\s*\+="
            if in_files(view, step, f"{begun}|{counted}" if line in near else rf"range\(\s*{re.escape(name)}\b[^,)]*,"):
                return True
    named = (rf"range\(\s*{re.escape(name)}\b[^,)]*,|(?<![\w.]){_counted_up(name)}\s*\+=" for name in counts_of_name(site, near))
    return any(in_files(view, step, counted) for counted in named)


def _counted_up(name: str) -> str:
    """How a number may be called where it is counted up; that of an object is in its class."""
    owner, _, own = name.rpartition(".")
    return re.escape(name) if owner in ("", "self") else rf"(?:{re.escape(owner)}|self)\.{re.escape(own)}"


def _trains(view: View, optimizer: Value, model: Value | None) -> bool:
    """Whether an optimizer updates a model, as far as is known what it updates."""
    modules, _, whole = view.held_by(optimizer)
    if any(view.related_modules(held, alt) for held in modules for alt in real(model)):
        return True
    if modules or whole:
        return False
    run = {id(event.subject): event.subject for event in view.of("forward") if event.loops and event.subject is not None}
    return any(view.about("forward", alt) or any(view.related_modules(one, alt) for one in run.values()) for alt in real(model))


def _is_resumed(site: Site, loop: Loop) -> bool:
    """Whether what stands around a load says that a training goes on, or reads what the number that the loop begins at is from."""
    lines, row = site.parsed.facts.lines, site.location().row
    around = around_row(lines, row)
    asks = [line for line in heads_of(lines, row) if line.lstrip().startswith(("if ", "if(", "elif "))]
    others = any(_OTHERS.search(line) for line in asks) and not any(_RESUMED.search(line) for line in asks)
    if not others and any(_RESUMED.search(line) for line in around):
        return True
    first_lines, beginning = loop.site.parsed.facts.lines, re.escape(counted_from(loop) or "")
    assigned = re.compile(rf"(?<![\w.]){beginning}\s*=[^=]")
    first = [line for at, line in enumerate(first_lines, 1) if assigned.search(line) for line in (line, *heads_of(first_lines, at))]
    return bool(_names(first) & _names(asks if others else around))


def _by_option(site: Site) -> bool:
    """Whether a load stands under an `if` that asks for an option to resume, or reads the file that such an option names, and nothing
    says that it is about other weights."""
    lines, row = site.parsed.facts.lines, site.location().row
    heads = [line.split("#", 1)[0] for line in heads_of(lines, row)]
    asks = [line for line in heads if line.lstrip().startswith(("if ", "elif "))]
    told = helped(lines, asks)
    heads = [line.split("(", 1)[0] if line.lstrip().startswith(("def ", "async def ")) else line for line in heads]
    near = [_PRETRAINED.sub("", line) if told or _SAID.match(line) else line for line in around_row(lines, row)]
    at = [_PRETRAINED.sub("", line) if told else line for line in (lines[row - 1], *heads)]  # its help says whose weights they are
    if not asks or any(map(_for_else, at)) or any(map(_STAGED.search, lines)) or any(map(_OTHERS.search, near)):
        return False
    return told or any(map(_OPTION.search, asks)) or goes_on_from_option(site)


def _in_else_for_else(site: Site) -> bool:
    """Whether a place stands in the `else` of what is done where weights are for nothing else: `if not args.evaluate`."""
    return any(not holds and _NOT.match(text) and _ELSE.search(text) for text, holds in conditions_of(site))


def _for_else(line: str) -> bool:
    """Whether a line says that something else is done with weights, in each of the ways that it comes to them: not `if resume or test`."""
    return all(_ELSE.search(part) for part in re.split(r"\bor\b", line))


def _names(lines: list[str]) -> set[str]:
    """What lines speak of, the heads of functions and classes left out."""
    lines = [line for line in lines if not re.match(r"\s*(?:async def|def|class)\s", line)]
    return {name for line in lines for name in _NAME.findall(line.split("#", 1)[0])} - _OF_ALL
