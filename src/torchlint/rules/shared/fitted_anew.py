"""A scaler that has learnt from the training data, and learns once more, from the test data, instead of being used on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Opaque, real
from torchlint.rules.base import View

# What turns numbers into others by statistics of the data that it was fitted on.
OF_STATISTICS = re.compile(
    r"(?:^|\.)(?:StandardScaler|MinMaxScaler|RobustScaler|MaxAbsScaler|QuantileTransformer|PowerTransformer|PCA|TruncatedSVD"
    r"|SimpleImputer|KNNImputer|SelectKBest|TfidfVectorizer)$"
)
_OF_WORDS = re.compile(r"(?:^|\.)CountVectorizer$")  # knows which words there are, and no number of them
_TRAINING = re.compile(r"(?:^|_)(?:train|trn|training|tr)(?:$|_|\d)|[a-z]Train|^train(?=[xyXY]$)", re.IGNORECASE)
_HELD_OUT = re.compile(r"(?:^|_)(?:test|tst|testing|val|valid|validation|eval)(?:$|_|\d)|[a-z](?:Test|Val|Valid)(?![a-z])|^test(?=[xyXY]$)", re.IGNORECASE)


class FittedAnew(NamedTuple):
    """`learnt`: where it learns from the test data; `before`: where it learnt from the training data."""

    learnt: Event
    before: Event


def fitted_anew(view: View) -> Iterator[FittedAnew]:
    """`x_train = scaler.fit_transform(x_train)`, then `x_test = scaler.fit_transform(x_test)`, of one scaler in one function."""
    fits = [event for event in view.of("unknown") if event.get("name") in ("fit", "fit_transform") and event.args and _scaler(event)]
    for learnt in fits:
        if learnt.name != "fit_transform" or not _is_called(learnt, _HELD_OUT, _TRAINING):
            continue
        earlier = (
            other for other in fits
            if other.serial < learnt.serial and other.site.parsed is learnt.site.parsed and _scaler(other) is _scaler(learnt)
            and _is_called(other, _TRAINING, _HELD_OUT)
        )
        if (before := next(earlier, None)) is not None:
            yield FittedAnew(learnt, before)


def _scaler(event: Event) -> Opaque | None:
    made = real(event.subject)
    one = made[0] if len(made) == 1 else None
    learns = isinstance(one, Opaque) and one.source == "call" and (OF_STATISTICS.search(one.name) or _OF_WORDS.search(one.name))
    return one if learns else None


def _is_called(event: Event, wanted: re.Pattern[str], unwanted: re.Pattern[str]) -> bool:
    """Whether what a scaler is given goes by such names: `x_train`, `X_train.reshape(-1, 1)`, `df_test[features]`."""
    node = event.site.node
    given = node.args[0] if isinstance(node, cst.Call) and node.args else None
    names = [part.value for part in walk(given.value) if isinstance(part, cst.Name)] if given is not None else []
    return any(map(wanted.search, names)) and not any(map(unwanted.search, names))
