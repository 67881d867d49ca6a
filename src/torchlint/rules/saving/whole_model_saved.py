"""902: the model object itself is pickled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchlint.dryrun.values import Class, Dict, Event, Instance, Method, Opaque, Seq, Value, from_file, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import put_together

CODE = 902
CALLS = frozenset({"pickle.dump", "cPickle.dump", "dill.dump", "cloudpickle.dump", "joblib.dump"})
# What models are made by whose form is in no source. Words of names: not the letters in ColorJitter, description, traceback.
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FORMED = re.compile(r"(?:torch)?script(?:ed|ing)?|trac(?:ed?|er|ing)|jit(?:ted)?|quant(?!um|ile|it).*|prun.*|qat|qnn", re.IGNORECASE)

_TRACE = re.compile(r"trac(?:er?|ing)|script", re.IGNORECASE)
_OF_LOSSES = re.compile(r"loss(?:es)?|errors?|penalty", re.IGNORECASE)
_OF_MODELS = re.compile(r"is|models?|net(?:work)?s?|modules?|graphs?|symbolic|make|fx|fn|func(?:tion)?|forward|mode|wrapper|inputs?|encoder|decoder", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`torch.save(model, path)`, or `pickle.dump(model, file)`."""
    for event in view.of("save"):
        given = real(event.args[0]) if len(event.args) > 1 else ()
        if not event.site.node.args:
            continue  # what a partial() was given stands elsewhere
        text = event.site.parsed.text(event.site.node.args[0].value)
        uncalled = next((alt for alt in _all_of(event, given) if _is_uncalled(alt, event)), None)
        if uncalled is not None:
            owner = getattr(uncalled.owner if isinstance(uncalled, Method) else uncalled.origin, "name", "") or "model"
            yield Report(CODE, put_together(event), {"model": owner}, words=_UNCALLED)
            continue
        if given and all(isinstance(alt, Dict) for alt in given):
            keys, given = _in_dict(view, event)
            first, *inner = keys or (None,)
            text = f"{text}[{first!r}]" if re.fullmatch(r"\w+", text) else str(first)
            text += "".join(f"[{key!r}]" for key in inner)
        elif len(given) == 1 and isinstance(given[0], Seq):
            given = next((one for item in view.run.known_items(given[0]) if _is_whole(view, event, one := real(item))), ())
            text = next((one.name for one in given if getattr(one, "name", "")), "model")
        if _is_whole(view, event, given):
            yield Report(CODE, put_together(event), {"model": text if len(text) <= 40 else "model", "cost": _cost(view, given)})
    for event in view.of("call"):
        if event.name not in CALLS or len(event.args) < 2 or not event.site.node.args:
            continue
        text = event.site.parsed.text(event.site.node.args[0].value)
        given = next((one for one in _dumped(view, event.args[0]) if _is_whole(view, event, one)), None)
        if given is not None:
            roles = {"call": event.name, "model": text if len(text) <= 40 else "model", "cost": _SOURCE if _of_project(view, given) else _IMPORT}
            yield Report(CODE, event.site, roles, words=_PICKLED)


_PICKLED = (
    "`{call}({model}, ...)` pickles the object{cost}",
    "save `{model}.state_dict()` with `torch.save`, and load it into a model that the source builds",
)


_UNCALLED = (
    "`{model}.state_dict` is the method, as nothing calls it: `torch.save` pickles it with the whole of `{model}`",
    "call it: `{model}.state_dict()`",
)
_HAS_STATE = re.compile(
    r"model|net(?:work)?\d*(?:_|$)|module|encoder|decoder|generator|discriminator|actor|critic|optim|sched|scaler", re.IGNORECASE
)
_KEPT = re.compile(r"\.state_dict\s*=[^=]")


def _all_of(event: Event, given: tuple[Value, ...]) -> Iterator[Value]:
    """What is written, and what a dict of it has."""
    yield from given
    items = event.get("items")
    for value in items.known.values() if items is not None else ():
        yield from real(value)


def _is_uncalled(value: Value, saved: Event) -> bool:
    """Whether a value is the method `state_dict` of a model or an optimizer, and not what it gives."""
    if isinstance(value, Method):
        return value.name == "state_dict" and isinstance(value.owner, Instance) and value.owner.kind in _WITH_STATE
    if not isinstance(value, Opaque) or value.source != "attr" or value.name != "state_dict" or not isinstance(value.origin, Opaque):
        return False
    owner = value.origin
    has_one = owner.tags & {"module", "optimizer", "scheduler"} or _HAS_STATE.search(owner.name or "")
    return bool(has_one) and not any(_KEPT.search(line) for line in saved.site.parsed.facts.lines)


_WITH_STATE = frozenset({"module", "wrapper", "optimizer", "scheduler", "scaler"})


def _dumped(view: View, value: Value) -> Iterator[tuple[Value, ...]]:
    """What a pickle gets, and what stands in a tuple, list or dict of that."""
    yield real(value)
    for alt in real(value):
        if isinstance(alt, (Seq, Dict)):
            yield from (real(item) for item in view.run.known_items(alt))


