"""Data sets of the project that change each of their items at random by themselves, in whatever mode they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Func, Instance, Opaque, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import body_of, calls_always_made, created, option, written
from torchlint.rules.shared.made_in_items import always_given, made_at_random

# What changes an image or a clip; not what draws another item, such as the second of a pair.
_CHANGES = re.compile(r"crop|flip|rotat|jitter|augment|distort|shear|eras(?:e|ing)|mirror|affine", re.IGNORECASE)
_DRAWN = re.compile(r"\brandom\.(?!seed)\w+\(|\bnp\.random\.(?!seed)\w+\(|\btorch\.rand\w*\(")
ASKS = re.compile(r"\bif\b[^\n]*(?:train|mode|split|phase|val|test|aug)", re.IGNORECASE)
_ASKED = re.compile(r"train|mode|split|phase|valid|test|\baug", re.IGNORECASE)
_TRAINS = re.compile("train", re.IGNORECASE)
_FOR_TESTS = re.compile(r"(?:^|_)(?:test|val|valid|eval)|(?-i:Test|Val|Eval)", re.IGNORECASE)

# What mirrors or turns an image, of numpy, OpenCV, Pillow and torchvision.
_TURNS = re.compile(
    r"(?:np|numpy)\.(?:flip|fliplr|flipud|rot90)\(|cv2?\.flip\(|torch\.flip\(|(?:\w+\.)*(?:hflip|vflip)\(|ImageOps\.(?:mirror|flip)\("
    r"|.*\.transpose\((?:\w+\.)*FLIP_\w+\)$"
)
_DRAW = r"(?:\w+\.)*(?:random|rand|randint|random_sample|uniform)\([^()]*\)"
_MORE_OR_LESS = r"(?:\.item\(\))?\s*(?:[<>]=?|==)\s*[\d.]+(?:\s*/\s*\d+)?"
# What is true or false by chance, as it is.
_COIN = (
    r"(?:\w+\.)*(?:getrandbits\(1\)|randrange\(2\)|choice\(2\)|choice\([\[(](?:True, ?False|False, ?True|0, ?1|1, ?0)[\])]\))"
    r"|random\.randint\(0, ?1\)|(?:np|numpy)\.random\.randint\((?:0, ?)?2\)|torch\.randint\((?:0, ?)?2, ?\(1,?\)\)(?:\.item\(\))?"
)
_CONDITIONAL = (cst.If, cst.IfExp, cst.Else, cst.Try, cst.FunctionDef, cst.Lambda, cst.BooleanOperation, cst.For, cst.While)


def changed_at_random(view: View, dataset: Instance) -> Opaque | None:
    """`x = self.random_crop(x)` in `__getitem__`, under no condition: the method, or the function of the file, that draws."""
    definition, parsed = body_of(view, dataset.cls, "__getitem__")
    if _FOR_TESTS.search(dataset.cls.name):
        return None  # it was written for this
    if definition is None or leaves_early(parsed, definition):
        return None
    for name, call, found, its in _own_calls(view, dataset, parsed, definition):
        if not _ASKED.search(parsed.text(call)) and (made := made_at_random(its, found)) is not None:
            return made
        text = written(its, found)
        if _ASKED.search(parsed.text(call)) or ASKS.search(text) or not (_DRAWN.search(text) or _is_given_a_draw(parsed, definition, call)):
            continue
        if _CHANGES.search(name):
            return Opaque(name, "call", Site(its, found))
        if (turned := _turned(its, found)) is not None:
            return turned
    return _turned(parsed, definition) or _cut_out(view, dataset, parsed, definition) or made_at_random(parsed, definition)


def _own_calls(
    view: View, dataset: Instance, parsed: Parsed, definition: cst.FunctionDef
) -> Iterator[tuple[str, cst.Call, cst.FunctionDef, Parsed]]:
    """The methods of a data set, and the functions of its file, that each of its items goes through: name, call, and definition."""
    for call in calls_always_made(definition.body):
        func = call.func
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self":
            name = func.attr.value
            found, its = body_of(view, dataset.cls, name)
        elif isinstance(func, cst.Name):
            name, value = func.value, view.run.exported(func.value, parsed.facts)
            found, its = view.run.definition(value) if isinstance(value, Func) and value.node is None else (None, None)
        else:
            continue
        if found is not None:
            yield name, call, found, its


def _is_given_a_draw(parsed: Parsed, definition: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether a call is given what the method draws, under no condition: `angle = np.random.rand() * 360`, `self.rotate(x, angle)`."""
    named = {
        target.target.value
        for line in definition.body.body if isinstance(line, cst.SimpleStatementLine)
        for node in line.body if isinstance(node, cst.Assign) and _DRAWN.search(parsed.text(node.value))
        for target in node.targets if isinstance(target.target, cst.Name)
    }
    given = [parsed.text(arg.value) for arg in call.args]
    return any(text in named or _DRAWN.search(text) for text in given)


