"""What rules about data loaders ask: a loader's options, the dataset it reads, what the dataset's methods do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.tree import children
from torchlint.dryrun.values import Class, Const, Event, Func, Instance, Opaque, Value, alternatives, number, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.sieve.facts import Unit

_PLACES = (
    "dataset",
    "batch_size",
    "shuffle",
    "sampler",
    "batch_sampler",
    "num_workers",
    "collate_fn",
    "pin_memory",
    "drop_last",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
)
ITERABLE = "torch.utils.data.IterableDataset"
MAP_STYLE = "torch.utils.data.Dataset"


def created(view: View) -> Iterator[tuple[Event, Instance]]:
    """The loaders of torch that a run makes, with all their options known by name."""
    for event in view.of("loader.create"):
        loader = event.subject
        if isinstance(loader, Instance) and not loader.kwargs.keys() & {"*", "**"}:
            yield event, loader


def loader_of(value: Value) -> Instance | None:
    """The loader that an input is a batch of, or a part of one, as it came."""
    for _ in range(8):
        alts = real(value)
        if len(alts) != 1:
            return None
        if isinstance(alts[0], Instance):
            return alts[0] if alts[0].kind == "loader" else None
        origin = alts[0].origin if isinstance(alts[0], Opaque) and alts[0].source in ("item", "op") else None
        if origin is None or not alts[0].tags & {"batch", "batch?"}:
            return None
        value = origin
    return None


def option(loader: Instance, name: str) -> Value | None:
    """What a loader was given for an option; None where the default holds."""
    value = loader.arg(_PLACES.index(name), name) if name in _PLACES else loader.kwargs.get(name)
    return None if isinstance(value, Const) and value.value is None else value


def one_by_default(site: Site, size: Value) -> bool:
    """Whether a size is an option of the command line, of which the file says that it is 1, or the one that reads the command line."""
    if type(size) is not Opaque or size.source != "attr":
        return False
    read = size.origin.site if isinstance(size.origin, Opaque) and size.origin.source == "call" and size.origin.name in _READS else None
    return any(_is_one_by_default(text_of(parsed), size.name) for parsed in {site.parsed, *([read.parsed] if read is not None else [])})


_READS = frozenset({"parse_args", "parse_known_args"})


def _is_one_by_default(text: str, option: str) -> bool:
    """Whether each parser of a file that has an option says so: one may be for training, and another for tests."""
    defaults = []
    for node in ast.walk(tree_of(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords}
            flags = [getattr(arg, "value", "") for arg in node.args]
            names = [given["dest"]] if "dest" in given else [str(flag).lstrip("-").replace("-", "_") for flag in flags]
            if option in names:
                defaults.append(given.get("default"))
    return bool(defaults) and all(default == 1 for default in defaults)


def workers(loader: Instance) -> int | None:
    """How many worker processes a loader starts; None where that is not known."""
    value = option(loader, "num_workers")
    if value is None:
        return 0
    counts = {number(alt) for alt in alternatives(value)}
    return int(counts.pop()) if len(counts) == 1 and None not in counts else None


def true(value: Value | None) -> bool:
    """Whether an option is on for certain."""
    return isinstance(value, Const) and bool(value.value)


def given(value: Value | None) -> bool:
    """Whether an object was given for certain, on every path."""
    return value is not None and all(isinstance(alt, Instance) for alt in alternatives(value))


def dataset_of(loader: Instance) -> Instance | None:
    """The dataset of a loader, where it is one of a class of the project."""
    found = datasets_of(loader)
    return found[0] if len(found) == 1 else None


def datasets_of(loader: Instance) -> list[Instance]:
    """The datasets that a loader may go through, where each is of a class of the project: one of several, `if args.data == "a": ...`."""
    alts = real(whole_dataset(option(loader, "dataset")))
    return list(alts) if all(isinstance(alt, Instance) and isinstance(alt.cls, Class) for alt in alts) else []


def style(dataset: Instance) -> str:
    """ "map" or "iterable" for a dataset whose bases are all known, or ""."""
    bases = {name for name in dataset.cls.externals() if not name.startswith(("typing.", "abc.", "builtins."))}
    return "map" if bases == {MAP_STYLE} else "iterable" if ITERABLE in bases and bases <= {ITERABLE, MAP_STYLE} else ""


def methods_within(cls: Class, name: str) -> list[Unit]:
    """A method of a class and the methods of the class that it mentions, and so on."""
    found: dict[int, Unit] = {}
    todo = [name]
    seen: set[str] = set()
    while todo:
        key = todo.pop()
        have = cls.method(key) if key not in seen else None
        seen.add(key)
        if have is not None:
            found[id(have[1])] = have[1]
            todo.extend(have[1].words)
    return list(found.values())


def body_of(view: View, cls: Class, name: str) -> tuple[cst.FunctionDef, Parsed] | tuple[None, None]:
    """The definition of a method and the tree it stands in."""
    have = cls.method(name)
    if have is None:
        return None, None
    return view.run.definition(Func(name, have[0].facts, have[1], have[0]))


def written(parsed: Parsed, node: cst.CSTNode) -> str:
    """The lines that a node stands in, without their comments. (`Parsed.text` makes one line of them.)"""
    place = parsed.location(node)
    lines = parsed.facts.lines[place.row - 1 : place.end_row]
    return "".join(line.split("#", 1)[0].rstrip() + "\n" for line in lines)


def calls_always_made(body: cst.BaseSuite) -> Iterator[cst.Call]:
    """The calls in a body that no condition stands around."""
    todo: list[cst.CSTNode] = list(body.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, (cst.If, cst.IfExp, cst.FunctionDef, cst.Lambda, cst.Try)):
            continue
        if isinstance(node, cst.Call):
            yield node
        todo.extend(children(node))


def trained_on(view: View, loader: Instance) -> bool:
    """Whether a backward runs in a loop over the loader."""
    return any(goes_over(loop.over, loader) for backward in view.of("backward") for loop in backward.loops)


def goes_over(value: Value | None, loader: Instance) -> bool:
    """Whether what a loop runs over is the loader, or `enumerate`, `zip` or `tqdm` around it."""
    for _ in range(6):
        if loader in real(value):
            return True
        value = getattr(value, "base", None)
        if value is None:
            return False
    return False
