"""616: the data for evaluation are known before: statistics were fitted on them, or they are what the model is trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.fitted_anew import OF_STATISTICS, fitted_anew
from torchlint.rules.shared.folds import one_for_all_folds
from torchlint.rules.shared.forgotten_data import forgotten_loaders, forgotten_parts, forgotten_sets
from torchlint.rules.shared.same_data import made_twice, one_for_both
from torchlint.rules.shared.same_in_hooks import made_twice_by_hooks
from torchlint.rules.shared.scaled_by_hand import read_from_a_file, scaled_by_hand
from torchlint.rules.shared.split_by_hand import in_function, joined_before, split_behind, trained_on_slice
from torchlint.rules.shared.tested_on_validation import tested_in_a_loop, tested_on_validation
from torchlint.rules.shared.trained_on_held_out import trained_on_held_out

CODE = 616
CALLS = frozenset({"[]="})
_WENT = (
    "`{over}` is what the model is trained on, and this evaluates on it: `{name}` is {how} and read nowhere",
    "evaluate on `{name}`",
)
_SAME = (
    "`{name}` evaluates on the samples that the model is trained on: the data for it are made of the same as those for training",
    "make them of the held-out part: another folder, split or list of samples",
)
_ONE = (
    "`{name}` evaluates on the samples that the model is trained on: both loaders go through one data set",
    "give it the held-out part: another folder, split or list of samples",
)
_FOLDS = (
    "`{model}` goes on learning from fold to fold: what a fold validates on was trained on in the folds before",
    "make the model and its optimizer anew in each fold",
)
_BY_HAND = (
    "`{statement}` scales by what was computed of the rows that become the test set, too: the score knows what it should not",
    "split first, compute this of the training part alone, and scale both parts with it",
)
_ANEW = (
    "`{call}` fits the `{kind}` anew, to the test data: the same number means something else in them than in the training data",
    "use what was fitted on the training data: `{transform}`",
)
_TESTED = (
    "`{statement}` takes the score of the test on `{over}`, by the very call that validates: `{name}` is read nowhere",
    "test on `{name}`",
)
_IN_A_LOOP = (
    "this tests on `{over}`, which has chosen the best weights before: `{name}` is given and read nowhere",
    "test on `{name}`",
)
_LEARNT = (
    "`{step}` trains on `{over}` what is to be judged on it: the loop evaluates, and steps the optimizer of the training all the same",
    "take the backward and the step out of this loop, and go through it under `torch.no_grad()`",
)
_PART = re.compile("train|trn|test|valid|(?:^|_)val(?:_|$)", re.IGNORECASE)
# What is called so and comes out of a file of its own is parted all the same, where the validation's rows are cut off it.
_FOR_TRAINING = re.compile(r"^(?!.*(?:test|val)).*(?:train|trn)", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`X = scaler.fit_transform(X)`, then `train_test_split(X, y)`; a validation that goes over the training's loader."""
    split = False
    for event in view.of("unknown"):
        if not (event.get("name") or "").endswith("train_test_split"):
            continue
        for value in event.get("args", ()):
            learnt = _fitted(view, value)
            if learnt is not None:
                split = True
                yield _report(view, learnt, [(event.site, "train and test are told apart only here")])
                break
    if not split:
        yield from _split_by_hand(view)
    yield from _scaled_by_hand(view)
    for found in fitted_anew(view):
        call = view.call_text(found.learnt.site)
        roles = {"call": call, "kind": _kind(found.learnt), "transform": call.replace(".fit_transform(", ".transform(", 1)}
        yield Report(CODE, found.learnt.site, roles, [(found.before.site, "it has learnt from the training data here")], words=_ANEW)
    forgotten = dict.fromkeys((*forgotten_loaders(view), *forgotten_sets(view), *forgotten_parts(view)))
    for found in forgotten:
        roles = {"over": found.over, "name": found.name, "how": "given" if found.given else "made"}
        yield Report(CODE, found.site, roles, [(found.made, "this is read nowhere")], words=_WENT)
    for same in (*made_twice(view), *made_twice_by_hooks(view)):
        yield Report(CODE, same.site, {"name": same.name}, [(same.trained, "these are trained on")], words=_SAME)
    told = {(id(found.site.parsed), found.site.location().row) for found in forgotten}
    for same in one_for_both(view):
        place = same.site.location()
        if not any((id(same.site.parsed), row) in told for row in range(place.row, (place.end_row or place.row) + 1)):
            yield Report(CODE, same.site, {"name": same.name}, [(same.trained, "the training goes through them, too")], words=_ONE)
    for tested in tested_on_validation(view):
        roles = {"statement": view.call_text(tested.site), "over": tested.over, "name": tested.name}
        yield Report(CODE, tested.site, roles, [(tested.validated, "this validates")], words=_TESTED)
    for tested in tested_in_a_loop(view):
        yield Report(CODE, tested.site, {"over": tested.over, "name": tested.name}, [(tested.validated, "this validates")], words=_IN_A_LOOP)
    for learnt in trained_on_held_out(view):
        related = [(learnt.loop, "this goes over what is held out"), (learnt.trains, "this is the training")]
        yield Report(CODE, learnt.step, {"step": view.call_text(learnt.step), "over": learnt.over}, related, words=_LEARNT)
    for found in one_for_all_folds(view):
        roles = {"model": view.owner_text(found.model, "model")}
        yield Report(CODE, found.loop, roles, [(found.validated, "each fold validates it here")], words=_FOLDS)


