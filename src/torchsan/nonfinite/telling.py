"""What is said of something that is not finite: 422 on the origin's line, or on that of whose doing it was; 413 for memory that
nobody wrote to; 121 where the origin cannot be told."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.nonfinite import replay, verdict
from torchsan.nonfinite.hint import hint
from torchsan.nonfinite.origin import External, Record
from torchsan.nonfinite.search import SPREAD, Search
from torchsan.nonfinite.step_function import local as running
from torchsan.nonfinite.step_state import Symptom
from torchsan.own import math
from torchsan.program.source import assigned
from torchsan.program.where import Where
from torchsan.stream.events import Event

_GROWN = 1e4  # times its first value, a loss that only ever grew


class Telling:
    """Says for a check what its search found. `ill`: the finding that stands until a step is finite again;
    `bad_from_the_start`: the ids of parameters that were not finite when they were first used."""

    def __init__(self, check: Check, search: Search):
        self.check, self.search = check, search
        self.watch, self.ledger = check.watch, check.ledger
        self.ill: tuple[int, Any] | None = None
        self.bad_from_the_start: set[int] = set()

    def tell(self, symptom: Symptom, event: Event, loss: str | None = None) -> None:
        if symptom.outcome.origin is not None:
            self.report(event, symptom, symptom.outcome.origin)
            return
        if self.search.state.tracer is not None:
            if self.ill is not None:
                self.watch.gathered.seen(self.ill)
            return  # it came from before, once more
        if self.search.state.is_scaled and not symptom.of_loss:
            return  # the scale alone, and a step that by-passes the scaler: that is 705
        ran, found = symptom.outcome.ran, symptom.outcome.why
        if symptom.outcome.elsewhere and not symptom.of_loss:
            fact = f"what this rank did came out finite; {symptom.outcome.elsewhere}" if found == replay.FINITE else (
                symptom.outcome.elsewhere)
            self._say(event, 422, event.where(), (), {}, what=symptom.fact, mend="mend it there", fact=fact)
            return
        again = f"{ran or 'the step'} could not be run again: {found}"
        if found == replay.FINITE:
            again = f"{ran} was run again, and {found}"
        why = f"{again}; {self.search.look_from_now_on()}"
        if symptom.in_graph:
            why = f"{symptom.in_graph}; {why}"
        if running.step is None and ran != "what leads to the loss" and not found.startswith(SPREAD):
            why += f"; {hint()}"
        if symptom.of_loss:
            self._say(event, 121, symptom.backward.where(), (), {}, loss=loss, fact=f"{symptom.fact}; {why}")
        else:
            self._say(event, 422, event.where(), (), {}, what=symptom.fact, mend=verdict.UNKNOWN, fact=why)

    def report(self, event: Event, symptom: Symptom, origin: replay.Origin) -> None:
        record, external = origin.record, origin.external
        place = record.where or (self.search.state.forwards[-1].place if self.search.state.forwards else event.where())
        end = symptom.backward._where if symptom.backward is not None else None
        related = [(end, symptom.fact)] if end is not None and end != place else []
        details: dict[str, Any] = {"operation": record.operation, "direction": "backward" if record.backward else "forward"}
        if record.node is not None and record.backward:
            details["node"] = record.node
        if record.module:
            details["module"] = record.module
        details.update(record.inputs)
        if origin.notes:
            details["replay"] = "; ".join(origin.notes)
        words = {"what": verdict.told(record, external), "mend": verdict.mend(record, external), "fact": symptom.fact}
        if external is not None and external.kind == "input" and self.watch.wants(423):
            forward = next((one.place for one in self.search.state.forwards if one.had(external.address)), None)
            fact = f"{external.name} holds NaN or infinite values"
            self._say(event, 423, forward or place, tuple(related), details, name=external.name, fact=fact)
            return
        step = self._step_of(external or record.large)
        if step is not None:
            name, state = (external or record.large).name, "NaN or infinite" if external is not None else "huge"
            related.insert(0, (place, f"`{name}` is used here"))
            words["what"] = f"this step blew up: it left `{name}` {state}"
            words["mend"] = "lower the learning rate, warm it up, or clip the gradients before the step"
            self._say(event, 422, step.where(), tuple(related), details, **words)
        elif not self._uninitialised(event, record, external, symptom, related, details):
            grown = self._diverged() if words["mend"] is verdict.GENERAL else None
            if grown is not None:
                stepped, words["what"] = grown[0], f"{words['what']}: the run diverges, its loss went {grown[1]}"
                words["mend"] = "lower the learning rate, warm it up, or clip the gradients before the step"
                related.insert(0, (stepped, "the step that goes too far"))
            self._say(event, 422, place, tuple(related), details, **words)

    def _step_of(self, blamed: External | None) -> Event | None:
        """The step that last wrote to a parameter that was finite when it was first used."""
        if blamed is None or blamed.kind != "parameter":
            return None
        for module in self.watch.modules():
            for name, parameter in module.named_parameters():
                if name == blamed.name and id(parameter) not in self.bad_from_the_start:
                    for account in self.ledger:
                        if id(parameter) in account.ids and "step" in account.last:
                            return account.last["step"]
        return None

    def _diverged(self) -> tuple[Where, str] | None:
        """Where a loss has only grown, step by step, until something overflowed: the line of the last step, and how far it
        went."""
        step = max((a.last["step"] for a in self.ledger if "step" in a.last), key=lambda event: event.number, default=None)
        place = step.where() if step is not None else None
        for line in self.watch.series.of("loss").values() if place is not None else ():
            values = [value for value in line.means if math.isfinite(value)]
            if len(values) > 1 and 0 < values[0] * _GROWN < values[-1] and values == sorted(values):
                return place, f"from {values[0]:.3g} to {values[-1]:.3g}"
        return None

    def _uninitialised(
        self,
        event: Event,
        record: Record,
        external: External | None,
        symptom: Symptom,
        related: list,
        details: dict,
    ) -> bool:
        """413: memory is filled with NaN at this level, so a NaN from nowhere is memory that nobody wrote to."""
        if self.watch.options.level != "memory" or not self.watch.wants(413):
            return False
        if external is not None and external.kind in ("parameter", "buffer") and external.nan and external.name:
            place = self._made(external.name) or record.where
            self._say(event, 413, place, tuple(related), details, name=external.name, fact=symptom.fact)
            return True
        if record.fresh:
            self._say(event, 413, record.where, tuple(related), details, name=record.operation, fact=symptom.fact)
            return True
        return False

    def _made(self, path: str) -> Where | None:
        """The line that assigns a parameter or buffer, by its path in one of the roots."""
        owner, _, name = path.rpartition(".")
        for root in self.watch.modules():
            try:
                module = root.get_submodule(owner)
            except AttributeError:
                continue
            if hasattr(module, name):
                return assigned(module, name)
        return None

    def _say(
        self, event: Event, number: int, place: Where | None, related: tuple, details: dict, **words: Any
    ) -> None:
        if number != 121 and not self.watch.wants(number):
            number = 121
        self.ill = (number, place and (place.code.co_filename, place.line))
        self.ledger.ill = True
        counted = event.rested and event.name == "optimizer.step"  # at rest, a step is counted when it begins
        self.check.found(number, place, related=related, details=details, step=self.ledger.step - bool(counted), **words)


