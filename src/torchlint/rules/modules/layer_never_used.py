"""506: a layer is built and never used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache

from torchlint.dryrun.values import Class, Event, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.modules.modules_in_plain_container import _trains
from torchlint.rules.shared.reached_by_name import names_asked
from torchlint.sieve.facts import units_of

CODE = 506
_ANY = frozenset(
    {
        "_modules",
        "children",
        "modules",
        "named_children",
        "named_modules",
        "__dict__",
        "vars",
        "__getattr__",
        "get_submodule",
        "locals",
        "globals",
        "exec",
    }
)
# transformers' base of a family's models has a configuration, and what loads, but no layers and no forward.
_BASES = re.compile(r"(?:torch\.nn\.Module|lightning\.LightningModule|transformers\.(?:\w+\.)*\w*PreTrainedModel)$")
# What that base itself asks a model for.
_READ_BY_BASES = frozenset("model encoder decoder lm_head embeddings embed_tokens shared base_model".split())


def check(view: View) -> Iterator[Report]:
    """`self.fc2 = nn.Linear(...)` in `__init__`, and no word of fc2 anywhere else."""
    root = view.run.root
    cls = root.home if root is not None else None
    if cls is None or root.name != "__init__" or not _all_seen(cls):
        return
    for event in view.of("setattr"):
        owner = event.subject
        if (
            not isinstance(owner, Instance)
            or owner.cls is not cls
            or event.site.parsed.unit is not cls.cf.methods.get("__init__")
        ):
            continue
        alts = real(event.value)
        layer = alts[0] if len(alts) == 1 else None
        if (
            not isinstance(layer, Instance)
            or not isinstance(layer.cls, (Class, Ref))
            or layer.kind != "module"
            or not _trains(view, layer)
            or "Dropout" in layer.type
        ):
            continue
        if not _mentioned(event, cls, view) and not _is_asked(event.name, cls) and not _holds_what_is_kept(view, event, layer):
            yield Report(CODE, event.site, {"name": f"self.{event.name}", "model": cls.name})


def _holds_what_is_kept(view: View, event: Event, layer: Instance) -> bool:
    """Whether a container is there for the parameters of layers that the model has in a list, too: `self.all = nn.ModuleList(self.parts)`."""
    if layer.type not in ("torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"):
        return False
    given = {id(alt) for value in (*layer.args, *layer.kwargs.values()) for alt in real(value)}
    kept = (other for other in view.of("setattr") if other.subject is event.subject and other.name != event.name)
    return any(id(alt) in given for other in kept for alt in real(other.value))


def _is_asked(name: str, cls: Class) -> bool:
    """Whether the class may ask for a layer by a name that it puts together."""
    for item in cls.mro():
        asked = names_asked(item) if isinstance(item, Class) else []
        if asked is None or any(pattern.fullmatch(name) for pattern in asked):
            return True
    return False


def _all_seen(cls: Class) -> bool:
    """Whether all of a class is in sight: its forward, its bases, nothing that reaches layers by other ways."""
    bases = cls.externals()
    if "forward" not in cls.cf.methods or not bases or not all(map(_BASES.match, bases)):
        return False
    for item in cls.mro():
        if isinstance(item, Class) and any(unit.words & _ANY for unit in item.cf.methods.values()):
            return False
    return not any(cls.name in base for other in cls.facts.all_classes() for base in other.bases)


def _mentioned(event: Event, cls: Class, view: View) -> bool:
    """Whether the layer's name stands anywhere but where it is set."""
    name, init = event.name, event.site.parsed.unit
    if name in _READ_BY_BASES and any(base.startswith("transformers.") for base in cls.externals()):
        return True
    owners = {id(unit) for item in cls.mro() if isinstance(item, Class) for unit in item.cf.methods.values()}
    for unit in units_of(cls.facts):
        if (
            unit is not init
            and name in unit.words
            and (id(unit) in owners or unit.name != "__init__" or not unit.sets >= {name})
        ):
            return True
    for item in cls.mro():
        if isinstance(item, Class) and item is not cls and any(name in unit.words for unit in item.cf.methods.values()):
            return True
    places = {other.site for other in view.of("setattr") if other.name == name and other.site.parsed.unit is init}
    own, text = "".join(cls.facts.lines[init.start - 1 : init.end]), "".join(cls.facts.lines)
    return _of_self(own)[name] != len(places) or name in _quoted(text.replace(own, _LISTS.sub(_unless_read(cls), own)))


# A list of texts that is kept, as `self.layers = ["conv1", "conv2"]` or by `self.__setattr__`.
_LISTS = re.compile(
    r"self\.(?:(?P<kept>\w+)\s*=\s*|__setattr__\(\s*[\"'](?P<set>\w+)[\"']\s*,\s*)(?P<list>\[(?:\s*(?:\"\w+\"|'\w+'),?)+\s*\])"
)


def _unless_read(cls: Class) -> Callable[[re.Match[str]], str]:
    """Takes lists of layers' names out, where nothing in the file reads what they are kept as: who goes over the layers of others
    gives them to an optimizer, and calls none."""
    def without(found: re.Match[str]) -> str:
        name = found["kept"] or found["set"]
        read = any(name in unit.words for unit in units_of(cls.facts) if unit is not cls.cf.methods.get("__init__"))
        return found[0] if read else found[0].replace(found["list"], "")

    return without


@lru_cache(maxsize=2)
def _of_self(text: str) -> Counter[str]:
    """How often each attribute of `self` stands in some rows of a file."""
    return Counter(re.findall(r"self\.(\w+)", re.sub(r"#[^\n]*", "", text)))


@lru_cache(maxsize=2)
def _quoted(text: str) -> frozenset[str]:
    """The words in a file's strings."""
    texts = re.findall(r"'[^'\n]*'|\"[^\"\n]*\"", text)
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))
