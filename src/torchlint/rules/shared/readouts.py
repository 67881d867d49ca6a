"""Whether what a forward gives only ends as numbers: printed, counted, compared, kept without its graph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.catalogue.vocabulary import NAMED_AS_EVALUATION
from torchlint.dryrun.values import Dict, Event, Opaque, Seq, Tensor, Value, parts_in_order, real
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import LOSS, measures
from torchlint.rules.shared.seen_calls import carries

_MEASURES = re.compile(
    r"(?:^|_)(?:acc|accuracy|auc|bleu|confusion|dice|error|evaluate|evaluation|f1|iou|jaccard|kmeans|mae|metrics?|miou|mse|precision|psnr|recall|repackage"
    r"|rmse|rouge|scores?|ssim|topk|wer)(?:_|$)|^(?:save|plot|draw|show|display|print|log|visuali[sz]e|write)_"
)
_MOST = 40  # values that are gone back over


def behind(event: Event, other: Event) -> bool:
    """Whether something happens in the loop of a forward; where there is none, whether it comes later."""
    return event.loops[-1] in other.loops if event.loops else other.serial > event.serial


def read_out(view: View, event: Event) -> bool:
    """Whether the output ends as numbers, in the same loop or behind it, and never in a backward."""
    if any(_among(event, other.flows) for other in view.of("backward", "autograd.grad")):
        return False
    trained = [other for other in view.of("backward", "optimizer.step") if event.loops and event.loops[-1] in other.loops]
    if trained and not _in_between(view, event, trained) or raises_with_graph(view, event):
        return False
    kept = adds_up(view, event) or collects(view, event)
    if _given_away(view, event) and not (kept and NAMED_AS_EVALUATION.search(event.site.parsed.unit.name)):
        return False
    return kept or any(
        comes_from(event, alt) for other in view.of("readout") if behind(event, other) or other.serial > event.serial
        for alt in real(other.subject)
    ) or kept_as_numbers(view, event) or drawn_from(view, event) or _given_back_cut(view, event) or _written_cut(view, event)


def _written_cut(view: View, event: Event) -> bool:
    """Whether a model in evaluation mode fills a table with what is cut off: `features[i : i + n] = model(x).data`."""
    written = (other for other in view.of("item.set") if behind(event, other)) if event.mode is False and event.mode_site is not None else ()
    return any(without_graph(alt) and comes_from(event, alt) for other in written for alt in real(other.value))


def _given_back_cut(view: View, event: Event) -> bool:
    """Whether a function that sets evaluation mode gives its caller, who is not seen, what it has cut off: `return action.data`."""
    return _sets_its_mode(event) and any(
        not other.calls and other.serial > event.serial and _is_cut_of(view, event, other.subject) for other in view.of("return")
    )


def _is_cut_of(view: View, event: Event, value: Value | None) -> bool:
    for alt in real(value):
        if isinstance(alt, (Seq, Dict)):
            if any(_is_cut_of(view, event, item) for item in view.run.known_items(alt) if item is not alt):
                return True
        elif without_graph(alt) and comes_from(event, alt) or of_cut(event, alt) and comes_from(event, alt):
            return True
    return False


def _given_away(view: View, event: Event) -> bool:
    """Whether somebody who is not seen is given the output with its graph: what called the function that the run begins with."""
    return any(not other.calls and _holds_graph(view, event, other.subject) for other in view.of("return"))


def _holds_graph(view: View, event: Event, value: Value | None) -> bool:
    for alt in real(value):
        items = view.run.known_items(alt) if isinstance(alt, (Seq, Dict)) else ()
        if any(_holds_graph(view, event, item) for item in items if item is not alt):
            return True
        if not items and _among(event, alt.flows) and not without_graph(alt):
            return True
    return False


def _in_between(view: View, event: Event, trained: list[Event]) -> bool:
    """Whether an evaluation has its place in the loop that trains: the data say so, or the modes. A loop that builds its optimizer
    is one over whole trainings."""
    if any(event.loops[-1] in made.loops for made in view.of("optimizer.create")):
        return False
    return _beside_training(event, trained) or _apart_from_training(event, trained) or measures(view, event)


def _apart_from_training(event: Event, trained: list[Event]) -> bool:
    """Whether a model is asked in evaluation mode once an epoch, and trained in a loop of its own within it; or in a function that
    sets this mode and does not train."""
    if event.mode is not False or event.mode_site is None:
        return False
    unit = event.site.parsed.unit
    if all(other.loops[-1] is not event.loops[-1] for other in trained):
        return True
    trains_here = any(unit is site.parsed.unit for other in trained for site in (other.site, *other.calls))
    return _sets_its_mode(event) and unit.name != "<module>" and not trains_here


def _beside_training(event: Event, trained: list[Event]) -> bool:
    """Whether a loop trains the model in training mode, or in that in which it was made, and asks it in evaluation mode, one after the
    other: where an epoch is one batch, a graph, there is no loop of the evaluation's own."""
    backwards = [other for other in trained if other.kind == "backward"]
    return event.mode is False and bool(backwards) and all(
        any(flow.kind == "forward" and flow.subject is event.subject and flow.mode is not False for flow in other.flows) for other in backwards
    )