def _report(view: View, learnt: Event, related: list[tuple[Site, str]]) -> Report:
    return Report(CODE, learnt.site, {"call": view.call_text(learnt.site), "kind": _kind(learnt)}, related)


def _kind(learnt: Event) -> str:
    return real(learnt.subject)[0].name.rsplit(".", 1)[-1]


def _split_by_hand(view: View) -> Iterator[Report]:
    """`data = scaler.fit_transform(data)`, then `train, test = data[:n], data[n:]`: the first of a function."""
    told = set()
    for event in view.of("unknown"):
        unit = event.site.parsed.unit
        learnt = _learnt(view, event) if unit not in told else None
        name = _target(event) if learnt is not None else None
        if name is not None and not _PART.search(name) and (split_behind(event.site, name) is not None or _joined(learnt, event, name)):
            told.add(unit)
            yield _report(view, learnt, [])


def _joined(learnt: Event, event: Event, name: str) -> bool:
    """`X = np.concatenate([X_train, X_test])`, `X = scaler.fit_transform(X)`, `X_train = X[:n]`: whatever else becomes of the rows."""
    given = learnt.site.node.args[0].value if isinstance(learnt.site.node, cst.Call) and learnt.site.node.args else None
    return isinstance(given, cst.Name) and joined_before(learnt.site, given.value) and trained_on_slice(event.site, name)


def _scaled_by_hand(view: View) -> Iterator[Report]:
    """`data = (data - data.mean(0)) / data.std(0)`, and what is parted behind it: the first of a function, or of what is outside any."""
    told = set()
    scaled = (event for event in view.of("assign", "item.set", "augment") if scaled_by_hand(event.site))
    for event in sorted(scaled, key=lambda event: event.serial):
        parsed = event.site.parsed
        around = parsed.unit if in_function(parsed) else parsed.facts
        name = _target(event) if id(around) not in told else None
        if name is None or _PART.search(name) and not (_FOR_TRAINING.search(name) and read_from_a_file(event.site, name)):
            continue
        if split_behind(event.site, name) is not None:
            told.add(id(around))
            yield Report(CODE, event.site, {"statement": view.call_text(event.site)}, words=_BY_HAND)


def _learnt(view: View, event: Event) -> Event | None:
    """Where a scaler has learnt from all that a call transforms: in that call, or in a `scaler.fit(X)` before `scaler.transform(X)`."""
    made = real(event.subject) if event.get("name") in ("fit_transform", "transform") else ()
    scaler = made[0] if len(made) == 1 else None
    if not isinstance(scaler, Opaque) or not event.args:
        return None
    if event.name == "fit_transform":
        return event if OF_STATISTICS.search(scaler.name) else None
    fits = [other for other in view.of("unknown") if other.get("name") == "fit" and other.args and other.serial < event.serial]
    if scaler.name == "fit" and isinstance(scaler.origin, Opaque):  # `scaler = StandardScaler().fit(X)`
        fits = [other for other in fits if other.site == scaler.site]
        scaler = scaler.origin
    used = {id(alt) for alt in real(event.args[0])}
    same = (other for other in fits if {id(alt) for alt in real(other.args[0])} == used and real(other.subject) == (scaler,))
    return next(same, None) if OF_STATISTICS.search(scaler.name) else None


def _target(event: Event) -> str | None:
    """The name that a call's result is given, or that a statement gives something."""
    for node in (event.site.node, *event.site.parsed.around(event.site.node)):
        if isinstance(node, (cst.Assign, cst.AugAssign)):
            targets = [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]
            target = targets[0]
            while isinstance(target, (cst.Subscript, cst.Attribute)):  # of `frame[columns] = ...`, `frame.loc[:, columns] = ...`
                target = target.value
            return target.value if len(targets) == 1 and isinstance(target, cst.Name) and target.value != "self" else None
    return None


def _fitted(view: View, value: Value, depth: int = 0) -> Event | None:
    """Where a scaler learnt that a value went through."""
    for alt in real(value):
        if not isinstance(alt, Opaque) or depth > 5:
            continue
        if alt.name in ("fit_transform", "transform") and alt.site is not None:
            uses = [event for event in view.of("unknown") if event.get("name") == alt.name and event.site == alt.site]
            learnt = next((found for use in uses if (found := _learnt(view, use)) is not None), None)
            if learnt is not None:
                return learnt
        for part in (alt.origin, *alt.parts):
            found = _fitted(view, part, depth + 1) if isinstance(part, Opaque) and part is not alt else None
            if found is not None:
                return found
    return None
