"""The step's function: with it a whole training step can be run again, the loss included, wherever it is computed.

`san.step(function)` and the callbacks for frameworks hand it over. While it runs there is a `Step`, which knows how far
the step has come. A replay rehearses it: the function is called once more, with the same arguments and random states, up
to the backward that showed something bad. In a rehearsal backward gives its loss to the replay and ends the function,
gradients are not cleared, losses are not scaled, and a step of an optimizer ends the rehearsal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torchsan.nonfinite.origin import Impossible
from torchsan.own import inspect, random, threading, torch
from torchsan.stream.forward_start import cut


class _Local(threading.local):
    step: Step | None = None  # the training step that is running
    rehearsal: Rehearsal | None = None  # one of them that is run again: probes ask


local = _Local()
any_ran = [False]  # whether any thread ever had such a step: cheaper to ask than `local.step`


class _Reached(BaseException):
    """The backward that was looked for: ends the function, past any `except Exception` of its own."""


class Rehearsal:
    """A step that is run again, up to its backward number `backwards`, counted from 1."""

    def __init__(self, backwards: int):
        self.left = backwards
        self.loss: Any = None

    def backward(self, loss: Any) -> None:
        """In place of a backward.

        Raises:
            _Reached: it is the one looked for.
        """
        self.left -= 1
        if self.left == 0:
            self.loss = loss
            raise _Reached

    def optimizer_step(self, args: tuple, kwargs: dict) -> None:
        """In place of an optimizer's step: a closure is called once, as the step would begin.

        Raises:
            Impossible: there is no closure, or it did not come to the backward looked for.
        """
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if callable(closure):
            closure()
        raise Impossible("an optimizer steps before the loss is there")


class Step:
    """A training step that is running.

    Args:
        function: what the step is, called with `args` and `kwargs`; it may end with the loss or call backward itself.
        silence: makes a context for running it again: what it changes of a framework's is put back, nobody is told.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple = (),
        kwargs: dict[str, Any] | None = None,
        silence: Callable[[], Any] | None = None,
    ):
        self.function, self.args, self.kwargs = function, args, kwargs or {}
        self.backwards = 0  # begun so far
        self.stepped = False  # an optimizer has changed the parameters since
        self._silence = silence
        self._random = _random_states()
        self._autocast = [(kind, *_autocast(kind)) for kind in _KINDS]
        self._before: Step | None = None

    def begin(self) -> None:
        """This is the step that runs now on this thread."""
        self._before, local.step = local.step, self
        any_ran[0] = True

    def end(self) -> None:
        """It is over."""
        if local.step is self:
            local.step = self._before

    def inputs(self) -> dict[str, Any]:
        """What the step was given, by the names of its parameters."""
        try:
            return dict(inspect.signature(self.function).bind(*self.args, **self.kwargs).arguments)
        except (TypeError, ValueError):
            return {**{f"argument {at}": value for at, value in enumerate(self.args)}, **self.kwargs}

    def loss(self, parameters: Iterable[torch.Tensor] = ()) -> Any:
        """The loss of the backward that is running, or was the last one, computed anew: to be called in a replay.

        Args:
            parameters: those of the optimizers; their gradients and `requires_grad` are put back.

        Raises:
            Impossible: the function did not come to that backward.
        """
        if self.stepped:
            raise Impossible("an optimizer has stepped since the step began")
        rehearsal = Rehearsal(self.backwards)
        with ExitStack() as stack:
            stack.enter_context(_kept(parameters))
            if self._silence is not None:
                stack.enter_context(self._silence())
            for kind, on, dtype in self._autocast:
                stack.enter_context(torch.autocast(kind, dtype, enabled=on))
            _restore(self._random)
            local.rehearsal = rehearsal
            try:
                result = self.function(*map(cut, self.args), **{key: cut(value) for key, value in self.kwargs.items()})
            except _Reached:
                return rehearsal.loss
            finally:
                local.rehearsal = None
        if rehearsal.left != self.backwards:
            raise Impossible("run again, the step called backward less often")
        return result.get("loss") if isinstance(result, dict) else result


_KINDS = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def _autocast(kind: str) -> tuple[bool, torch.dtype]:
    return torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)


def _random_states() -> tuple[Any, ...]:
    """The random states of torch, Python and NumPy; NumPy's only where the program uses it."""
    numpy = sys.modules.get("numpy.random")
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing()
    return (
        torch.default_generator.get_state(),
        torch.cuda.get_rng_state() if cuda else None,
        random.getstate(),
        None if numpy is None else numpy.get_state(),
    )


def _restore(states: tuple[Any, ...]) -> None:
    """Put the generators there. The replay puts them back."""
    cpu, cuda, python, arrays = states
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state(cuda)
    random.setstate(python)
    if arrays is not None:
        sys.modules["numpy.random"].set_state(arrays)


@contextmanager
def _kept(parameters: Iterable[torch.Tensor]) -> Iterator[None]:
    """A step may set `p.grad = None` or `p.requires_grad` of what an optimizer holds: put back."""
    before = [(p, p.grad, p.requires_grad) for p in parameters]
    try:
        yield
    finally:
        for p, grad, requires_grad in before:
            if p.requires_grad != requires_grad:
                p.requires_grad_(requires_grad)
            if p.grad is not grad:
                p.grad = grad
