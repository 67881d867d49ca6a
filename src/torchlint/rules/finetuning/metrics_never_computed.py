"""009: a Trainer is given `compute_metrics`, and nothing evaluates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Event, Value, real
from torchlint.rules.base import Report, View, once

CODE = 9
_EVALUATES = re.compile(r"\.(?:evaluate|predict|evaluation_loop|prediction_loop|hyperparameter_search)\(|should_evaluate|do_eval|eval_strategy|evaluation_strategy")


def check(view: View) -> Iterator[Report]:
    """`Trainer(args=TrainingArguments("out"), compute_metrics=f).train()`."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for event in view.of("trainer.create"):
        given = event.given
        metrics = given.get("compute_metrics")
        if metrics is None or isinstance(metrics, Const) or "**" in given or real(given.get("callbacks")):
            continue
        if _strategy(view, given) != "no" or view.about("trainer.evaluate", event.subject):
            continue
        trained = view.about("trainer.train", event.subject)
        if not trained or any(_EVALUATES.search("".join(one.site.parsed.facts.lines)) for one in (event, *trained)):
            continue
        yield Report(CODE, event.site, {"metrics": _written(event)}, [(trained[0].site, "this trains, and evaluates nothing")])


def _strategy(view: View, given: dict[str, Value]) -> object:
    """When the trainer evaluates; None where that is not known. Without settings it has those of a new TrainingArguments."""
    found = view.run.setting(given["args"], "eval_strategy") if "args" in given else Const("no")
    return found.value if isinstance(found, Const) else None


def _written(event: Event) -> str:
    node = event.site.node
    for arg in getattr(node, "args", ()):
        if arg.keyword is not None and arg.keyword.value == "compute_metrics":
            text = event.site.parsed.text(arg.value)
            return text if len(text) < 40 else "compute_metrics"
    return "compute_metrics"
