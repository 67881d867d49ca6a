"""520: `is_causal=True` without the mask that it is a hint about."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Ref
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import true

CODE = 520
# By layer: the hint, the mask it belongs to, and the mask's place among the arguments.
_HINTS = {
    "torch.nn.MultiheadAttention": (("is_causal", "attn_mask", 5),),
    "torch.nn.TransformerEncoderLayer": (("is_causal", "src_mask", 1),),
    "torch.nn.TransformerEncoder": (("is_causal", "mask", 1),),
    "torch.nn.TransformerDecoderLayer": (("tgt_is_causal", "tgt_mask", 2), ("memory_is_causal", "memory_mask", 3)),
    "torch.nn.TransformerDecoder": (("tgt_is_causal", "tgt_mask", 2), ("memory_is_causal", "memory_mask", 3)),
    "torch.nn.Transformer": (
        ("src_is_causal", "src_mask", 2),
        ("tgt_is_causal", "tgt_mask", 3),
        ("memory_is_causal", "memory_mask", 4),
    ),
}


def check(view: View) -> Iterator[Report]:
    """`self.attn(x, x, x, is_causal=True)`."""
    for event in view.of("forward"):
        layer = event.subject
        if not isinstance(layer, Instance) or not isinstance(layer.cls, Ref):
            continue
        given = event.get("kwargs") or {}
        if given.keys() & {"*", "**"}:
            continue
        for hint, mask, place in _HINTS.get(layer.type, ()):
            value = given.get(mask) if mask in given else event.args[place] if place < len(event.args) else None
            if true(given.get(hint)) and (value is None or isinstance(value, Const) and value.value is None):
                yield Report(
                    CODE, event.site, {"hint": f"{hint}=True", "mask": mask, "call": view.call_text(event.site)}
                )
