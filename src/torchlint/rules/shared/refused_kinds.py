"""What kinds of objects `torch.load` refuses since 2.6 where it is not told otherwise: whatever a pickle must name a class for, but for
tensors, the few containers that torch lists, and a device, a size or a type of its own."""

from __future__ import annotations

import re

from torchlint.dryrun.torch_api.arrays import is_numpys
from torchlint.dryrun.values import Class, Const, Dict, Instance, Opaque, Ref, Seq, Value, from_file, real
from torchlint.rules.base import View
from torchlint.rules.shared.numpys_in_groups import numpys_in_groups

_DEEP = 2  # lists of dicts of lists
_MADE = {
    "module": "a whole model", "wrapper": "a whole model", "optimizer": "a whole optimizer", "scheduler": "a whole scheduler",
    "loss": "a whole loss", "loader": "a whole DataLoader", "dataset": "a whole data set",
}
NAMESPACE, _PATH, _TIME = "a Namespace", "a path", "a time"
# What plain functions of the standard library give, by their full names.
_CALLED = {
    "argparse.Namespace": NAMESPACE, "types.SimpleNamespace": "a SimpleNamespace",
    "pathlib.Path": _PATH, "pathlib.PurePath": _PATH, "pathlib.PosixPath": _PATH, "pathlib.Path.cwd": _PATH, "pathlib.Path.home": _PATH,
    "datetime.datetime": _TIME, "datetime.datetime.now": _TIME, "datetime.datetime.today": _TIME, "datetime.date.today": _TIME,
    "datetime.datetime.utcnow": _TIME, "datetime.timedelta": _TIME,
    "collections.defaultdict": "a defaultdict", "collections.deque": "a deque",
    "easydict.EasyDict": "an EasyDict", "addict.Dict": "a Dict of addict", "munch.Munch": "a Munch",
    **{f"omegaconf.OmegaConf.{name}": "a configuration of OmegaConf" for name in ("load", "create", "merge", "structured", "from_cli")},
    **dict.fromkeys(("yacs.config.CfgNode", "fvcore.common.config.CfgNode"), "a CfgNode"),
    **dict.fromkeys(("ml_collections.ConfigDict", "ml_collections.config_dict.ConfigDict"), "a ConfigDict"),
    **{f"{package}.Config.fromfile": "a Config" for package in ("mmcv", "mmcv.utils", "mmengine", "mmengine.config")},
}
# Methods that give such a thing once more.
_COPIES = frozenset({"clone", "copy", "copy_and_resolve_references"})
# Classes of packages whose objects are pickled by their names: encoders, tokenizers.
_CLASS = re.compile(r"(?:sklearn|torchvision\.transforms|albumentations)\.(?:\w+\.)*[A-Z]\w+$|transformers\.(?:\w+\.)*\w*Tokenizer\w*\.from_pretrained$")


def refused(view: View, alts: tuple[Value, ...], depth: int = 0) -> str | None:
    """What kind of object a value is, or holds, that is pickled with the name of a class; None where it may be something else. What was
    read from a file is what the program itself has saved."""
    if any(isinstance(alt, Opaque) and "optimizer_state" in alt.tags for alt in alts):
        alts = tuple(alt for alt in alts if not isinstance(alt, Const) or alt.value is not None)  # left out of the last file alone
    if any(isinstance(alt, Opaque) and "numpys" in alt.tags for alt in alts):
        alts = tuple(alt for alt in alts if not _is_number(alt))  # a sum, or the mean of one, is the plain number that it begins at only until it is added to
    kinds = [_kind(view, alt, depth) for alt in alts if not from_file(alt)]
    return kinds[0] if kinds and all(kinds) else None


_BEST = re.compile(r"best|lowest|highest|min|max", re.IGNORECASE)


def best_figure(view: View, key: str, alts: tuple[Value, ...]) -> str | None:
    """The same of the best that there was, which is a constant only until there is a first one: `best = 0`, `if acc > best: best = acc`."""
    if not _BEST.search(key):
        return None
    found = tuple(alt for alt in alts if not _is_number(alt) and not from_file(alt))
    return refused(view, found) if found and all(map(is_numpys, found)) else None


def _is_number(value: Value) -> bool:
    if isinstance(value, Ref):
        return value.name.endswith(".inf")
    if type(value) is Opaque:
        return value.source == "call" and value.name == "float"  # float("inf")
    return isinstance(value, Const) and isinstance(value.value, (int, float))


def _kind(view: View, value: Value, depth: int) -> str | None:
    if isinstance(value, (Seq, Dict)):
        return _held(view, value, depth)
    if isinstance(value, Instance):
        if value.kind in _MADE:
            return _MADE[value.kind]
        if isinstance(value.cls, Class):
            return f"an object of `{value.cls.name}`" if value.kind == "instance" else None
        return _CALLED.get(value.type)
    if not isinstance(value, Opaque):
        return None
    if is_numpys(value):
        return "NumPy's"
    if value.source == "item":
        maker = value.origin
        return NAMESPACE if value.name == "0" and isinstance(maker, Opaque) and _of_parser(maker, "parse_known_args") else None
    if value.name in _COPIES and value.source in ("op", "call") and isinstance(value.origin, Opaque) and value.origin.name in _CALLED:
        return _CALLED[value.origin.name]
    if value.source != "call":
        return None
    if "copy" in value.tags:
        return _kind(view, value.origin, depth) if value.origin is not None else None
    if "optimizer_state" in value.tags:
        key = numpys_in_groups(view, value.origin)
        return f'a state with a number of NumPy\'s in it, the `{key}` of its groups' if key is not None else None
    if _of_parser(value, "parse_args"):
        return NAMESPACE
    return of_a_package(value.name) or _CALLED.get(value.name)


def of_a_package(called: str) -> str | None:
    """What a call by that full name makes, where it is a class of a package."""
    return f"an object of `{called.removesuffix('.from_pretrained').rpartition('.')[2]}`" if _CLASS.match(called) else None


def _held(view: View, container: Seq | Dict, depth: int) -> str | None:
    if depth >= _DEEP:
        return None
    inner = next((kind for item in view.run.known_items(container) if (kind := refused(view, real(item), depth + 1)) is not None), None)
    if inner is None:
        return None
    what = {"NumPy's": "NumPy's numbers"}.get(inner, inner)
    return f"a {'dict' if isinstance(container, Dict) else container.kind} with {what.removesuffix(' in it')} in it"


def _of_parser(value: Opaque, method: str) -> bool:
    """Whether a value is what a parser of arguments gives."""
    return value.name == method and isinstance(value.origin, Opaque) and value.origin.name == "argparse.ArgumentParser"
