"""423: a batch that cannot be right: NaN or infinite values, one value all over, samples that are all the same or are each
of one value, raw 0..255 pixels in a float model."""

from __future__ import annotations

from math import isfinite
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.program.source import users_class
from torchsan.stream.events import Event, rest

_FIRST, _EVERY = 4, 64  # inputs that are looked at closely: the first few, then one in so many
_SAMPLES, _IN_ALL = 4, 3  # samples that are compared, at least; batches that must all be so
_FEW = 16  # values below which a constant tells nothing
_SIDE = 8  # pixels below which it is no picture
_PIXELS = (
    "the batch `{name}` holds raw pixels, in a model that does not bring them into range",
    "divide by 255, and normalise as the model's weights expect",
)
_PLAIN = (torch.Tensor, nn.Parameter)
_INF = float("inf")
_NORMS = (_BatchNorm, _InstanceNorm, nn.LayerNorm, nn.GroupNorm)
_WORDS = ("mean", "std", "scale", "norm", "preprocess", "rescale")


class BadBatch(Check):
    """A batch holds NaN or infinite values, one value all over, or raw pixels from 0 to 255."""

    numbers = (423,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.count = 0
        self.constant = self.alike = 0
        self.drawn = False  # a loader gave a batch, and no model ran since

    def on_loader_batch(self, event: Event) -> None:
        self.drawn = True

    def before_forward(self, event: Event) -> None:
        if event.depth or not event.grad:
            return
        self.count += 1
        drawn, self.drawn = self.drawn, False
        closely = self.thorough or self.count <= _FIRST or not self.count % _EVERY or rest.hears_few
        inputs = list(tensors((event.args, event.kwargs) if event.kwargs else event.args))
        for given in inputs:
            if type(given) not in _PLAIN:
                continue  # a subclass may have no values: torch's FakeTensor
            if given.is_floating_point() and given.layout == torch.strided and given.grad_fn is None and given.numel():
                # In between, what one sum tells: not even that on a device, which would have to be waited for.
                if not given.is_meta and (closely or (given.is_cpu and not isfinite(given.detach().sum()))):
                    self._look(given, event, inputs)

        if drawn and closely and inputs:
            self._look_alike(inputs[0], event, inputs)

    def _look_alike(self, given: torch.Tensor, event: Event, inputs: list[torch.Tensor]) -> None:
        """Samples of a loader that do not differ from each other, or whose values do not."""
        fact = _alike(given)
        if fact is None or any(_alike(one) is None for one in inputs[1:] if one.dim() and one.shape[0] == given.shape[0]):
            return
        self.alike += 1
        if self.alike >= _IN_ALL and self.alike == min(self.count, _FIRST):
            self._say(event, given, fact, *_ends(given))

    def _look(self, given: torch.Tensor, event: Event, inputs: list[torch.Tensor]) -> None:
        low, high = _ends(given)
        if not (abs(low) < _INF and abs(high) < _INF):
            if self.ledger.ill or _is_mask(given, low, high):
                return  # what a model made that is full of NaN is no news
            bad = int((~torch.isfinite(given)).sum())
            self._say(event, given, f"{bad} of {given.numel()} values are NaN or infinite", low, high)
        elif low == high and given.numel() >= _FEW and given.dim() > 1 and given.shape[0] > 1:
            # Beside an input that is not constant, it is a mask or a first state.
            others = [one for one in inputs if one is not given and one.numel() >= _FEW and not one.is_meta]
            if any(low != high for low, high in map(_ends, others)):
                return
            self.constant += 1
            if self.constant > 1:
                self._say(event, given, f"every value is {low:g}", low, high)
        elif low >= 0 and 127 < high <= 255 and _is_picture(given) and not _normalises(event.subject):
            if bool((given == given.round()).all()):
                self._say(event, given, f"whole numbers from {low:g} to {high:g}", low, high, _PIXELS)

    def _say(
        self, event: Event, given: torch.Tensor, fact: str, low: float, high: float,
        words: tuple[str, str] | None = None,
    ) -> None:
        name = name_of(given) or "input"
        details = {"min": repr(low), "max": repr(high)}
        self.found(423, event, name=name, model=name_of(event.subject), fact=fact, details=details, words=words)


def _alike(given: torch.Tensor) -> str | None:
    """In words, that all samples of a batch are the same, or that each one is of one value. None where neither is so."""
    if type(given) not in _PLAIN or given.layout != torch.strided or given.is_meta or given.grad_fn is not None:
        return None
    if given.dim() < 2 or given.shape[0] < _SAMPLES or given[0].numel() < 2 or given.dtype is torch.bool or given.is_complex():
        return None
    with torch.no_grad():
        rows = given.detach().flatten(1)
        if bool((rows == rows[:1]).all()):
            return f"all {len(rows)} samples of each batch are the same"
        if given.is_floating_point() and _is_picture(given) and bool((rows == rows[:, :1]).all()):
            return "each sample is of one value"
    return None


def _ends(values: torch.Tensor) -> tuple[float, float]:
    """The least and the largest of `values`; both NaN where any is."""
    if values.dtype is torch.bool or values.is_complex():
        return 0.0, 1.0  # nothing to judge
    with torch.no_grad():
        low, high = torch.aminmax(values.detach())
        return float(low), float(high)


def _is_mask(given: torch.Tensor, low: float, high: float) -> bool:
    """Whether infinite values are there to be added to scores before a softmax: -inf beside one other value."""
    if low != -_INF or not abs(high) < _INF:
        return False
    with torch.no_grad():
        return bool(((given == high) | (given == -_INF)).all())


def _is_picture(given: torch.Tensor) -> bool:
    """By its shape, a batch of pictures: (N, C, H, W), (N, H, W, C), (N, H, W)."""
    if given.dim() == 3:
        return min(given.shape[1:]) >= _SIDE
    return given.dim() > 3 and sum(size >= _SIDE for size in given.shape[1:]) >= 2


def _normalises(module: nn.Module) -> bool:
    """Whether a model seems to bring raw pixels into range itself: a normalising layer first, or behind the first one,
    or constants to do it."""
    leaves = [m for m in module.modules() if next(m.children(), None) is None]
    at = next((at for at, m in enumerate(leaves) if next(m.parameters(), None) is not None), None)
    if at is None or isinstance(leaves[at], (*_NORMS, nn.Embedding)):
        return True
    second = leaves[at + 1] if at + 1 < len(leaves) else None
    if isinstance(second, _NORMS) and (second.training or not getattr(second, "track_running_stats", False)):
        return True  # of a linear layer's output: its scale is gone, whatever the scale of the input
    names = [name.lower() for name, _ in (*module.named_buffers(), *module.named_modules())]
    names += [name.lower() for name in vars(module)]
    codes = [getattr(function, "__code__", None) for cls in _classes(module) for function in vars(cls).values()]
    constants = [constant for code in codes if code is not None for constant in code.co_consts]
    running = [n for n in names if not n.endswith(("running_mean", "running_var"))]
    numbers = {constant for constant in constants if isinstance(constant, (int, float))}
    return any(word in n for n in running for word in _WORDS) or not numbers.isdisjoint((255, 127.5, 128, 1 / 255))


def _classes(module: nn.Module) -> set[type]:
    """The classes of a model's parts that the user wrote."""
    return {cls for part in module.modules() if (cls := users_class(part)) is not None}


CHECKS = (BadBatch,)
