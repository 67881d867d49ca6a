"""What the graph of a loss keeps of its operations' inputs: which of them made NaN or infinity, where the step cannot be run
again. To be asked before backward, which frees it. The graph knows no lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchsan.nonfinite.origin import finite, statistics
from torchsan.nonfinite.verdict import plain
from torchsan.own import torch
from torchsan.program.autograd_graph import nodes

_NODES = 4096
_Rule = Callable[[torch.Tensor], torch.Tensor]
# By node: which saved input tells, and the values of it that have no finite result.
_BAD: dict[str, tuple[str, _Rule]] = {
    "Log": ("self", lambda x: x <= 0),
    "Log2": ("self", lambda x: x <= 0),
    "Log10": ("self", lambda x: x <= 0),
    "Log1P": ("self", lambda x: x <= -1),
    "Div": ("other", lambda x: x == 0),
    "Acos": ("self", lambda x: x.abs() > 1),
    "Asin": ("self", lambda x: x.abs() > 1),
    "Atanh": ("self", lambda x: x.abs() >= 1),
}
_BY_RESULT = ("Exp", "Expm1", "Sqrt", "Rsqrt", "Reciprocal", "Softmax", "LogSoftmax", "Tan", "Sigmoid", "Tanh")


def bad_operation(loss: torch.Tensor) -> str | None:
    """ "`log` was given float32 [8]: 0 to 0, mean 0, 8 zeros": the first operation of the graph that gave no finite values."""
    if loss.grad_fn is None:
        return None
    found = [said for node in nodes([loss.grad_fn], _NODES, nearest=False) if (said := _said(node)) is not None]
    return found[-1] if found else None  # the one that is farthest from the loss


def _said(node: Any) -> str | None:
    name = node.name().rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")
    try:
        saved = dict(_saved(node))
        if not all(finite(value) for key, value in saved.items() if key != "result"):
            return None
        if name in _BAD:
            key, is_bad = _BAD[name]
            value = saved.get(key)
            if value is not None and bool(is_bad(value.detach()).any()):
                return f"`{plain(node.name())}` was given {statistics(value)}"
        elif name in _BY_RESULT and "result" in saved and not finite(saved["result"]):
            return f"`{plain(node.name())}` gave {statistics(saved['result'])}"
    except RuntimeError:  # freed, changed in place, or unpacked by a hook of the program's
        return None
    return None


def _saved(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a node has saved, by what they were to its operation."""
    for key in dir(node):
        if key.startswith("_saved_"):
            value = getattr(node, key)
            if isinstance(value, torch.Tensor):
                if not _is_there(value):
                    raise RuntimeError("a saved tensor has no memory any more")
                yield key.removeprefix("_saved_"), value


def _is_there(value: torch.Tensor) -> bool:
    """Whether a tensor's memory is there: `fully_shard` takes it from gathered parameters between forward and backward, and
    to read it then ends the process."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided or value.is_meta:
        return False
    if not value.numel():
        return True
    last = value.storage_offset() + sum((size - 1) * step for size, step in zip(value.shape, value.stride()))
    return (last + 1) * value.element_size() <= value.untyped_storage().nbytes()
