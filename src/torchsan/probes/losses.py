"""loss: torch's loss functions, called directly or through their modules.

Subject: the function's name ("cross_entropy"). `input`, `target` (tensors), `arguments` (dict of the keyword arguments
and the rest of the positional ones under their position), `result` afterwards, `error` where it raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.compiler import is_dynamo_compiling

from torchsan.own import F
from torchsan.program.compiled import compiler
from torchsan.stream.events import begin, end, happened, quiet_threads, rest
from torchsan.stream.patches import Patches

NAMES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
)


def install(patches: Patches) -> None:
    # There is no hook on functions, and a mode would cost on every call of every operation.
    patches.functions(F, {name: _wrapper(name) for name in NAMES})


def _wrapper(name: str) -> Callable[[Callable], Callable]:
    expected = "loss", id(name)

    def make(original: Callable) -> Callable:
        def loss(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling() or compiler._is_compiling_flag:
                return original(*args, **kwargs)
            plan = rest.now
            if plan is not None and plan.passes == expected and not quiet_threads:
                rest.now = plan.then
                try:
                    return original(*args, **kwargs)
                except Exception as error:
                    rest.wake()
                    given = args[0] if args else kwargs.get("input")
                    target = args[1] if len(args) > 1 else kwargs.get("target")
                    happened("loss", name, input=given, target=target, args=args, kwargs=kwargs, error=error)
                    raise
            given = args[0] if args else kwargs.get("input")
            target = args[1] if len(args) > 1 else kwargs.get("target")
            event = begin("loss", name, input=given, target=target, args=args, kwargs=kwargs, error=None)
            if event is None:
                return original(*args, **kwargs)
            try:
                result = event.result = original(*args, **kwargs)
            except Exception as error:
                event.error = error
                end(event)
                raise
            end(event)
            return result

        return loss

    return make
