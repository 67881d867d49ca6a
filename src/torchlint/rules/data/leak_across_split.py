"""616: the data for evaluation are known before: statistics were fitted on them, or they are what the model is trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.forgotten_data import forgotten_loaders, forgotten_sets
from torchlint.rules.shared.split_by_hand import split_behind

CODE = 616
_WENT = (
    "`{over}` is what the model is trained on, and this evaluates on it: `{name}` is made and read nowhere",
    "evaluate on `{name}`",
)
_FITTED = re.compile(
    r"\.(?:StandardScaler|MinMaxScaler|RobustScaler|MaxAbsScaler|QuantileTransformer|PowerTransformer|PCA|TruncatedSVD"
    r"|SimpleImputer|KNNImputer|SelectKBest|TfidfVectorizer)$"
)
_PART = re.compile("train|trn|test|valid|(?:^|_)val(?:_|$)", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`X = scaler.fit_transform(X)`, then `train_test_split(X, y)`; a validation that goes over the training's loader."""
    told = set()
    for event in view.of("unknown"):
        if not (event.get("name") or "").endswith("train_test_split"):
            continue
        for value in event.get("args", ()):
            fitted = _fitted(view, value)
            if fitted is not None and fitted.site is not None:
                told.add(fitted.site)
                related = [(event.site, "train and test are told apart only here")]
                yield Report(CODE, fitted.site, {"call": view.call_text(fitted.site), "kind": _kind(fitted)}, related)
                break
    if not told:
        yield from _split_by_hand(view)
    for found in (*forgotten_loaders(view), *forgotten_sets(view)):
        yield Report(CODE, found.site, {"over": found.over, "name": found.name}, [(found.made, "this is read nowhere")], words=_WENT)


def _split_by_hand(view: View) -> Iterator[Report]:
    """`data = scaler.fit_transform(data)`, then `train, test = data[:n], data[n:]`: the first of a function."""
    told = set()
    for event in view.of("unknown"):
        scaler, unit = _scaler(view, event), event.site.parsed.unit
        name = _target(event) if scaler is not None and unit not in told else None
        if name is None or _PART.search(name) or split_behind(event.site, name) is None:
            continue
        told.add(unit)
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "kind": scaler.name.rsplit(".", 1)[-1]})


def _scaler(view: View, event: Event) -> Opaque | None:
    """What has learnt from all that a call transforms: the scaler of `scaler.fit_transform(data)`."""
    made = real(event.subject) if event.get("name") in ("fit_transform", "transform") else ()
    one = made[0] if len(made) == 1 else None
    if not isinstance(one, Opaque) or event.name == "transform" and not _saw_all(view, event, one):
        return None
    one = one.origin if one.name == "fit" and isinstance(one.origin, Opaque) else one
    return one if _FITTED.search("." + one.name) else None


def _target(event: Event) -> str | None:
    """The name that a call's result is given."""
    for node in event.site.parsed.around(event.site.node):
        if isinstance(node, cst.Assign):
            target = node.targets[0].target
            while isinstance(target, (cst.Subscript, cst.Attribute)):  # of `frame[columns] = ...`, `frame.loc[:, columns] = ...`
                target = target.value
            return target.value if len(node.targets) == 1 and isinstance(target, cst.Name) and target.value != "self" else None
    return None


def _kind(fitted: Opaque) -> str:
    maker = fitted.origin
    while maker.name == "fit":
        maker = maker.origin
    return maker.name.rsplit(".", 1)[-1]


def _fitted(view: View, value: Value, depth: int = 0) -> Opaque | None:
    """The fit_transform, or the transform behind a fit of the same data, that a value is the result of."""
    for alt in real(value):
        if not isinstance(alt, Opaque) or depth > 5:
            continue
        maker = alt.origin
        if alt.name == "fit_transform" and isinstance(maker, Opaque) and _FITTED.search("." + maker.name):
            return alt
        if alt.name == "transform" and isinstance(maker, Opaque):
            uses = [event for event in view.of("unknown") if event.get("name") == "transform" and event.site == alt.site]
            if any(_saw_all(view, use, maker) for use in uses):
                return alt
        for part in (maker, *alt.parts):
            found = _fitted(view, part, depth + 1) if isinstance(part, Opaque) and part is not alt else None
            if found is not None:
                return found
    return None


def _saw_all(view: View, use: Event, scaler: Opaque) -> bool:
    """Whether a scaler was fitted on what it transforms in a call: `scaler.fit(X)`, `X = scaler.transform(X)`."""
    fits = [event for event in view.of("unknown") if event.get("name") == "fit" and event.args and event.serial < use.serial]
    if scaler.name == "fit" and isinstance(scaler.origin, Opaque):
        fits = [event for event in fits if event.site == scaler.site]
        scaler = scaler.origin
    used = {id(alt) for alt in real(use.args[0])} if use.args else set()
    return bool(used and _FITTED.search("." + scaler.name)) and any(
        any(alt is scaler for alt in real(fit.subject)) and {id(alt) for alt in real(fit.args[0])} == used for fit in fits
    )
