"""Heads that programs give to torchvision's classifiers: what stands before them is known, and so is how wide it is."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.catalogue.vision_widths import HEADS
from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Const, Instance, Opaque, Value, real

_MAKES_NO_OTHER = frozenset({"pretrained", "progress", "weights", "num_classes", "aux_logits", "transform_input", "init_weights", "dropout"})
_BEFORE = frozenset({"conv1", "bn1", "maxpool", "relu", "dropout", "conv_proj", "Conv2d_1a_3x3"})  # put in anew, they leave the width as it is


class VisionHeads:
    """The part of a run that knows what heads get. See `interpreter.Run` for the state it works on."""

    def width_before_head(self, model: Instance) -> tuple[str, int] | None:
        """The name of a classifier's head and how many features it gets; None where the program changes what comes before it."""
        known = _known(model)
        if known is None or not model.kwargs.keys() <= _MAKES_NO_OTHER:
            return None
        head, width, _ = known
        for name, value in self.attributes_of(model):
            parts = [alt for alt in real(value) if isinstance(alt, Instance) and alt.kind in ("module", "wrapper")]
            if name != head and name not in _BEFORE and parts:
                return None
        return head, width

    def check_vision_head(self, model: Instance, node: cst.CSTNode) -> None:
        """A classifier of torchvision is called, whose head the program has put in."""
        found = self.width_before_head(model)
        if found is None:
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
        if known is None or known[0] != place.name or type(at) is not int or len(layers) != 1 or self.width_before_head(model) is None:
            return
        width = known[2].get(at if at >= 0 else max(known[2], default=0) if at == -1 else -1)
        layer = layers[0]
        if width is None or not isinstance(layer, Instance) or layer.type != "torch.nn.Linear":
            return
        self.check_chain(layer, [layer], node, Shape((None, width), False), model.site, called=True)


def _known(model: Instance) -> tuple[str, int, dict[int, int]] | None:
    if not model.type.startswith("torchvision.models.") or any(part in model.type for part in ("quantization", "detection", "segmentation", "video")):
        return None
    return HEADS.get(model.type.rpartition(".")[2])
