"""613: the data for evaluation go through random transforms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Dict, Event, Instance, Opaque, Seq, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.drawn_items import ASKS, changed_at_random, leaves_early
from torchlint.rules.shared.loaders import body_of, created, option, trained_on, written
from torchlint.rules.shared.made_in_items import applied
from torchlint.rules.shared.ordered_samplers import counts_a_range
from torchlint.rules.shared.random_transforms import COMPOSED, changes_at_random

CODE = 613
_EVALUATION = re.compile(r"^(?:test|val|valid|validation|eval|dev)$", re.IGNORECASE)
_ON_PURPOSE = re.compile(r"(?:\b|_)tta(?:\b|_)|test.?time|contrastive|simclr|two_?crops?\b|n_views|\bbyol\b", re.IGNORECASE)
_TRAINS = re.compile("train", re.IGNORECASE)  # whatever the split is called
_STRING = re.compile(r"[\"']([^\"']*)[\"']")
_TRAIN_SECOND = (".CIFAR10", ".CIFAR100", ".MNIST", ".FashionMNIST", ".KMNIST")
_NAMED = re.compile("test|val|dev|hold|eval", re.IGNORECASE)
_PATH = re.compile(r"(?:^|[/\\_-])(?:val|valid|validation|test|testing|eval)(?:[/\\_-]|(?:19|20)\d\d|$)", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`CIFAR10(root, train=False, transform=augment)`."""
    for event in view.of("dataset.create"):
        made = event.subject
        if (
            not isinstance(made, Instance)
            or not made.type.startswith("torchvision.datasets.")
            or any(_ON_PURPOSE.search(line) for line in event.site.parsed.facts.lines)
        ):
            continue
        if _for_evaluation(event.site, made):
            random = _random_in(view, _transform_of(made)) if any(map(_evaluated, (event.site, *event.calls))) else None
        else:
            random = _of_phase(view, _transform_of(made))
        if random is None:
            continue
        name = _name_of(random)
        related = [(random.site, "this changes the image at random")] if random.site is not None else []
        yield Report(CODE, event.site, {"transform": name, "call": view.call_text(event.site)}, related)
    yield from _by_loader(view)


_LOADER = re.compile(
    r"(?i:(?:^|_)(?:val|valid|validation|test|testing|eval|evaluation)(?:_|\d|$|(?:data|loader|set|dl|iter)))"
    r"|(?<=[a-z])(?:Val|Valid|Validation|Test|Testing|Eval|Evaluation)(?![a-z])"  # of `loaderVal`
)
_PARTS = frozenset({"torch.utils.data.Subset", "torch.utils.data.dataset.Subset"})
# A condition that may keep a transform from the data that are evaluated on.
_OF_THE_SET = re.compile(r"\bif\b[^\n]*(?:train|mode|split|phase|val|test|aug|random)", re.IGNORECASE)
_SET_LATER = re.compile(r"\.\w*transforms?\s*=[^=]")


def _by_loader(view: View) -> Iterator[Report]:
    """`val_loader = DataLoader(...)` of a part of augmented data, or of a data set of the project that is given the transform."""
    for event, loader in created(view):
        name = loader.name.rsplit(".", 1)[-1]
        hook = next((unit for unit in _units_of(event) if unit in _HOOKS), None)
        if not _LOADER.search(hook or name) or _TRAINS.search(name) or trained_on(view, loader):
            continue
        lines = event.site.parsed.facts.lines
        if any(_ON_PURPOSE.search(line) or _SET_LATER.search(line) and "self." not in line for line in lines):
            continue
        given = real(option(loader, "dataset"))
        sampled = _sampled(view, loader)
        random = [
            _in_whole(view, dataset, part=True) if sampled else _in_data(view, dataset) or _as_in_training(view, loader, dataset) for dataset in given
        ]
        # Of data sets that branches choose among each is judged by itself.
        dataset, found = next((pair for pair in zip(given, random, strict=True) if pair[1] is not None), (None, None))
        if found is None:
            continue
        whole = not sampled and (not isinstance(dataset, Instance) or dataset.type not in _PARTS)
        made = dataset.site if whole else None  # a part has its line in common with the training set
        site = made or event.site
        related = [(found.site, "this changes the image at random")] if found.site is not None else []
        if site is not event.site:
            related.append((event.site, f"`{hook or name}` evaluates on it"))
        yield Report(CODE, site, {"transform": _name_of(found), "call": view.call_text(site)}, related)


# What a trainer asks for the loaders of its evaluation.
_HOOKS = frozenset({"val_dataloader", "test_dataloader"})


def _units_of(event: Event) -> list[str]:
    """The functions that make something: the one that does, and those that call it."""
    return [site.parsed.unit.name for site in (event.site, *event.calls)]


