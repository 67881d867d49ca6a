"""Heads that programs give to torchvision's classifiers: what stands before them is known, and so is how wide it is."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.catalogue.vision_widths import HEADS
from torchlint.dryrun.torch_api.shapes import Clash, Shape
from torchlint.dryrun.values import Const, Instance, Opaque, Tensor, Value, real

_MAKES_NO_OTHER = frozenset({"pretrained", "progress", "weights", "num_classes", "aux_logits", "transform_input", "init_weights", "dropout"})
# SqueezeNet's head is a convolution between a dropout and a pooling: what it gets are maps, and of these a Linear takes the width.
_OF_MAPS, _MAPS_HEAD, _MAPS_CHANNELS, _MAPS_PLACES = frozenset({"squeezenet1_0", "squeezenet1_1"}), "classifier", 512, (1, -3)
_MAPS_GIVEN = f"maps of {_MAPS_CHANNELS} channels, whose width comes last"
_LEAVE_MAPS = frozenset({"torch.nn.Dropout", "torch.nn.Dropout2d", "torch.nn.ReLU", "torch.nn.BatchNorm2d"})
_BEFORE = frozenset({"conv1", "bn1", "maxpool", "relu", "dropout", "conv_proj", "Conv2d_1a_3x3"})  # put in anew, they leave the width as it is


class VisionHeads:
    """The part of a run that knows what heads get. See `interpreter.Run` for the state it works on."""

    def width_before_head(self, model: Instance) -> tuple[str, int] | None:
        """The name of a classifier's head and how many features it gets; None where the program changes what comes before it."""
        known = _known(model)
        if known is None or not self._is_as_made(model, known[0]):
            return None
        return known[:2]

    def _is_as_made(self, model: Instance, head: str) -> bool:
        """Whether nothing that the program does to a model changes what comes before its head."""
        if not model.kwargs.keys() <= _MAKES_NO_OTHER:
            return False
        for name, value in self.attributes_of(model):
            parts = [alt for alt in real(value) if isinstance(alt, Instance) and alt.kind in ("module", "wrapper")]
            if name != head and name not in _BEFORE and parts:
                return False
        return True

    def check_vision_head(self, model: Instance, node: cst.CSTNode) -> None:
        """A classifier of torchvision is called, whose head the program has put in."""
        found = self.width_before_head(model)
        if found is None:
            self._check_head_of_maps(model, node)
            return
        name, width = found
        heads = real(self.store.get(model, name))
        if len(heads) != 1 or not isinstance(heads[0], Instance):
            return
        head = heads[0]
        items: Sequence[Value] | None = self.items_of(head) if head.type == "torch.nn.Sequential" else [head]
        if items:
            self.check_chain(head, items, node, Shape((None, width), False), model.site, called=True)

    def check_put_into_head(self, place: Value, key: Value | None, value: Value, node: cst.CSTNode) -> None:
        """A layer of a classifier's head gives way to another: `model.classifier[6] = nn.Linear(4096, 10)`."""
        model = place.origin if isinstance(place, Opaque) and place.source == "attr" else None
        known = _known(model) if isinstance(model, Instance) else None
        layers = real(value)
        at = key.value if isinstance(key, Const) else None
        if isinstance(model, Instance) and _gives_maps(model) and place.name == _MAPS_HEAD and at in _MAPS_PLACES and self._is_as_made(model, _MAPS_HEAD):
            self._check_on_maps(model, layers, node)
        if known is None or known[0] != place.name or type(at) is not int or len(layers) != 1 or self.width_before_head(model) is None:
            return
        width = known[2].get(at if at >= 0 else max(known[2], default=0) if at == -1 else -1)
        layer = layers[0]
        if width is None or not isinstance(layer, Instance) or layer.type != "torch.nn.Linear":
            return
        self.check_chain(layer, [layer], node, Shape((None, width), False), model.site, called=True)

    def _check_head_of_maps(self, model: Instance, node: cst.CSTNode) -> None:
        """The same of a model whose head gets maps."""
        if not _gives_maps(model) or not self._is_as_made(model, _MAPS_HEAD):
            return
        heads = real(self.store.get(model, _MAPS_HEAD))
        if len(heads) != 1 or not isinstance(heads[0], Instance):
            return
        items: Sequence[Value] = (self.items_of(heads[0]) or ()) if heads[0].type == "torch.nn.Sequential" else heads
        first = next((item for item in items if getattr(item, "type", "") not in _LEAVE_MAPS), None)
        if first is not None:
            self._check_on_maps(model, (first,), node)

    def _check_on_maps(self, model: Instance, layers: Sequence[Value], node: cst.CSTNode) -> None:
        """A Linear of as many features as the maps have channels, which stand elsewhere: images of 8000 pixels would make maps so wide."""
        layer = layers[0] if len(layers) == 1 else None
        if not isinstance(layer, Instance) or layer.type != "torch.nn.Linear" or self.whole(layer.arg(0, "in_features")) != _MAPS_CHANNELS:
            return
        shape = Shape((None, _MAPS_CHANNELS, None, None), False)
        sites = {} if model.site is None else {"shape": model.site}
        self.chained += 1
        self.clash(Clash("features", str(_MAPS_CHANNELS), _MAPS_GIVEN), Tensor("", "op", None, traits={"shape": shape}, sites=sites), node, layer, whole=None)
        self.chained -= 1


def _gives_maps(model: Instance) -> bool:
    return model.type.startswith("torchvision.models.") and model.type.rpartition(".")[2] in _OF_MAPS


def _known(model: Instance) -> tuple[str, int, dict[int, int]] | None:
    if not model.type.startswith("torchvision.models.") or any(part in model.type for part in ("quantization", "detection", "segmentation", "video")):
        return None
    return HEADS.get(model.type.rpartition(".")[2])
