"""What torchvision's models were told by `pretrained`, which `weights` has stood for since 0.13."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.torchvision_models import builders
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.roles import CHOSEN
from torchlint.dryrun.values import Const, Event
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import second_choice, tried_otherwise

NAMES = builders() | {f"torchvision.models.{CHOSEN}"}
KEYWORDS = {"pretrained": "weights", "pretrained_backbone": "weights_backbone"}
_SINCE = (0, 13)
_TORCH_BESIDE_IT = (1, 12)
# What the models of a classifier take besides: one that is chosen by its name and is given anything else is no model of torchvision.
_TAKEN = frozenset(
    "pretrained progress num_classes weights pretrained_backbone weights_backbone aux_logits transform_input init_weights groups width_per_group"
    " zero_init_residual replace_stride_with_dilation norm_layer block layers drop_rate growth_rate bn_size num_init_features block_config"
    " memory_efficient dropout width_mult alpha stochastic_depth_prob layer_scale quantize inverted_residual_setting round_nearest"
    " last_channel reduced_tail dilated image_size attention_dropout trainable_backbone_layers num_keypoints aux_loss min_size max_size".split()
)
_SAYS_SO = re.compile("pretrain", re.IGNORECASE)


def legacy_weights(view: View) -> Iterator[tuple[Site, str, str]]:
    """`models.resnet18(pretrained=True)`, `models.resnet18(True)`: where, the old word, and the new one."""
    if view.torch_version is not None and view.torch_version < _TORCH_BESIDE_IT or view.releases.get("torchvision", _SINCE) < _SINCE:
        return  # `weights` would break it
    if not (view.admits(_TORCH_BESIDE_IT) and view.admits(_SINCE, "torchvision")):
        return
    told = set()
    for event in view.of("call"):
        if event.name not in NAMES or event.site in told or not isinstance(event.site.node, cst.Call):
            continue
        old = next((word for word in KEYWORDS if word in event.kwargs), None) or ("pretrained" if _by_position(event) else None)
        if old is None or "weights" in event.kwargs or second_choice(event.site) or tried_otherwise(event.site, "weights="):
            continue
        if event.name not in builders() and not event.kwargs.keys() <= _TAKEN:
            continue
        told.add(event.site)
        yield event.site, old, KEYWORDS[old]


def _by_position(event: Event) -> bool:
    """Whether the first argument says whether the model is pretrained."""
    if not event.args or not event.site.node.args:
        return False
    first = event.args[0]
    if isinstance(first, Const):
        return isinstance(first.value, bool)
    return bool(_SAYS_SO.search(event.site.parsed.text(event.site.node.args[0].value)))
