"""Models of a class that is in no file: what is known to be in each of their family, by its name, and what they are made with."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.rules.base import View

# Families whose every member has batch norm, with what is written before or behind the name: `resnet18`, `PreActResNet50`, `ResNeXt29_2x64d`.
# A bare `ResNet` is any net with skips (of equations, too), and so is `VGG`, which has had batch norm and dropout, or neither.
_WITH_MODES = re.compile(
    r"^(?:cifar_?|imagenet_?|pre_?act_?|preact_?|se_?|wide_?|i?)"
    r"(?:resnet_?v?\d+\w*|resnext\w*|dense_?net_?(?:bc_?)?\d+\w*|mobile_?net\w*|shuffle_?net\w*|efficient_?net\w*|mnasnet\w*|regnet\w*|xception\w*"
    r"|inception_?(?:v[2-4]|resnet)\w*|darknet_?\d+\w*|vgg_?\d+_?bn|wrn_?\d*\w*|wideresnet\w*|wide_resnet\w*)$",
    re.IGNORECASE,
)
# A part of one, what is made of it for another purpose, or one that has another norm, by its name.
_PART = re.compile(r"gn$|_gn|_ln|_in$|fixup|no_?bn|without|encoder|decoder|block|layer|head|stem|generator|loss|config|features|extractor|pretrained|tokenizer|processor|transform|norm(?!al)", re.IGNORECASE)
_TRAINS = re.compile(r"train|phase|stage|split", re.IGNORECASE)
_ASKS = re.compile(r"eval|mode(?!l)|infer|test|freez|predict|valid", re.IGNORECASE)


def in_training_by_its_family(view: View, model: Value) -> bool:
    """Whether a model is made here by the name of a family with batch norm, or with a dropout, by a class or function that is in no file, and
    nothing has asked it for a mode, or may have: no `eval()`, and no function out of view that got it. It may stand in a wrapper,
    `DataParallel(model)`."""
    made = _made(model)
    if made is None or "loaded" in made.tags or _PART.search(_called(made)) or not (_WITH_MODES.match(_called(made)) or _drops(made)):
        return False
    same = (made, model)
    for event in view.of("module.eval", "module.mode", "module.train"):
        if _is_one_of(event.subject, same):
            return False
    if any(_is_one_of(event.subject, same) and _is_told(event) for event in view.of("forward")):
        return False
    for event in view.of("unknown", "called"):
        if any(_is_one_of(value, same) for value in event.get("args", ())):
            return False
        if event.kind == "unknown" and _is_one_of(event.subject, same) and _ASKS.search(event.get("name") or ""):
            return False
    return not any(event.site is not None and "eval" in event.site.parsed.facts.words for event in view.of("forward"))


_DROPOUT = re.compile(r"^(?:\w+_)?drop_?out(?:_?(?:rate|ratio|p|prob|probability))?$|^(?:p_dropout|drop_?(?:rate|prob))$", re.IGNORECASE)


def _drops(made: Opaque) -> bool:
    """Whether a class is given what share it drops, as a number: `Tagger(words, dropout=0.5)`."""
    call = made.site.node if made.site is not None else None
    if not isinstance(call, cst.Call):
        return False
    return any(
        arg.keyword is not None and _DROPOUT.match(arg.keyword.value) and isinstance(arg.value, cst.Float) and 0 < float(arg.value.value) < 1
        for arg in call.args
    )


def _is_told(event: Event) -> bool:
    """Whether a model is told in a call what it is asked for, `model(x, is_training=False)`: it may drop nothing then."""
    given = event.site.node.args if isinstance(event.site.node, cst.Call) else ()
    named = (arg.keyword.value for arg in given if arg.keyword is not None)
    flag = any(isinstance(arg.value, cst.Name) and arg.value.value in ("True", "False") for arg in given)
    return flag or any(_TRAINS.search(name) or _ASKS.search(name) for name in named)


def _is_one_of(value: Value | None, wanted: tuple[Value, ...]) -> bool:
    return value is not None and any(alt is each for alt in real(value) for each in wanted)


def _made(model: Value) -> Opaque | None:
    while isinstance(model, Instance) and model.kind == "wrapper":
        inner = real(model.args[0]) if model.args else ()
        model = inner[0] if len(inner) == 1 else None
    return model if type(model) is Opaque and model.source == "call" and not model.name.startswith("torchvision.") else None


def _called(made: Opaque) -> str:
    return made.name.rpartition(".")[2]
