"""backward and autograd.grad, as the user calls them; calls made inside a running backward are part of it.

`backward`: subject the first root tensor; `roots` (tuple of tensors), `inputs` (tuple or None), `create_graph` (bool),
`retain_graph` (bool), `error` (the exception, afterwards). `autograd.grad`: `roots`, `create_graph`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from torch.compiler import is_dynamo_compiling

from torchsan.nonfinite.step_function import local
from torchsan.own import torch
from torchsan.program.compiled import compiler
from torchsan.stream.events import begin, end, not_calm, quiet_threads, rest
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    # torch has no hook that tells of a whole backward; Tensor.backward goes through this function too.
    patches.functions(torch.autograd, {"backward": _backward, "grad": _grad})


_running_backward = torch._C._current_graph_task_id
_PLAIN = {"inputs": None, "create_graph": False, "retain_graph": False}


def inside_backward() -> bool:
    """True while autograd runs a backward on this thread."""
    return torch._C._current_graph_task_id() != -1


def _tuple(tensors: Any) -> tuple:
    return (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)


def _backward(original: Callable) -> Callable:
    def backward(
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if is_dynamo_compiling() or compiler._is_compiling_flag or _running_backward() != -1:
            return original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
        plan = rest.now
        if plan is not None and plan.name == "backward" and get_ident() == rest.thread:
            try:
                is_calm = not (create_graph or retain_graph or quiet_threads) and kwargs.get("inputs") is None and plan.look(tensors)
            except Exception:
                is_calm = False
            if is_calm:
                rest.now = plan.then
                original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
                try:
                    is_calm = plan.after()
                except Exception:
                    is_calm = False
                if not is_calm:
                    not_calm(plan, tensors, _PLAIN)
                return None
        if not isinstance(tensors, torch.Tensor):
            tensors = tuple(tensors)
        roots = _tuple(tensors)
        if local.rehearsal is not None:
            return local.rehearsal.backward(roots)
        inputs = kwargs.get("inputs") if kwargs else None
        if inputs is not None and not isinstance(inputs, torch.Tensor):
            inputs = kwargs["inputs"] = tuple(inputs)
        event = begin(
            "backward",
            roots[0] if roots else None,
            roots=roots,
            inputs=inputs,
            create_graph=create_graph,
            retain_graph=create_graph if retain_graph is None else retain_graph,
        )
        original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
        end(event)

    return backward


def _grad(original: Callable) -> Callable:
    def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or inside_backward():
            return original(outputs, inputs, *args, **kwargs)
        if not isinstance(outputs, torch.Tensor):
            outputs = tuple(outputs)
        roots = _tuple(outputs)
        event = begin("autograd.grad", roots[0] if roots else None, roots=roots)
        result = original(outputs, inputs, *args, **kwargs)
        end(event)
        return result

    return grad
