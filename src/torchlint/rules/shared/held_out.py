"""Whether a model is asked about data that it is not trained on, by what the data are called."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Opaque, Value
from torchlint.rules.base import View

_EVALUATION_DATA = re.compile(
    r"(?<![A-Za-z])(?<!train_)(?<!trn_)(?:test|val|valid|validation|eval|dev)_?(?:loader|data_?loader|dl|iter|iterator|gen|generator|batches|set|dataset|data)(?![A-Za-z_(])",
    re.IGNORECASE,
)
# What is no training data by its name: `x_test`, `val_inputs`, `testX`. `dev` alone is a device.
_HELD_OUT = re.compile(
    r"(?:^|_)(?:test|val|valid|validation|eval|held_?out)(?=$|_|\d|[A-Z])|[a-z](?:Test|Val|Valid)(?=$|_|\d|[A-Z])|^test(?=[xy]$)"
    r"|^dev_(?:data|x|y|set|input|batch)|^[xX]_dev$"
)
LOSS = re.compile(r"loss|crit", re.I)
_PREPARES = re.compile(r"transform(?!er)|tokeni[sz]|pre_?proc|normali[sz]|augment|resize|crop|collate|metric|accuracy", re.I)


def measures(view: View, event: Event) -> bool:
    """Whether a model that is trained here is asked about data that it is not trained on, by what the data are called."""
    return is_model(event.subject) and trained(view, event.subject) and (goes_over_held_out(event) or _given_held_out(event))


def goes_over_held_out(event: Event) -> bool:
    """Whether the loop is one over what is called so: `for x, y in test_loader`, `enumerate(tqdm(self.val_dl))`."""
    site = event.loops[-1].site
    if site is None or not isinstance(site.node, cst.For) or site.parsed is not event.site.parsed:
        return False
    return bool(_EVALUATION_DATA.search(site.parsed.text(site.node.iter)))


def _given_held_out(event: Event) -> bool:
    """Whether the model is given what is called so: `model(x_test)`, `net(Variable(val_inputs[:100]))`."""
    arguments = event.site.node.args if isinstance(event.site.node, cst.Call) else ()
    names = {node.value for arg in arguments for node in walk(arg.value) if isinstance(node, cst.Name)}
    return any(_HELD_OUT.search(name) for name in names) and not any("train" in name.lower() for name in names)


def trained(view: View, model: Value) -> bool:
    """Whether a loss that goes backward came out of the model."""
    return any(flow.kind == "forward" and flow.subject is model for step in view.of("backward") for flow in step.flows)


def is_model(value: Value) -> bool:
    """Whether a value that is called may be a model, and by its name is no loss, and prepares no data."""
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    name = value.name if isinstance(value, Opaque) else None
    return name is not None and not LOSS.search(name) and not _PREPARES.search(name)