def _among(event: Event, flows: frozenset[Event]) -> bool:
    """Whether a forward is among some, or was in the first pass of its loop, which is forgotten."""
    return event in flows or any(
        flow.subject is event.subject and flow.site == event.site and flow.loops == event.loops and flow.calls == event.calls for flow in flows
    )


def comes_from(event: Event, value: Value) -> bool:
    """Whether a value was computed from the output of a forward, be it that its graph was cut off since."""
    return any(_among(event, part.flows) for part in _with_graphs(value))


def _with_graphs(value: Value) -> Iterator[Value]:
    """A value, and what it was before its graph was cut off."""
    for _ in range(_MOST):
        yield value
        if not isinstance(value, Tensor):
            return
        before = value.traits.get("detached") or value.traits.get("drawn_of")
        if not isinstance(before, (Tensor, Opaque)):
            return
        value = before


def without_graph(value: Value) -> bool:
    """Whether a value is a tensor that has no graph for certain."""
    return isinstance(value, Tensor) and value.traits.get("graph") is False


def _of_several(value: Value | None) -> bool:
    """Whether it is one of several results, such as the values of `torch.max(x, 1)`."""
    for _ in range(_MOST):
        if not isinstance(value, (Tensor, Opaque)):
            return False
        if value.source == "item":
            return True
        value = value.origin
    return True


def raises_with_graph(view: View, event: Event) -> bool:
    """Whether the output is made an array as it is, which raises where it has a graph: so somebody else switched gradients off."""
    return any(
        other.name == "numpy" and (_among(event, alt.flows) or _is_drawn(alt) and comes_from(event, alt))
        and (_is_drawn(alt) or not (without_graph(alt) or _of_several(alt) or of_cut(event, alt)))
        for other in view.of("readout") for alt in real(other.subject)
    )


def _is_drawn(value: Value) -> bool:
    """Whether a value is one of `torch.normal(mean, std)` as it is: torch gives it a graph, through which no gradient comes."""
    return isinstance(value, Tensor) and value.traits.get("drawn_of") is not None and not {"detached", "alias"} & value.traits.keys()


def of_cut(event: Event, value: Value) -> bool:
    """Whether a value is computed from what was cut off, `(output.data[0] * scale).numpy()`, and not known to have a graph again."""
    known = isinstance(value, Tensor) and value.traits.get("graph") is True
    return not known and any(without_graph(part) and comes_from(event, part) for part in made_from(value))


def made_from(value: Value) -> Iterator[Value]:
    """What a value was computed from, be it taken apart and put together again."""
    seen, waiting = {id(value)}, [value]
    while waiting and len(seen) < _MOST:
        part = waiting.pop()
        for alt in came_before(part):
            if id(alt) not in seen:
                seen.add(id(alt))
                waiting.append(alt)
                yield alt


def came_before(value: Value) -> Iterator[Value]:
    """What a value was computed from in one step, in the same order in each run."""
    before = [*parts_in_order(value), *(value.traits.get("put_together", ()) if isinstance(value, Tensor) else ())]
    if isinstance(value, (Tensor, Opaque)) and value.origin is not None:
        before.append(value.origin)
    return (alt for one in before for alt in real(one))