def _sampled(view: View, loader: Instance) -> bool:
    """Whether a loader takes a part of the numbers of a data set: the others are for somebody else."""
    samplers = real(option(loader, "sampler"))
    return bool(samplers) and all(
        isinstance(alt, Instance) and (alt.type.endswith(".SubsetRandomSampler") or counts_a_range(view, alt)) for alt in samplers
    )


def _in_data(view: View, dataset: Value) -> Opaque | Instance | None:
    """A random transform that all samples of a data set go through."""
    if isinstance(dataset, Instance) and dataset.type in _PARTS and dataset.args:
        wholes = [_in_whole(view, whole, part=True) for whole in real(dataset.args[0])]
        return wholes[0] if wholes and None not in wholes else None
    return _in_whole(view, dataset, part=False)


_SET = re.compile(r"(?:^|\.)[A-Z]\w*(?:Data[sS]et|Data|Folder|Images?|Loader)\w*$")
_TELLS = re.compile(r"train|test|val|eval|mode|split|phase|fold|aug|True|False|\*", re.IGNORECASE)


def _in_unseen(view: View, dataset: Opaque, part: bool) -> Opaque | Instance | None:
    """A random transform that a data set is given whose class is in no file, where nothing tells the class what the data are for: it was
    cut into parts for both, or has no other arguments that may say so."""
    if dataset.source != "call" or dataset.site is None or not isinstance(dataset.site.node, cst.Call) or not _SET.search(dataset.name):
        return None
    parsed, args = dataset.site.parsed, dataset.site.node.args
    given = [arg for arg in args if arg.keyword is not None and arg.keyword.value in ("transform", "transforms")]
    if len(given) != 1 or not part and any(_TELLS.search(parsed.text(arg)) for arg in args if arg not in given):
        return None
    found = [_random_in(view, value) for value in dataset.parts]
    return next((each for each in found if each is not None), None)


def _in_whole(view: View, dataset: Value, part: bool) -> Opaque | Instance | None:
    if type(dataset) is Opaque:
        return _in_unseen(view, dataset, part)
    if not isinstance(dataset, Instance):
        return None
    if isinstance(dataset.cls, Class):
        definition, parsed = body_of(view, dataset.cls, "__getitem__")
        if definition is None:
            return None
        if _OF_THE_SET.search(text := _OF_AN_IMAGE.sub("", written(parsed, definition))):
            return _whatever_is_asked(view, dataset, parsed, definition) or changed_at_random(view, dataset)
        values = (*dataset.args, *dataset.kwargs.values()) if _APPLIES.search(text) else ()
        given = next((found for value in values if (found := _random_in(view, value)) is not None), None)
        return given or _own_random(view, dataset, parsed, definition) or changed_at_random(view, dataset)
    whole = dataset.type.startswith("torchvision.datasets.")
    return _random_in(view, _transform_of(dataset)) if whole and part else None


def _whatever_is_asked(view: View, dataset: Instance, parsed: Parsed, definition: cst.FunctionDef) -> Opaque | Instance | None:
    """A random transform that a data set keeps and each item goes through, in a method that asks for something else what the data are for."""
    for node in () if leaves_early(parsed, definition) else walk(definition.body):
        called = node.func if isinstance(node, cst.Call) and _APPLIES.match(parsed.text(node).removeprefix("self.")) else None
        if not isinstance(called, cst.Attribute) or not isinstance(called.value, cst.Name) or called.value.value != "self":
            continue
        name = called.attr.value
        inside = takewhile(lambda part: part is not definition, parsed.around(node))
        if all(_asks_whether_given(parsed, part, name) for part in inside if isinstance(part, _CONDITIONAL)):
            kept = [each.value for each in view.of("setattr") if each.subject is dataset and each.name == name]
            found = [_random_in(view, value) for value in kept]
            if found and None not in found:
                return found[0]
    return None


def _as_in_training(view: View, loader: Instance, dataset: Value) -> Instance | None:
    """An augmentation of the project's own that a data set applies to each item, and that the training's data are given, too."""
    definition, parsed = body_of(view, dataset.cls, "__getitem__") if isinstance(dataset, Instance) and isinstance(dataset.cls, Class) else (None, None)
    text = written(parsed, definition) if definition is not None else ""
    if not _APPLIES.search(text) or ASKS.search(text):
        return None
    for value in (*dataset.args, *dataset.kwargs.values()):
        alts = [alt for alt in real(value) if isinstance(alt, Instance) and isinstance(alt.cls, Class) and _SAYS_SO.search(alt.cls.name)]
        made = alts[0] if len(alts) == len(real(value)) == 1 else None
        if made is not None and _draws(view, made) and not _is_told(made) and any(_trains_with(view, other, made.cls) for _, other in created(view)):
            return made
    return None


