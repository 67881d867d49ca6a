"""Whether a model is asked about data that it is not trained on, by what the data are called."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import View

_EVALUATION_DATA = re.compile(
    r"(?<![A-Za-z])(?<!train_)(?<!trn_)(?:test|testing|vali?|valid|validate|validation|eval|evaluation|dev)_?"
    r"(?:loader|data_?loader|dl|iter|iterator|gen|generator|batches|set|dataset|data)(?![A-Za-z_(])"
    r"|(?<![A-Za-z])(?:data_?)?(?:loader|dl|iter|iterator|gen|generator|batches|set|data)_(?:test|val|valid|validation|eval|dev)(?![A-Za-z_(])"
    r"|(?:loader|dl|iter|iterator|data|set)s?(?:_dict)?\[[\"'](?:test|val|valid|validation|eval|dev)[\"']\]",
    re.IGNORECASE,
)
# What is no training data by its name: `x_test`, `val_inputs`, `testX`. `dev` alone is a device.
_HELD_OUT = re.compile(
    r"(?:^|_)(?:test|val|valid|validation|eval|held_?out)(?=$|_|\d|[A-Z])|[a-z](?:Test|Val|Valid)(?=$|_|\d|[A-Z])|^test(?=[xy]$)"
    r"|^dev_(?:data|x|y|set|input|batch)|^[xX]_dev$|^[xXyY](?:test|val|valid)(?=$|_)"
)
# What says whether to test, and is no data: `model(x, test)`.
_SWITCH = re.compile(r"^(?:test|val|valid|eval|validation)(?:ing|_mode|_flag|_only)?$|^(?:is|do|in|use|for)_|_mode$|_flag$")
LOSS = re.compile(r"loss|crit", re.I)
_DEEPEST = 4  # `enumerate(tqdm(loader))`
_FARTHEST = 8  # `next(iter(loader))[0].view(-1, 784).to(device)`
_PREPARES = re.compile(r"transform(?!er)|tokeni[sz]|pre_?proc|normali[sz]|augment|resize|crop|collate|metric|accuracy", re.I)


def measures(view: View, event: Event) -> bool:
    """Whether a model that is trained here is asked about data that it is not trained on, by what the data are called."""
    return is_model(event.subject) and trained(view, event.subject) and (goes_over_held_out(event) or given_held_out(event))


def goes_over_held_out(event: Event) -> bool:
    """Whether the loop is one over what is called so, `for x, y in test_loader`, `enumerate(tqdm(self.val_dl))`, or over a loader
    of the part of torchvision's data that is there for it: `MNIST(root, train=False)`."""
    site = event.loops[-1].site if event.loops else None
    if site is None or not isinstance(site.node, cst.For):
        return False
    return bool(_EVALUATION_DATA.search(site.parsed.text(site.node.iter))) or _of_a_test_part(event.loops[-1].over)


def _of_a_test_part(over: Value | None) -> bool:
    for _ in range(_DEEPEST):
        if isinstance(over, Iter):
            over = over.base
    alts = real(over)
    return bool(alts) and all(isinstance(alt, Instance) and alt.kind == "loader" and _is_test_part(alt.arg(0, "dataset")) for alt in alts)


def _is_test_part(dataset: Value | None) -> bool:
    alts = real(whole_dataset(dataset))
    return bool(alts) and all(
        isinstance(alt, Instance) and alt.type.startswith("torchvision.datasets.")
        and (_says(alt.kwargs.get("train"), (False,)) or _says(alt.kwargs.get("split"), ("test", "val", "valid")))
        for alt in alts
    )


def _says(value: Value | None, wanted: tuple) -> bool:
    return isinstance(value, Const) and any(value.value is one or isinstance(one, str) and value.value == one for one in wanted)


def given_held_out(event: Event) -> bool:
    """Whether the model is given what is called so, `model(x_test)`, `net(Variable(val_inputs[:100]))`, or what one batch of a
    loader is that is called so: `images, labels = next(iter(test_loader))`."""
    sites = [event.site, *_own_calls(event)]
    arguments = [arg for site in sites if isinstance(site.node, cst.Call) for arg in site.node.args]
    names = {node.value for arg in arguments for node in walk(arg.value) if isinstance(node, cst.Name)}
    if any("train" in name.lower() for name in names):
        return False
    return any(_HELD_OUT.search(name) and not _SWITCH.search(name) for name in names) or _of_a_held_out_batch(event)


def _own_calls(event: Event) -> list[Site]:
    """The call of a helper, in the loop, that a forward stands in: `self.compute_loss(valid_data)`."""
    loop = event.loops[-1].site if event.loops else None
    return [site for site in event.calls if loop is not None and site is not None and site.parsed is loop.parsed]


def _of_a_held_out_batch(event: Event) -> bool:
    """Whether what the model is given was taken out of a loader for evaluation, outside of any loop over it."""
    for value in event.args[:1]:
        alts = real(value)
        if not alts or not all(_is_held_out(source) for alt in alts for source in (_source(alt),)):
            return False
    return bool(event.args)


def _source(value: Value) -> Value | None:
    """The loader that a value was taken out of, by `next`."""
    for _ in range(_FARTHEST):
        if isinstance(value, Iter):
            value = value.base
        elif isinstance(value, (Tensor, Opaque)) and value.origin is not None and value.source in ("item", "call", "op"):
            value = value.origin
        else:
            return value
    return None


def _is_held_out(source: Value | None) -> bool:
    if isinstance(source, Instance):
        return source.kind == "loader" and (bool(_EVALUATION_DATA.search(source.name)) or _is_test_part(source.arg(0, "dataset")))
    return isinstance(source, Opaque) and bool(_EVALUATION_DATA.search(source.name or ""))


def trained(view: View, model: Value) -> bool:
    """Whether a loss that goes backward came out of the model, or out of layers of it that a method of its own calls, which a loop
    asks for the loss: `model.neg_log_likelihood(x, y)`."""
    return any(
        flow.kind == "forward" and (flow.subject is model or _asked_by_a_method(view, model, flow))
        for step in view.of("backward") for flow in step.flows
    )


def _asked_by_a_method(view: View, model: Value, flow: Event) -> bool:
    """Whether a layer of a model is called in a method of this model's class, and not by way of its forward."""
    if not isinstance(model, Instance) or not isinstance(model.cls, Class):
        return False
    if any(site.parsed.unit.name == "forward" for site in (*flow.calls, flow.site) if site is not None):
        return False
    own = {unit for cls in model.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()}
    return flow.site.parsed.unit in own and id(flow.subject) in view.closure(model)


def is_model(value: Value) -> bool:
    """Whether a value that is called may be a model, and by its name is no loss, and prepares no data."""
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    name = value.name if isinstance(value, Opaque) else None
    return name is not None and not LOSS.search(name) and not _PREPARES.search(name)
