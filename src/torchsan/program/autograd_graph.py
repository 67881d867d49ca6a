"""What a tensor is, read from the autograd graph that made it: the trait of its last real operation.

Node names are those of torch/csrc/autograd/generated/Functions.h; they carry a trailing version digit ("Backward0").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from torchsan.own import torch

# Nodes that move values about and change none.
VIEWS = frozenset(
    "View UnsafeView ReshapeAlias Reshape Transpose T Permute Squeeze Unsqueeze Slice Select Clone ToCopy Alias Expand "
    "AsStrided Unbind Split SplitWithSizes Chunk Unfold Index IndexSelect MaskedSelect Flatten Copy Repeat "
    "ViewAsReal ViewAsComplex MakeViewReplay Identity Movedim Narrow".split()
)
_JOINS = frozenset(("Cat", "Stack"))
_TRAITS = {
    "Softmax": "probabilities",
    "SafeSoftmax": "probabilities",
    "LogSoftmax": "log-probabilities",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "other",
    "LogSigmoidForward": "other",
}
# Operations whose output is a raw score: nothing about its range is known.
_SCORES = frozenset(
    "Addmm Mm Bmm Baddbmm Addbmm Addmv Mv Linear Convolution ConvolutionOverrideable MkldnnConvolution "
    "CudnnConvolution "
    "NativeLayerNorm NativeBatchNorm CudnnBatchNorm NativeGroupNorm Relu LeakyRelu Gelu Tanh Silu Elu Embedding "
    "MaxPool2DWithIndices AvgPool2D AdaptiveAvgPool2D NativeDropout".split()
)
_FAR = 12  # nodes to walk through at most


def node_name(node: Any) -> str:
    """ "Softmax" for a SoftmaxBackward0 node."""
    return node.name().split("::")[-1].rsplit("Backward", 1)[0]


def nodes(roots: Iterable[Any], most: float = float("inf"), *, nearest: bool = True) -> Iterator[Any]:
    """The nodes of a graph, each once and no more than `most`, from its `roots` (nodes, or None) on: the nearest ones
    first, or one way to its end before the next."""
    todo, seen = deque(roots), set()
    while todo and len(seen) < most:
        node = todo.popleft() if nearest else todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        todo.extend(following for following, _ in node.next_functions)


def trait_of(tensor: torch.Tensor) -> str | None:
    """The trait of a tensor with an autograd graph: "probabilities", "log-probabilities", "sigmoid", "scores" (the
    output of a layer), "other" (something known, none of these); None where the graph does not tell."""
    return None if tensor.grad_fn is None else _of_node(tensor.grad_fn, _FAR)


def _of_node(node: Any, left: int) -> str | None:
    while node is not None and left:
        name = node_name(node)
        if name in _TRAITS:
            return _TRAITS[name]
        if name in _SCORES:
            return "scores"
        if name == "Log":
            before = node.next_functions[0][0]
            inner = _of_node(before, left - 1) if before is not None else None
            return "log-probabilities" if inner in ("probabilities", "sigmoid") else None
        if name in _JOINS:
            traits = {_of_node(branch, left - 1) for branch, _ in node.next_functions if branch is not None}
            return traits.pop() if len(traits) == 1 else None
        if name not in VIEWS:
            return None
        node = next((following for following, _ in node.next_functions if following is not None), None)
        left -= 1
    return None