_SAYS_SO = re.compile(r"^Random|Augment")


def _is_told(made: Instance) -> bool:
    """Whether an augmentation is given something that may say that it is to do less here."""
    given = [alt for value in (*made.args, *made.kwargs.values()) for alt in real(value)]
    return any(_TELLS.search(name) or name in ("p", "prob") for name in made.kwargs) or any(
        isinstance(alt, Const) and (not alt.value or isinstance(alt.value, (bool, str))) for alt in given
    )


def _trains_with(view: View, loader: Instance, augmentation: Class) -> bool:
    """Whether a loader is one for training, of data that are given such an augmentation."""
    if not _TRAINS.search(loader.name) and not trained_on(view, loader):
        return False
    given = [value for alt in real(option(loader, "dataset")) if isinstance(alt, Instance) for value in (*alt.args, *alt.kwargs.values())]
    return any(isinstance(alt, Instance) and alt.cls is augmentation for value in given for alt in real(value))


_CONDITIONAL = (cst.If, cst.IfExp, cst.Else, cst.ExceptHandler, cst.FunctionDef, cst.Lambda, cst.BooleanOperation)


def _asks_whether_given(parsed: Parsed, part: cst.CSTNode, name: str) -> bool:
    """Whether a condition asks for nothing but whether there is such a transform."""
    return isinstance(part, cst.If) and re.fullmatch(rf"\(?self\.{name}\b(?: is not None| != None)?\)?", parsed.text(part.test)) is not None


def _own_random(view: View, dataset: Instance, parsed: Parsed, definition: cst.FunctionDef) -> Opaque | Instance | None:
    """A random transform that a data set makes itself, or finds in its file, and that each of its items goes through."""
    for node in walk(definition.body):
        if not isinstance(node, cst.Call):
            continue
        called = applied(node.func)
        if isinstance(called, cst.Attribute) and isinstance(called.value, cst.Name) and called.value.value == "self":
            name = called.attr.value
            kept = [each.value for each in view.of("setattr") if each.subject is dataset and each.name == name]
            found = [_random_in(view, value) for value in kept]
            if found and None not in found and not _is_switched(parsed, node, definition, name):
                return found[0]
        elif isinstance(called, cst.Name):
            value = view.run.exported(called.value, parsed.facts)
            if isinstance(value, Opaque) and (one := _random_in(view, value)) is not None:
                return one
    return None


def _is_switched(parsed: Parsed, node: cst.Call, definition: cst.FunctionDef, name: str) -> bool:
    """Whether a call stands under a switch of the data set, `if self.flips:`, other than whether there is such a transform."""
    switch = re.compile(rf"(?:^|\bnot |\band |\bor )\(?self\.(?!{name}\b)\w+\)?(?=$| and | or | is | [=!]= )")
    inside = takewhile(lambda part: part is not definition, parsed.around(node))
    return any(switch.search(parsed.text(part.test)) for part in inside if isinstance(part, cst.If | cst.IfExp))


_APPLIES = re.compile(r"\b(?:\w*transform\w*|\w*tfms?|\w*trans|\w*aug\w*)\(")
_OF_AN_IMAGE = re.compile(r"\b(?!self\b)\w+\.mode\b")


def _evaluated(site: Site) -> bool:
    """Whether the program says that it evaluates on the data set: `test_data = ...`, `"val": ...`, `def test():`."""
    place = site.location()
    lines = site.parsed.facts.lines
    text = lines[place.row - 1][: place.column - 1]
    for line in reversed(lines[max(0, place.row - 4) : place.row - 1]):
        if "=" in text or ":" in text:
            break
        text = line + text
    if "=" not in text and ":" not in text:
        text = site.parsed.unit.name
    return bool(_NAMED.search(text)) and not _TRAINS.search(text)


def _for_evaluation(site: Site, made: Instance) -> bool:
    train, split = made.kwargs.get("train"), made.kwargs.get("split", made.kwargs.get("image_set"))
    if train is None and made.type.endswith(_TRAIN_SECOND):
        train = made.arg(1, "train")
    if isinstance(train, Const):
        return train.value is False
    if isinstance(split, Const) and isinstance(split.value, str):
        return bool(_EVALUATION.match(split.value))
    root = made.arg(0, "root")
    if train is not None or split is not None or root is None:
        return False
    if isinstance(root, Const):
        return isinstance(root.value, str) and bool(_PATH.search(root.value))
    text = _root_text(site)
    return not _TRAINS.search(text) and any(_PATH.search(part) for part in _STRING.findall(text))


