"""What several rules ask of a program that runs as several processes."""

from __future__ import annotations

import ast
import re

from torchlint.dryrun.flow import before
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, number
from torchlint.rules.base import View
from torchlint.rules.mends.rows import tree_of

INIT = "torch.distributed.init_process_group"
# What conditions call the number of a process, or the one process that writes.
RANK = re.compile(r"rank|main_proc|is_main|master|primary|chief|leader|is_first|process_i|proc_id|world|\bnr\b|gpu|device|writer|distributed", re.I)
# Conditions that one process passes, and that all others do.
_RANK = r"(?:\w+\.)*(?:\w*rank(?:\(\))?|[gG]et_rank\(\))"
_MAIN = r"(?:\w+\.)*is_(?:local_|global_|world_)?(?:main|master)(?:_process|_ordinal)?(?:\(\))?"
ONE = re.compile(rf"^\(?(?:{_RANK} == \d+|not {_RANK}|0 == {_RANK}|{_MAIN})\)?$")
OTHERS = re.compile(rf"^\(?(?:{_RANK} (?:!=|>) 0|{_RANK}|not {_MAIN})\)?$")
_NO_GPU = re.compile(r"\b(?:gpu|device|cuda)(?:_?(?:id|index))?\s+is\s+(?P<one>not\s+)?None\b")
_LOCAL = re.compile(r"local_rank|LOCAL_RANK|set_device\(|spawn\(")
_FIRST_HERE = re.compile(r"^(?:(?:\w+\.)*local_rank == 0)(?: and (?!.*rank).*)?$")
_IN_THE_RUN = re.compile(r"\bglobal_rank\s*=\s*(?:int\()?(?:os\.environ|os\.getenv|(?:torch\.distributed|dist)\.get_rank)")
_LEAVES = re.compile(r"\bif\b[^\n]*(?:rank|main_proc|is_main|master|primary)[^\n]*:\s*(?:#[^\n]*)?\s*(?:return|continue|sys\.exit)\b", re.I)


def starts(view: View) -> list[Event]:
    """The events that make a run one of several processes."""
    inits = [event for event in view.of("call") if event.name == INIT and number(event.kwargs.get("world_size")) != 1]
    return inits + [event for event in view.of("wrap") if event.subject.type.endswith("DistributedDataParallel")]


def of_one_process(view: View) -> bool:
    """Whether every group that a run starts is said to be of one process: `init_process_group(..., world_size=1)`."""
    inits = [event for event in view.of("call") if event.name == INIT]
    return bool(inits) and all(number(event.kwargs.get("world_size")) == 1 for event in inits)


def one_process(event: Event) -> bool:
    """Whether a condition lets one process alone come to an event."""
    return any(
        (ONE if holds else OTHERS).match(part.strip())
        for site, holds in event.guards
        for part in (site.text().split(" and ") if holds else [site.text()])
    )


def on_one_machine(*sites: Site) -> bool:
    """Whether the files say that several processes share a machine, and its disk."""
    return any(_LOCAL.search(line) for site in sites for line in site.parsed.facts.lines)


def one_of_several(view: View, event: Event) -> Event | None:
    """What made the run one of several processes before an event, on some path; None if nothing did."""
    wanted = set(starts(view))
    found, _ = before(event, lambda other: other in wanted)
    return min(found, key=lambda start: start.site.location().row) if found else None


def by_rank(event: Event, start: Event | None = None) -> bool:
    """Whether only some processes may come to an event: a condition around it, or one that has left before it, speaks of
    the process. Under which condition the run became several processes does not tell them apart."""
    shared = start.guards if start is not None else ()
    own = [guard for guard in event.guards if guard not in shared]
    if any(RANK.search(site.text()) or _of_rank(site) for site, _ in own):
        return True
    return _left_before(event)


def without_own_gpu(event: Event) -> bool:
    """Whether an event is for a process that was given no GPU of its own: `if args.gpu is None`, beside another way for those
    that were. Such a process has all GPUs of its machine, and is alone there."""
    asked = ((_NO_GPU.search(site.text()), holds) for site, holds in event.guards)
    return any(found is not None and holds is not bool(found["one"]) for found, holds in asked)


def called_by_rank(view: View, event: Event) -> bool:
    """Whether a function that nobody calls in view is called in another file of the project under a condition that speaks
    of the process."""
    unit, path = event.site.parsed.unit, event.site.parsed.facts.path
    project = view.run.world.project_of(path)
    if event.calls or unit.name[0] == "<" or project is None:
        return False
    name = unit.name.rpartition(".")[2]
    users = [project.files[user.path].code for user in project.users(path) if user.path in project.files]
    return any(name in code and _calls_by_rank(code, name) for code in users)


def _calls_by_rank(code: str, name: str) -> bool:
    try:
        tests = [node for node in ast.walk(tree_of(code)) if isinstance(node, ast.If)]
    except (SyntaxError, ValueError, RecursionError):
        return False
    asked = (item for test in tests if RANK.search(ast.unparse(test.test)) for part in test.body for item in ast.walk(part))
    return any(isinstance(item, ast.Call) and ast.unparse(item.func).rpartition(".")[2] == name for item in asked)


def once_per_machine(event: Event) -> Site | None:
    """The condition that lets the first process of each machine come to an event, in a class or file that knows the process's
    number in the whole run, too: it is written for several machines."""
    asked = [(site, holds) for site, holds in event.guards if RANK.search(site.text())]
    if len(asked) != 1 or not asked[0][1] or not _FIRST_HERE.search(asked[0][0].text()):
        return None
    lines = asked[0][0].parsed.facts.lines
    return asked[0][0] if not _left_before(event) and any(_IN_THE_RUN.search(line) for line in lines) else None


def _of_rank(site: Site) -> bool:
    """Whether a condition asks for a name that was set by the rank, a few lines before: `first = rank == 0 and save`; not for one that
    stands before the rank among the parameters of its function, or among what is handed over in a call."""
    lines = _SIGNATURE.sub("", before_in_unit(site), count=1).splitlines()
    return any(
        (given := re.search(rf"(?<![\w.]){re.escape(name)}\s*=(?!=)", line)) is not None
        and not _in_brackets(line[: given.start()]) and RANK.search(line.split("=", 1)[1])
        for name in set(re.findall(r"[A-Za-z_][\w.]*", site.text()))
        for line in lines
    )


_SIGNATURE = re.compile(r"\A\s*(?:async\s+)?def\s+\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[^:\n]*:")


def _in_brackets(text: str) -> bool:
    """Whether a line is within brackets at the end of a part of it."""
    return text.count("(") > text.count(")")


def _left_before(event: Event) -> bool:
    """Whether a process may have left before it comes to an event. Where is asked only of functions in which any may."""
    places = (site for site in (event.site, *event.calls) if _LEAVES.search(unit_text(site)))
    return any(_LEAVES.search(before_in_unit(site)) for site in places)


def before_in_unit(site: Site) -> str:
    """The source of a function as far as a place in it."""
    unit, row = site.parsed.unit, site.location().row
    return "".join(site.parsed.facts.lines[unit.start - 1 : row - 1])


def unit_text(site: Site) -> str:
    """The source of the function that a place is in; of the whole file for what stands outside functions."""
    facts, unit = site.parsed.facts, site.parsed.unit
    return "".join(facts.lines if unit.name[0] == "<" else facts.lines[unit.start - 1 : unit.end])