def _turned(parsed: Parsed, definition: cst.FunctionDef) -> Opaque | None:
    """`if random.random() > 0.5: image = np.fliplr(image)`, under no other condition: the call."""
    if not _DRAWN.search(written(parsed, definition)):
        return None
    drawn = "|".join([_DRAW, *map(re.escape, sorted(_drawn_names(parsed, definition)))])
    asks_a_draw = re.compile(f"(?:{drawn}){_MORE_OR_LESS}|{_COIN}")
    coins = _coins(parsed, definition, asks_a_draw)
    for node in walk(definition.body):
        turns = _TURNS.match(parsed.text(node)) if isinstance(node, cst.Call) else None
        if turns is None:
            continue
        around = list(parsed.around(node))
        inside = [part for part in around[: around.index(definition)] if isinstance(part, _CONDITIONAL)]
        asked = inside[0].test if len(inside) == 1 and isinstance(inside[0], cst.If | cst.IfExp) else None
        text = parsed.text(asked).removeprefix("not ") if asked is not None else ""
        if text in coins or asks_a_draw.fullmatch(text):
            name = re.findall(r"\w+(?=\()", turns[0])[-1]
            return Opaque(name, "call", Site(parsed, node))
    return None


def _coins(parsed: Parsed, definition: cst.FunctionDef, asks_a_draw: re.Pattern[str]) -> set[str]:
    """The names that are nothing but true or false by chance: `flips = random.random() > 0.5`."""
    return always_given(parsed, definition, lambda text: asks_a_draw.fullmatch(text) is not None)


def _drawn_names(parsed: Parsed, definition: cst.FunctionDef) -> set[str]:
    """The names that a method gives what it draws."""
    return {
        target.target.value
        for node in walk(definition.body) if isinstance(node, cst.Assign) and _DRAWN.search(parsed.text(node.value))
        for target in node.targets if isinstance(target.target, cst.Name)
    }


def _cut_out(view: View, dataset: Instance, parsed: Parsed, definition: cst.FunctionDef) -> Opaque | None:
    """`image[top : top + size, left : left + size]` at a place that the item draws: the slices. Of one dimension they may be what the
    samples are, pieces of a text or a sound."""
    drawn = _drawn_names(parsed, definition)
    for node in walk(definition.body) if len(drawn) > 1 else ():
        if isinstance(node, cst.Subscript) and sum(_begins_at(parsed, element.slice, drawn) for element in node.slice) > 1:
            conditions = [part for part in parsed.around(node) if isinstance(part, cst.If | cst.IfExp | cst.Try | cst.FunctionDef)]
            asked = conditions[: conditions.index(definition)]
            if all(isinstance(part, cst.If) and _is_alike(view, dataset, parsed, part.test) for part in asked):
                return Opaque("crop", "call", Site(parsed, node))
            return None
    return None


def _begins_at(parsed: Parsed, index: cst.BaseSlice, drawn: set[str]) -> bool:
    """Whether a slice begins at one of these names, and ends at a number that is made of it."""
    if not isinstance(index, cst.Slice) or not isinstance(index.lower, cst.Name) or index.upper is None:
        return False
    name = index.lower.value
    return name in drawn and re.search(rf"\b{name}\b", parsed.text(index.upper)) is not None


def _is_alike(view: View, dataset: Instance, parsed: Parsed, test: cst.BaseExpression) -> bool:
    """Whether a condition asks for no mode, and for nothing but what a data set that is trained on was given as well."""
    text = parsed.text(test)
    asked = set(re.findall(r"\bself\.(\w+)", text))
    if _ASKED.search(text) or not asked and not isinstance(test, cst.Comparison):
        return False
    trained_on = [
        other for _, loader in created(view) if _TRAINS.search(loader.name)
        for other in real(option(loader, "dataset")) if isinstance(other, Instance) and other.cls is dataset.cls and other is not dataset
    ]
    return not asked or any(all(_kept(view, dataset, name) == _kept(view, other, name) != [] for name in asked) for other in trained_on)


def _kept(view: View, dataset: Instance, name: str) -> list[int]:
    """What a data set was given for an attribute, each by its identity."""
    return [id(each.value) for each in view.of("setattr") if each.subject is dataset and each.name == name]


def leaves_early(parsed: Parsed, definition: cst.FunctionDef) -> bool:
    """Whether a method that asks for the mode may end where it does: what stands behind is not for all modes."""
    asking = (node for node in walk(definition.body) if isinstance(node, cst.If) and ASKS.search(f"if {parsed.text(node.test)}"))
    return any(isinstance(inner, cst.Return | cst.Raise) for node in asking for inner in walk(node.body))