def _root_text(site: Site) -> str:
    """The path of a data set, as it is written: `os.path.join(folder, "val")`."""
    node = site.node
    given = node.args if isinstance(node, cst.Call) else ()
    named = [arg for arg in given if arg.keyword is not None and arg.keyword.value == "root"]
    first = named or [arg for arg in given[:1] if arg.keyword is None and not arg.star]
    text = site.parsed.text(first[0].value) if first else ""
    if text.isidentifier():
        lines = site.parsed.facts.lines
        given_to = [line.partition("=")[2] for line in lines if re.match(rf"\s*{text}\s*=[^=]", line)]
        text = given_to[0].split("#", 1)[0] if len(given_to) == 1 else text
    return text


def _transform_of(made: Instance) -> Value | None:
    place = 1 if made.type.endswith("ImageFolder") else 2 if made.type.endswith(_TRAIN_SECOND) else 99
    return made.arg(place, "transform")


def _of_phase(view: View, transform: Value | None) -> Opaque | Instance | None:
    """A random transform that a dict has for evaluation: `{x: ImageFolder(join(root, x), transforms[x]) for x in ["train", "val"]}`."""
    for alt in real(transform):
        table = alt.origin if type(alt) is Opaque and alt.source == "item" else None
        items = view.run.store.get(table, "{}") if isinstance(table, Dict) else None
        if items is None or items.open or not any(_TRAINS.search(str(key)) for key in items.known):
            continue
        for key, value in items.known.items():
            if _EVALUATION.match(str(key)) and (found := _random_in(view, value)) is not None:
                return found
    return None


def _random_in(view: View, transform: Value | None, depth: int = 0) -> Opaque | Instance | None:
    """A random transform in what is certainly applied: in each of the alternatives, where there are several."""
    found = [_random_in_one(view, alt, depth) for alt in real(transform)]
    return found[0] if found and None not in found else None


def _random_in_one(view: View, made: Value, depth: int) -> Opaque | Instance | None:
    if depth and isinstance(made, Instance) and _draws(view, made):
        return made
    if depth > 3 or not isinstance(made, Opaque):
        return None
    if changes_at_random(made.name, made.site.text() if made.site is not None else ""):
        return made
    if depth and made.source == "call" and made.site is not None and _AUGMENTS.search(made.name) and made.site.text().endswith("()"):
        return made
    if not made.name.endswith(COMPOSED):
        return None
    for part in made.parts:
        for item in view.run.known_items(part) if isinstance(part, Seq) else ():
            found = _random_in(view, item, depth + 1)
            if found is not None:
                return found
    return None


_DRAWN = re.compile(r"\brandom\.\w+\(|\bnp\.random\.\w+\(|\btorch\.rand\w*\(|\bget_params\(")


_OF_A_PART = re.compile(r"\bif\b[^\n]*(?:train|mode|split|phase|val|test)", re.IGNORECASE)
# A class that says that it augments; in no file, and told nothing of what for, it does.
_AUGMENTS = re.compile(r"(?:^|\.)(?:[A-Z]\w*)?Augment(?:er|or|ation)$")


def _draws(view: View, made: Instance) -> bool:
    """Whether an object is a transform of the project's own that changes what it is given at random, as its name and its text say."""
    if not isinstance(made.cls, Class):
        return False
    named_so, augments, changes = made.cls.name.startswith("Random"), _AUGMENTS.search(made.cls.name), _CHANGES.search(made.cls.name)
    definition, parsed = body_of(view, made.cls, "__call__") if named_so or augments or changes else (None, None)
    text = written(parsed, definition) if definition is not None else ""
    if not _DRAWN.search(text) or not named_so and _OF_A_PART.search(text):
        return False
    return bool(named_so or augments) or not _ASKS_ITSELF.search(text) and not _is_off(made)


# What a class that changes an image is called, and a condition of its own, other than one of how often.
_CHANGES = re.compile(r"Crop|Flip|Rotat|Jitter|Augment|Distort|Shear|Eras(?:e|ing)|Mirror|Affine|Cut[oO]ut")
_ASKS_ITSELF = re.compile(r"\b(?:el)?if\b[^\n]*?\b(?:self\.(?!p\b|prob|p_|\w*_p\b|\w*prob)\w+|isinstance)")


def _is_off(made: Instance) -> bool:
    """Whether a transform is given a number or a switch that may say that it does nothing."""
    given = [alt for value in (*made.args, *made.kwargs.values()) for alt in real(value)]
    return any(not isinstance(alt, Const) or not alt.value or alt.value == 1 for alt in given if not isinstance(alt, Seq))


def _name_of(random: Opaque | Instance) -> str:
    return random.cls.name if isinstance(random, Instance) else random.name.rsplit(".", 1)[-1]
