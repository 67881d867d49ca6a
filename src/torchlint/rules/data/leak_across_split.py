"""616: statistics are fitted on all the data before they are split."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Opaque, Value, real
from torchlint.rules.base import Report, View

CODE = 616
_FITTED = re.compile(
    r"\.(?:StandardScaler|MinMaxScaler|RobustScaler|MaxAbsScaler|QuantileTransformer|PowerTransformer|PCA|TruncatedSVD"
    r"|SimpleImputer|KNNImputer|SelectKBest|TfidfVectorizer)$"
)


def check(view: View) -> Iterator[Report]:
    """`X = scaler.fit_transform(X)`, then `train_test_split(X, y)`."""
    for event in view.of("unknown"):
        if not (event.get("name") or "").endswith("train_test_split"):
            continue
        for value in event.get("args", ()):
            fitted = _fitted(value)
            if fitted is not None and fitted.site is not None:
                owner = fitted.origin.name.rsplit(".", 1)[-1]
                related = [(event.site, "train and test are told apart only here")]
                yield Report(CODE, fitted.site, {"call": view.call_text(fitted.site), "kind": owner}, related)
                break


def _fitted(value: Value, depth: int = 0) -> Opaque | None:
    """The fit_transform that a value is the result of."""
    for alt in real(value):
        if not isinstance(alt, Opaque) or depth > 5:
            continue
        maker = alt.origin
        if alt.name == "fit_transform" and isinstance(maker, Opaque) and _FITTED.search("." + maker.name):
            return alt
        for part in (maker, *alt.parts):
            found = _fitted(part, depth + 1) if isinstance(part, Opaque) and part is not alt else None
            if found is not None:
                return found
    return None
