"""No pitfall: the softmaxes, attentions and embeddings of a few forwards, which other checks ask for.

In the second and third training forward of a model, torch's functions for them are replaced for as long as it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import F, functools, torch
from torchsan.probes.modules import is_compiled
from torchsan.program.autograd_graph import VIEWS, node_name
from torchsan.program.where import Where, here
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event, is_transformed
from torchsan.stream.modes import aside
from torchsan.stream.patches import Patches

_FORWARDS = (2, 3)  # training forwards of a model that are looked into, counted from 1
_MOST = 64  # calls of a forward that are kept
_THROUGH = VIEWS | frozenset("Div Mul Add Sub MaskedFill Where Tril Clamp".split())
_FAR = 12  # nodes between a product and its softmax


class Call(NamedTuple):
    """One softmax, or one attention made by torch at once.

    Attributes:
        name: "softmax", "log_softmax" or "attention".
        shape: of what goes in, or of an attention's scores.
        dim: that sums to one, counted from 0.
        at: the user's line.
        of_product: whether what goes in is a product of matrices: scores of queries and keys.
        causal: of scores as many queries as keys, whether the first query sees the first key alone. None: of no such scores.
    """

    name: str
    shape: tuple[int, ...]
    dim: int
    at: Where | None
    of_product: bool
    causal: bool | None


class Embedded:
    """Rows that were looked up by whole numbers, and whether the loss depends on the last place of a sequence."""

    def __init__(self, ids: torch.Tensor, rows: torch.Tensor):
        self.ids = ids
        self.last: list[torch.Tensor] = []  # by dimension of `ids`, once gradients have come back
        rows.register_hook(self._come_back)

    def _come_back(self, gradient: torch.Tensor) -> None:
        with aside(), torch.no_grad():
            self.last = [gradient.select(dim, -1).any() for dim in range(self.ids.dim())]


class SoftmaxCalls(Check):
    """Softmaxes and attentions of a few forwards."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.count: dict[int, int] = self.ledger.while_alive({})
        self.replaced = Brief("softmax")
        self.calls: list[Call] = []
        self.embedded: list[Embedded] = []  # of the last forward that was looked into, until its backward is over
        self.root = self.thread = 0
        self.inside = False
        self.hearers: list[tuple[Check, Callable[[Event, list[Call]], None]]] = []

    def hear(self, check: Check, told: Callable[[Event, list[Call]], None]) -> None:
        """Tell `check` of each forward that was looked into, once it is over."""
        self.hearers.append((check, told))

    def before_forward(self, event: Event) -> None:
        if event.depth or not event.grad:
            return
        if self.replaced.stands:
            if get_ident() != self.thread:
                return
            self.replaced.end()  # the forward before was interrupted
        root = id(event.subject)
        count = self.count[root] = self.count.get(root, 0) + 1
        if count in _FORWARDS and self.hearers and not is_compiled(event.subject) and self.replaced.begin(self._replace):
            self.calls, self.embedded, self.root, self.thread = [], [], root, get_ident()

    def on_forward(self, event: Event) -> None:
        if event.depth or not self.replaced.stands or get_ident() != self.thread or id(event.subject) != self.root:
            return
        self.replaced.end()
        calls, self.calls = self.calls, []
        for check, told in self.hearers if event.output is not None else ():
            if type(check).__name__ not in self.watch.off:
                try:
                    told(event, calls)
                except Exception as error:
                    self._failed(check, error)

    def _failed(self, check: Check, error: Exception) -> None:
        from torchsan.report.deliver import SanError

        if isinstance(error, SanError):
            raise error
        self.watch.switch_off(check, error)

    def before_optimizer_step(self, event: Event) -> None:
        self.embedded = []

    def close(self) -> None:
        self.replaced.end()
        self.embedded = []

    def _replace(self, patches: Patches) -> None:
        for home in (F, torch, torch.Tensor):
            for name in ("softmax", "log_softmax"):
                patches.method(home, name, functools.partial(self._wrapped, name))
        patches.method(F, "scaled_dot_product_attention", functools.partial(self._wrapped, "attention"))
        patches.method(F, "embedding", functools.partial(self._wrapped, "embedding"))

    def _wrapped(self, name: str, original: Callable) -> Callable:
        others = {"attention": self._take_attention, "embedding": self._take_embedding}
        take = self.safely(others.get(name) or functools.partial(self._take, name))

        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or is_transformed() or self.inside or get_ident() != self.thread:
                return original(*args, **kwargs)
            self.inside = True  # torch's own functions call each other
            try:
                result = original(*args, **kwargs)
                if len(self.calls) < _MOST:
                    take(args, kwargs, result)
                return result
            finally:
                self.inside = False

        return call

    def _take(self, name: str, args: tuple, kwargs: dict, result: Any) -> None:
        given = args[0] if args else kwargs.get("input")
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        if type(given) is not torch.Tensor or type(result) is not torch.Tensor or not given.dim() or given.is_meta:
            return
        if dim is None:
            dim = 0 if given.dim() in (1, 3) else 1  # what torch guesses
        if not isinstance(dim, int):
            return
        dim %= given.dim()
        shape, product = tuple(given.shape), _of_product(given.grad_fn)
        causal = None
        if product and name == "softmax" and dim == len(shape) - 1 >= 2 and shape[-1] == shape[-2] > 1:
            with torch.no_grad():
                causal = not bool(result[..., 0, 1:].any())
        self.calls.append(Call(name, shape, dim, here(), product, causal))

    def _take_attention(self, args: tuple, kwargs: dict, result: Any) -> None:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = {**dict(zip(names, args)), **kwargs}
        query, key, mask = given.get("query"), given.get("key"), given.get("attn_mask")
        if type(query) is not torch.Tensor or type(key) is not torch.Tensor or query.dim() < 3 or key.dim() < 3:
            return
        shape = (*query.shape[:-1], key.shape[-2])
        causal = None
        if shape[-1] == shape[-2] > 1:
            causal = bool(given.get("is_causal")) or _hides_the_future(mask)
        self.calls.append(Call("attention", shape, len(shape) - 1, here(), True, causal))


    def _take_embedding(self, args: tuple, kwargs: dict, result: Any) -> None:
        ids = args[0] if args else kwargs.get("input")
        plain = type(ids) is torch.Tensor and type(result) is torch.Tensor and not ids.is_meta
        if plain and ids.dim() == 2 and result.requires_grad and len(self.embedded) < 8:
            self.embedded.append(Embedded(ids, result))


def _hides_the_future(mask: Any) -> bool:
    """Whether a mask of attention lets the first query see the first key alone. One row for all queries is for padding."""
    if not isinstance(mask, torch.Tensor) or mask.dim() < 2 or mask.shape[-2] == 1:
        return False
    with torch.no_grad():
        others = mask[..., 0, 1:]
        return not bool(others.any()) if mask.dtype is torch.bool else bool((others < -1e3).all())


def _of_product(node: Any) -> bool:
    for _ in range(_FAR):
        name = node_name(node) if node is not None else ""
        if name in ("Bmm", "Baddbmm"):
            return True
        if name not in _THROUGH:
            return False
        node = next((following for following, _ in node.next_functions if following is not None), None)
    return False


CHECKS = (SoftmaxCalls,)