def _is_whole(view: View, event: Event, given: tuple[Value, ...]) -> bool:
    """Whether what is written is a model, of whichever alternative, whose form the source tells. What was read from a file is what the
    program itself has written."""
    made = tuple(value for value in given if not from_file(value))
    given = made if made and any(map(_is_module, made)) else given
    if not given or not all(_is_module(value) or id(value) in _wrapped(view) or _is_copy(value) for value in given):
        return False
    return not any(map(_of_a_form, (event.site.text(), event.site.path))) and not any(map(_names_a_form, event.site.parsed.facts.words))


def _of_a_form(text: str) -> bool:
    return any(map(_FORMED.fullmatch, _WORDS.findall(text)))


def _names_a_form(name: str) -> bool:
    """The same of a name of the file: `set_trace` the trace of something else, `loss_trace`, and `eval_script` are about no model; nor is a
    loss, as that of a code that is to be binary: `quantization_loss`."""
    words = _WORDS.findall(name)
    if any(map(_OF_LOSSES.fullmatch, words)):
        return False
    formed = [word for word in words if _FORMED.fullmatch(word)]
    return bool(formed) and not (len(words) > len(formed) and all(map(_TRACE.fullmatch, formed)) and not any(map(_OF_MODELS.fullmatch, words)))


def _in_dict(view: View, event: Event) -> tuple[tuple[object, ...], tuple[Value, ...]]:
    """The first model among what a dict has, and its key; or in a dict in there, such as an object of the program gives of itself, the
    keys that lead to it."""
    items = event.get("items")
    return next(_models_in(view, items.known), ((), ())) if items is not None else ((), ())


_DEEPEST = 3


def _models_in(view: View, known: Mapping[object, Value], above: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], tuple[Value, ...]]]:
    """The models in a dict, then those in the dicts that are in it, with their keys."""
    for key, value in known.items():
        alts = tuple(alt for alt in real(value) if not from_file(alt)) or real(value)
        if alts and all(_is_module(alt) or _is_copy(alt) for alt in alts):
            yield (*above, key), alts
    for key, value in known.items() if len(above) < _DEEPEST else ():
        for inner in real(value):
            items = view.run.items_now(inner) if isinstance(inner, Dict) and not from_file(inner) else None
            if items is not None:
                yield from _models_in(view, items.known, (*above, key))


_SOURCE = ", with the paths of its classes: the file opens only beside the same source"
_IMPORT = ", with the paths of its classes: the file opens only where they can be imported"
_REFUSED = " and not its values: `torch.load` refuses the file since PyTorch 2.6, unless told `weights_only=False`"


def _cost(view: View, given: tuple[Value, ...]) -> str:
    """What is true of the file: classes of the project want their source, those of installed packages are there anyway."""
    if _of_project(view, given):
        return _SOURCE
    return _REFUSED if all(isinstance(part, Instance) for value in given for part in _parts(view, value)) else _IMPORT


def _of_project(view: View, given: tuple[Value, ...]) -> bool:
    parts = (part for value in given for part in _parts(view, value))
    return any(isinstance(part, Instance) and isinstance(part.cls, Class) for part in parts)


def _parts(view: View, module: Value) -> list[Value]:
    """A module and all that is in it, as far as known."""
    found: dict[int, Value] = {}
    todo = [module]
    while todo:
        item = todo.pop()
        if id(item) not in found:
            found[id(item)] = item
            todo.extend(child for child in view.run.children.get(id(item), ()) if view.is_module(child))
            if isinstance(item, Instance) and item.kind == "wrapper":
                todo.extend(real(item.args[0]) if item.args else ())
    return list(found.values())


# A copy of what a program calls its model, out of its wrapper or not: `deepcopy(de_parallel(model)).half()`.
_COPY = re.compile(
    r"(?:copy\.)?deepcopy\((?:[\w.]+\()?((?:\w+\.)*(?:\w*model|\w*net|ema))(?:\.module)?\){1,2}(?:\.(?:half|float|cpu|eval)\(\))*"
)


def _is_copy(value: Value) -> bool:
    """Whether a copy is one of a model by its name, of a class that is in no file: the file trains it, or makes it of a class."""
    copied = _COPY.fullmatch(value.site.text()) if isinstance(value, Opaque) and value.site is not None and "copy" in value.tags else None
    if copied is None:
        return False
    name = re.escape(copied[1].partition(".")[0] if copied[1].endswith(".ema") else copied[1])
    known = re.compile(rf"(?<![\w.]){name}(?:\.(?:named_)?parameters\(|\.train\(|\.eval\(|\s*=\s*(?:\w+\.)*[A-Z]\w*\()")
    return any(known.search(line) for line in value.site.parsed.facts.lines)


def _wrapped(view: View) -> set[int]:
    """What the wrappers hold that are called: `model.module if hasattr(model, "module") else model`."""
    wrappers = [alt for event in view.of("forward") for alt in real(event.subject) if isinstance(alt, Instance) and alt.kind == "wrapper" and alt.args]
    return {id(inner) for wrapper in wrappers for inner in real(wrapper.args[0])}


def _is_module(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper") and not (isinstance(value.cls, Class) and "?" in value.cls.externals())
    if type(value) is not Opaque:
        return False
    if value.source == "attr" and value.name == "module" and value.origin is not None:
        return _is_module(value.origin)  # what is in a wrapper, if it is one: `model.module if hasattr(model, "module") else model`
    return "module" in value.tags and "copy" not in value.tags