def kept_as_numbers(view: View, event: Event) -> bool:
    """Whether what is computed from the output is added up, kept or given away when its graph is cut off: `total += loss.data`."""
    for other in view.of("augment", "append", "unknown", "called", "loss"):
        if behind(event, other) and any(
            (without_graph(alt) or only_measures(other)) and comes_from(event, alt) for value in _what(view, other) for alt in real(value)
        ):
            return True
    return False


def drawn_from(view: View, event: Event) -> bool:
    """Whether tokens are drawn from the output, and it is kept nowhere: no gradient goes through a draw."""
    drawn = [alt for other in view.of("sampled") if behind(event, other) for alt in real(other.subject)]
    if not any(comes_from(event, part) for alt in drawn for part in (alt, *made_from(alt))):
        return False
    asked = any(other.name in OF_LIKELIHOODS for other in view.of("unknown") if behind(event, other))
    return not asked and not any(carries(view, other.value, event) for other in view.of("setattr", "append"))


OF_LIKELIHOODS = frozenset({"log_prob", "entropy", "rsample"})


def only_draws(event: Event) -> bool:
    """Whether a distribution is made of an output, in a function that asks it for no probability."""
    made = event.kind == "unknown" and (event.name or "").startswith("torch.distributions.")
    return made and not event.site.parsed.unit.words & OF_LIKELIHOODS


def only_measures(event: Event) -> bool:
    """Whether a function of a file that is not there is one that gives a number or cuts graphs, as far as its name tells."""
    return event.kind == "unknown" and bool(_MEASURES.search((event.name or "").rpartition(".")[2]))


def _what(view: View, event: Event) -> Iterator[Value]:
    """What a sum, a list or a call is given, and what is in it where it is a tuple, list or dict."""
    for value in event.args if event.kind in ("unknown", "called", "loss") else (event.value,):
        yield value
        for alt in real(value):
            if isinstance(alt, (Seq, Dict)):
                yield from view.run.known_items(alt)


def _sets_its_mode(event: Event) -> bool:
    return event.mode is False and event.mode_site is not None and event.mode_site.parsed is event.site.parsed


def adds_up(view: View, event: Event) -> bool:
    """Whether an evaluation adds up the loss with its graph, `val_loss += criterion(...)`; of a model that is trained here and asked
    about data that are called held out, whatever is computed from the output, and losses that a list keeps, too."""
    measured = measures(view, event)
    if not event.loops:
        return False
    if not measured and not _sets_its_mode(event):
        return False
    kept = any(is_loss_of(event, other) for other in view.of("append"))
    return measured and kept or any(
        other.operator == "Add" and other.loops and other.loops[-1] is event.loops[-1]
        and all((measured or is_loss(alt)) and _among(event, alt.flows) for alt in real(other.value))
        for other in view.of("augment")
    )


def is_loss_of(event: Event, other: Event) -> bool:
    """Whether what is added or kept in the loop of a forward is a loss of what this gives."""
    here = bool(event.loops and other.loops) and other.loops[-1] is event.loops[-1]
    return here and all(is_loss(alt) and _among(event, alt.flows) for alt in real(other.value))


def collects(view: View, event: Event) -> bool:
    """Whether an evaluation in evaluation mode keeps each output of its loop, with its graph: `outputs.append(model(x))`."""
    if not event.loops or not _sets_its_mode(event) or not NAMED_AS_EVALUATION.search(event.site.parsed.unit.name):
        return False
    return any(
        other.loops and other.loops[-1] is event.loops[-1] and any(_among(event, alt.flows) for alt in real(other.value)) for other in view.of("append")
    )


def is_loss(value: Value) -> bool:
    """Whether a value is a loss, by what made it, or, of what is not seen, by its name."""
    if isinstance(value, Tensor):
        return "loss" in value.traits and value.traits.get("graph") is not False
    return type(value) is Opaque and value.source == "call" and bool(LOSS.search(value.name or ""))
