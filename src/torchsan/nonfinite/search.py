"""Where something that is not finite comes from: the step run again at once, or the next steps looked at operation by operation."""

from __future__ import annotations

from types import FrameType

from torch import nn

from torchsan.check import Watched
from torchsan.nonfinite import replay, rerun, sharded, verdict
from torchsan.nonfinite.instrumented import Instrumented
from torchsan.nonfinite.step_function import local as running
from torchsan.nonfinite.step_state import State, States
from torchsan.own import torch
from torchsan.program.compiled import compiled_frames, is_compiled
from torchsan.ranks.agreement import Agreement
from torchsan.stream.events import Event

SPREAD = "the model is spread over processes"
_REPLAYS = 8  # in a run: who trains on with NaN does not want one at every step


class Search:
    """The search of one watch. `replays` counts what was run again; `ranks` is where the ranks tell each other what they found."""

    def __init__(self, watch: Watched, states: States):
        self.watch = watch
        self.ledger = watch.ledger
        self._states = states
        self.replays = 0
        self.compiled = compiled_frames()
        self.ranks = Agreement()

    @property
    def state(self) -> State:
        return self._states.own

    @property
    def is_used_up(self) -> bool:
        return self.replays >= _REPLAYS

    def after_backward(self, ends: list[torch.Tensor], event: Event, frame: FrameType | None) -> replay.Outcome:
        """The origin, where the other ranks have just been through the same backward."""
        self.state.together = True
        try:
            return self.origin(ends, event, frame)
        finally:
            self.state.together = False

    def origin(self, ends: list[torch.Tensor], backward: Event | None, frame: FrameType | None) -> replay.Outcome:
        """Where `ends`, which are not finite, come from."""
        tracer = self.state.tracer
        if tracer is not None:
            found = tracer.origin(ends)
            if found is not None and found[1] is None:
                self.look_no_longer()
                return replay.Outcome(replay.Origin(*found, ("seen in the run itself",)), "")
            return replay.Outcome(None, "")
        self.replays += 1
        backward = backward or self.state.backward
        if not sharded.is_distributed():
            return self._replay(backward, frame)
        step = self.ledger.step
        self.ranks.begins(step)
        outcome = self._replay(backward, frame)
        self.ranks.found(step, in_brief(outcome))
        if outcome.origin is None and self.state.together:
            return outcome._replace(elsewhere=self.ranks.heard(step))
        return outcome

    def _replay(self, backward: Event | None, frame: FrameType | None) -> replay.Outcome:
        """The whole step again where its function is known; or the lines from the forward to the loss; or where those
        cannot be run again the forward alone."""
        modules, forwards = self.watch.modules(), self.state.forwards
        whole: dict[int, torch.Tensor] = {}
        if not all(map(sharded.runs_alone, modules)):
            why = self._why_alone(modules, backward)
            if why:
                return replay.Outcome(None, f"{SPREAD}, and {why}")
            whole = sharded.gather(modules)
        step = running.step
        outcome = replay.Outcome(None, "no forward of a model was seen")
        if step is not None:
            parameters = [p for account in self.ledger for p in account.params]
            outcome = replay.run(lambda: step.loss(parameters), modules, forwards, step.inputs(), in_step=True, whole=whole)
            outcome = outcome._replace(ran="the step")
            if outcome.origin is not None:
                return outcome
        lines = _lines(backward, frame)
        if lines is not None:
            outcome = replay.run(lines.run, modules, forwards, lines.inputs(), whole=whole)._replace(ran="what leads to the loss")
        if outcome.origin is not None or not forwards:
            return outcome
        second = self.forward_again(whole)
        if not second.ran:
            return outcome if outcome.ran else second
        return outcome if outcome.ran and second.origin is None else second

    def _why_alone(self, modules: list[nn.Module], backward: Event | None) -> str:
        """Why the ranks do not gather a sharded model; "" where all of them do so now."""
        if not sharded.is_sharded(modules):
            return sharded.why_not(modules) or "not by `fully_shard`"
        if not self.state.together:
            return "its ranks are not at the same place"
        place = backward._where if backward is not None else None
        content = f"{place and place.location()} {sharded.outline(modules)}"
        return self.ranks.vote(self.ledger.step, content, sharded.why_not(modules))

    def forward_again(self, whole: dict[int, torch.Tensor] | None = None) -> replay.Outcome:
        """The last forward alone."""
        forwards = self.state.forwards
        called = forwards[-1].call() if forwards else "no forward of a model was seen"
        if isinstance(called, str):
            return replay.Outcome(None, called)
        module, args, kwargs = called
        inputs = {f"input {at}": value for at, value in enumerate(args)} if len(args) > 1 else {"the input": args}
        again = replay.run(lambda: module(*args, **kwargs), [module], forwards[-1:], {**inputs, **kwargs}, True, whole=whole or {})
        return again._replace(ran="the forward of the model, without the loss behind it,")

    def look_from_now_on(self) -> str:
        """Look at every operation of the next steps. Gives what is said of it."""
        modules = self.watch.modules()
        if any(map(is_compiled, modules)) or compiled_frames() > self.compiled:
            return "the next steps are not looked into: compiled code would run uncompiled"
        if sharded.is_distributed():
            return "here the next steps are not looked into; where another rank made it, that rank tells"
        self.state.tracer = Instrumented(modules)
        self.state.tracer.start()
        return "every operation of the next steps is looked at"

    def look_no_longer(self) -> None:
        tracer, self.state.tracer = self.state.tracer, None
        if tracer is not None and not tracer.stop():
            self.state.left_behind.append(tracer)


def in_brief(outcome: replay.Outcome) -> str:
    """What is told to the other ranks of what this one found: "`log` makes NaN out of finite values (train.py:12)"."""
    if outcome.origin is None:
        return ""
    record, external, _ = outcome.origin
    at = record.where.location() if record.where is not None else None
    return verdict.told(record, external) + (f" ({at.filename}:{at.row})" if at is not None else "")


def _lines(backward: Event | None, frame: FrameType | None) -> rerun.Again | None:
    """The lines that made the loss, where the function that called backward is still running."""
    place = backward._where if backward is not None else None  # where nobody asked in time there is none
    while frame is not None and place is not None:
        if frame.f_code is place.code:
            return rerun.lines_to(frame, place)
        frame = frame.f_back
    return None
