"""012: channels last for a lazy convolution, and pixel values that a loaded model's batch norm does not know.

That a convolution is given channels last is mostly an error of torch's (`checks/raised`). What goes on in silence: a lazy one
takes the height for the channels; and values from 0 to 255 where the model has learned others. Hooks are put on for the
first two forwards of a model.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.compiled import is_compiled
from torchsan.program.naming import name_of
from torchsan.program.walks import parts_of
from torchsan.program.where import Where
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_FORWARDS = 2
_CHANNELS = (1, 3, 4)
_TIMES = 1000.0  # the variance that is known, and that is given: pixels have some 65,000 times that of values up to 1
_PIXELS = 64.0  # a batch of pixels has one as bright as this
_LAZY = (
    "`{call}` is a lazy convolution, and is given channels last: it takes {given} for the number of channels",
    "bring the channels to the front: `images.permute(0, 3, 1, 2)`",
)
_VALUES = (
    "`{call}` is given pixels from 0 to 255, and the model was trained on other values",
    "scale and normalise as the model's own transforms do: `images / 255`, then mean and deviation of the data it was trained on",
)


class InputFormat(Check):
    """An image has another layout, or other values, than the model takes."""

    numbers = (12,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks: dict[int, int] = {}
        self.done = WeakIds()
        self.handles: list[Any] = []
        self.values: torch.Tensor | None = None  # of the first convolution's input: least, largest, whether all are whole
        self.place: Where | None = None
        self.call = ""

    def before_forward(self, event: Event) -> None:
        model = event.subject
        if event.depth or model in self.done:
            return
        self._unhook()
        look = self.looks[id(model)] = self.looks.get(id(model), 0) + 1
        # Hooks on layers would make compiled code compile again.
        convolutions = [] if is_compiled(model) else [part for part in parts_of(model) if isinstance(part, nn.Conv2d)]
        if look == _FORWARDS or not convolutions:
            self.done.add(model)
        if not convolutions:
            return
        self.values, self.place, self.call = None, event.where(), f"{name_of(model) or 'model'}(...)"
        for part in convolutions:
            self.handles.append(part.register_forward_pre_hook(self.safely(self._convolution), prepend=True))
        for part in parts_of(model):
            if isinstance(part, nn.BatchNorm2d):
                self.handles.append(part.register_forward_pre_hook(self.safely(self._norm)))

    def on_forward(self, event: Event) -> None:
        if not event.depth:
            self._unhook()

    def close(self) -> None:
        self._unhook()

    def _convolution(self, layer: nn.Conv2d, args: tuple) -> None:
        given = args[0] if args else None
        if not isinstance(given, torch.Tensor) or given.dim() != 4 or given.is_meta:
            return
        if nn.parameter.is_lazy(layer.weight):
            if given.shape[-1] in _CHANNELS and min(given.shape[1:3]) > max(_CHANNELS):
                fact = f"{list(given.shape)}"
                self.found(12, self.place, words=_LAZY, call=self.call, given=given.shape[1], fact=fact)
            return
        if self.values is None:
            with torch.no_grad():
                self.values = torch.zeros(3)
                if given.is_floating_point() and layer.in_channels in _CHANNELS and given.numel():
                    flat = given.detach().float()
                    self.values = torch.stack((flat.amin(), flat.amax(), (flat == flat.round()).all().float()))

    def _norm(self, layer: _BatchNorm, args: tuple) -> None:
        """The first batch norm: what it knows of the data that it was trained with. A new one knows nothing: all ones."""
        given, values = args[0] if args else None, self.values
        self.values = torch.zeros(3)
        if values is None or not isinstance(given, torch.Tensor) or given.dim() != 4 or values.device != given.device or layer.running_var is None:
            return
        with torch.no_grad():
            variance = given.detach().float().var(dim=(0, 2, 3), unbiased=False)
            times = (variance / (layer.running_var.float() + layer.eps)).median()
            asked = torch.stack((*values, times, (layer.running_var != 1).any().float()))
        place, call, watch = self.place, self.call, weakref.ref(self)

        def answer(told: list[float]) -> None:
            check = watch()
            least, most, whole, more, has_learned = told
            if check is not None and least >= 0 and _PIXELS <= most <= 255 and whole and has_learned and more > _TIMES:
                fact = f"whole numbers up to {most:.0f}; the first batch norm gets {more:,.0f} times the variance that it knows"
                check.found(12, place, words=_VALUES, call=call, fact=fact)

        self.watch.late.ask(self, asked, answer)

    def _unhook(self) -> None:
        while self.handles:
            self.handles.pop().remove()


CHECKS = (InputFormat,)
