"""Random changes that an item of a data set makes of what libraries have for it: `RandomCrop(32)(x)`, `rotate(x, random.uniform(-9, 9))`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Opaque
from torchlint.rules.shared.loaders import calls_always_made
from torchlint.rules.shared.random_transforms import COMPOSED, changes_at_random
from torchlint.rules.shared.written_names import qualified

# A number that is drawn; `random.choice(self.files)` draws another sample.
_A_NUMBER = re.compile(
    r"-?\s*(?:(?:int|float|round|math\.floor)\()?\s*(?:(?:np|numpy)\.random\.|random\.)(?:(?:randint|randrange|random|rand|uniform|normal|gauss|triangular"
    r"|random_sample)\(|choice\([\[(][-\d., ]+[\])]\))"
)
_PLACE = re.compile(r"\bRandom\w*Crop\.get_params\(|\bRandomRotation\.get_params\(|\bRandomAffine\.get_params\(")
_FUNCTIONS = re.compile(r"^torchvision\.transforms\.(?:v2\.)?functional\.(?:crop|resized_crop|rotate|affine|adjust_\w+)$")
_SEEDS = re.compile(r"\bseed\(|\bmanual_seed\(")


def made_at_random(parsed: Parsed, definition: cst.FunctionDef) -> Opaque | None:
    """A call in a method that is made whenever the method is, and that changes what it is given at random."""
    if _may_end_before(definition) or _SEEDS.search(parsed.text(definition.body)):
        return None
    given = _given(definition)
    numbers = _numbers(parsed, definition)
    for call in calls_always_made(definition.body):
        if any(isinstance(part, cst.BooleanOperation) for part in parsed.around(call)):
            continue
        found = _transform(parsed, call.func, given) or _by_a_number(parsed, call, numbers)
        if found is not None:
            return found
    return None


def applied(called: cst.BaseExpression) -> cst.BaseExpression:
    """What is applied by a call: `self.flips` in `self.flips(x)`, and in `self.flips.augment_image(x)` of imgaug."""
    return called.value if isinstance(called, cst.Attribute) and called.attr.value in _APPLIED_BY else called


_APPLIED_BY = frozenset({"augment_image", "augment_images", "to_deterministic"})


def _may_end_before(definition: cst.FunctionDef) -> bool:
    """Whether a condition may end the method before its end."""
    conditions = (node for node in walk(definition.body) if isinstance(node, cst.If))
    return any(isinstance(inner, cst.Return) for node in conditions for inner in walk(node))


def _assignments(definition: cst.FunctionDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names of a method and what each is given, pair by pair where there are several."""
    for node in walk(definition.body):
        if not isinstance(node, cst.Assign):
            continue
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                yield target.target.value, node.value
            elif isinstance(target.target, cst.Tuple):
                names = [element.value for element in target.target.elements]
                values = [element.value for element in node.value.elements] if isinstance(node.value, cst.Tuple) else []
                values = values if len(values) == len(names) else [node.value] * len(names)
                yield from ((name.value, value) for name, value in zip(names, values, strict=True) if isinstance(name, cst.Name))


def always_given(parsed: Parsed, definition: cst.FunctionDef, is_one: Callable[[str], bool]) -> set[str]:
    """The names of a method that are given nothing but what has a text of some kind."""
    given: dict[str, bool] = {}
    for name, value in _assignments(definition):
        given[name] = given.get(name, True) and is_one(parsed.text(value))
    return {name for name, always in given.items() if always}


def _given(definition: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    """What the names of a method stand for that are given something once, under no condition."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for name, value in _assignments(definition):
        found.setdefault(name, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _numbers(parsed: Parsed, definition: cst.FunctionDef) -> set[str]:
    """The names of a method that are given nothing but numbers that are drawn."""
    return always_given(parsed, definition, lambda text: bool(_A_NUMBER.match(text) or _PLACE.search(text)))


def _transform(parsed: Parsed, called: cst.BaseExpression, given: dict[str, cst.BaseExpression]) -> Opaque | None:
    """The random transform that is called, where the method makes it: `Compose([RandomCrop(32), ToTensor()])(x)`."""
    called = applied(called)
    made = given.get(called.value) if isinstance(called, cst.Name) else called
    if not isinstance(made, cst.Call):
        return None
    name = qualified(Site(parsed, made), made.func)
    if changes_at_random(name, parsed.text(made)):
        return Opaque(name, "call", Site(parsed, made))
    parts = made.args[0].value if name.endswith(COMPOSED) and made.args else None
    parts = given.get(parts.value) if isinstance(parts, cst.Name) else parts
    for element in parts.elements if isinstance(parts, cst.List | cst.Tuple) else ():
        if (found := _transform(parsed, element.value, given)) is not None:
            return found
    return None


def _by_a_number(parsed: Parsed, call: cst.Call, numbers: set[str]) -> Opaque | None:
    """`functional.rotate(image, angle)` by an angle that was drawn, `image.crop((x, y, x + 9, y + 9))` at a place that was."""
    name = qualified(Site(parsed, call), call.func)
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) and not name else ""
    if _FUNCTIONS.match(name):
        drawn = any(_is_drawn(parsed, arg.value, numbers) for arg in call.args[1:])
    elif method == "crop" and len(call.args) == 1 and isinstance(box := call.args[0].value, cst.Tuple) and len(box.elements) == 4:
        drawn = all(_is_drawn(parsed, element.value, numbers) for element in box.elements[:2])
    else:
        drawn = method == "rotate" and bool(call.args) and _is_drawn(parsed, call.args[0].value, numbers)
    return Opaque(name or method, "call", Site(parsed, call)) if drawn else None


def _is_drawn(parsed: Parsed, value: cst.BaseExpression, numbers: set[str]) -> bool:
    """Whether a value is a number that was drawn, or is drawn where it stands."""
    text = parsed.text(value)
    return text in numbers or _A_NUMBER.match(text) is not None
