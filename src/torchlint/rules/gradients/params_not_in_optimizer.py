"""118: a layer is put into a model after the optimizer took the model's parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import libcst as cst

from torchlint.catalogue.protocols import GROWS, UNTIED
from torchlint.dryrun.flow import after, following, happens_after
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Tensor, Value, boolean, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.in_no_optimizer import left_out

CODE = 118
_GROWN = (
    "`{optimizer}` was built before `{call}`, by which the model {what}: the new parameters are never updated",
    "build `{optimizer}` after this line",
)
_LEFT_OUT = (
    "the loss is computed with {names}, of which no optimizer has the parameters: they keep the values they begin with",
    "give `{optimizer}` their parameters, too: put the layers into one model, or `[*{first}.parameters(), ...]`",
)


def check(view: View) -> Iterator[Report]:
    """`optimizer = SGD(model.parameters())`, then `model.fc = nn.Linear(...)`, then training with that optimizer."""
    created = [event for event in view.of("optimizer.create") if event.modules]
    if not created:
        return
    yield from _grown(view, created)
    for event, things, backward in left_out(view):
        names = [f"`{thing.name}`" for thing in things]
        roles = {"names": " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))), "first": things[0].name}
        roles["optimizer"] = getattr(event.subject, "name", "") or "optimizer"
        related = [*((thing.site, f"{name} is made here") for thing, name in zip(things, names)), (backward.site, "the loss")]
        yield Report(CODE, event.site, roles, related, words=_LEFT_OUT)
    behind = cache(following)  # of many assignments in a program most come before the optimizer
    for change in view.of("setattr"):
        if isinstance(change.site.node, cst.Attribute):
            continue  # an attribute that is set somewhere else was read here
        if not _brings_parameters(change.value) or "param_groups" in change.site.parsed.unit.words:
            continue  # the second: the optimizer is told by hand
        if change.site.parsed.unit.name == "forward" and not _used(view, change):
            continue
        for event in created:
            if not any(_part_of(view, change.subject, module) for module in event.modules):
                continue
            if change not in behind(event):
                continue
            if _later(view, event, change) and not _seen_again(view, event, change) and _trains(view, event.subject, change):
                name = _target(change)
                optimizer = getattr(event.subject, "name", "") or "optimizer"
                roles = {"name": name, "optimizer": _named(view, event) or optimizer, "change": _kind(change)}
                yield Report(CODE, change.site, roles, [(event.site, "the optimizer took the parameters here")])


def _grown(view: View, created: list[Event]) -> Iterator[Report]:
    """`model.add_adapter(config)` behind the optimizer, or `model.set_output_embeddings(nn.Linear(...))`."""
    for change in view.of("grow"):
        if not _is_new(change):
            continue
        for event in created:
            if not any(_part_of(view, alt, module) for alt in real(change.subject) for module in event.modules):
                continue
            if not _later(view, event, change) or _seen_again(view, event, change) or not _trains(view, event.subject, change):
                continue
            owner = view.owner_text(change, "model")
            optimizer = _named(view, event) or getattr(event.subject, "name", "") or "optimizer"
            roles = {"optimizer": optimizer, "call": f"{owner}.{change.name}", "what": GROWS[change.name]}
            yield Report(CODE, change.site, roles, [(event.site, "the optimizer took the parameters here")], words=_GROWN)


def _is_new(change: Event) -> bool:
    """Whether a method brings new parameters for certain."""
    if change.name.startswith("set_"):
        return bool(change.args) and _brings_parameters(change.args[0])
    return change.name != "resize_token_embeddings" or bool(change.args) and all(map(_is_untied, real(change.subject)))


def _is_untied(model: Value) -> bool:
    """Whether the output layer of a model is another one than its embedding: it says so, or its configuration does."""
    if not isinstance(model, Instance):
        return False
    if "tie_word_embeddings" in model.kwargs:
        return boolean(model.kwargs["tie_word_embeddings"]) is False
    configs = real(model.arg(0, "config")) if not model.type.endswith(".from_pretrained") else ()
    return bool(configs) and all(map(_says_untied, configs))


def _says_untied(config: Value) -> bool:
    node = config.site.node if isinstance(config, Opaque) and config.site is not None else None
    if not isinstance(node, cst.Call) or any(arg.star for arg in node.args):
        return False
    said = [arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value == "tie_word_embeddings"]
    if said:
        return isinstance(said[0], cst.Name) and said[0].value == "False"
    return bool(UNTIED.match(config.name))


def _part_of(view: View, owner: Value, module: Value) -> bool:
    """Whether what got a layer is a model, or a part of it."""
    if isinstance(owner, Opaque) and id(module) in view.origins(owner):
        return view.is_module(module)
    return module is owner or id(owner) in view.closure(module)


def _brings_parameters(value: Value) -> bool:
    alts = real(value)
    return bool(alts) and all(map(_has_parameters, alts))


def _has_parameters(alt: Value) -> bool:
    if isinstance(alt, Tensor):
        return bool(alt.traits.get("param") and alt.traits.get("leaf"))
    if not isinstance(alt, Instance) or alt.kind != "module":
        return False
    return not alt.type.startswith("torch.nn.") or alt.type.rsplit(".", 1)[-1].startswith(_WITH_PARAMETERS)


# What the layers of torch begin with that have parameters, or may hold layers that have.
_WITH_PARAMETERS = (
    "Linear", "Conv", "Embedding", "LSTM", "GRU", "RNN", "Batch", "SyncBatch", "Layer", "Group", "Instance", "RMSNorm", "Multihead",
    "Transformer", "Bilinear", "PReLU", "Lazy", "AdaptiveLog", "Sequential", "Module", "Parameter", "DataParallel",
)  # fmt: skip


def _used(view: View, change: Event) -> bool:
    """Whether a layer is called at all: forward may build one that nothing uses."""
    made = real(change.value)
    return any(event.subject in made for event in view.of("forward"))


def _kind(change: Event) -> str:
    """Whether the model had that attribute before: certain where its class and all that it derives from are seen."""
    cls = getattr(change.subject, "cls", None)
    seen = isinstance(cls, Class) and set(cls.externals()) <= {"torch.nn.Module"}
    known = isinstance(cls, Class) and any(
        change.name in unit.sets | unit.binds for item in cls.mro() if isinstance(item, Class) for unit in item.cf.body
    )
    return "added" if seen and change.old is None and not known else "replaced"


def _later(view: View, first: Event, second: Event) -> bool:
    if not happens_after(first, lambda event: event is second):
        return False
    # The head of a loop that `first` is not in is also where the last turn goes on from, with what it made.
    back, _ = after(second, lambda event: event is first or view.starts_over(event, second.subject) and event.loop in first.loops)
    return first not in back


def _seen_again(view: View, event: Event, change: Event) -> bool:
    """Whether the new parameters reach an optimizer after all."""
    if any(_later(view, change, other) for other in view.of("optimizer.add")):
        return True
    # One that is built in the same turn of a loop takes them too, although the next turn's change comes after it.
    again = [
        other for other in view.of("optimizer.create")
        if other is not event and happens_after(change, lambda later, other=other: later is other) and _may_take(view, other, change)
    ]
    return any(_beside(view, event.subject, other.subject) for other in again)


def _may_take(view: View, created: Event, change: Event) -> bool:
    """Whether an optimizer may be given the new parameters: not where all that it is given is another model's."""
    modules, tensors, complete = view.held_by(created.subject)
    seen = complete and not tensors and all(isinstance(module, Instance) for module in modules)
    return not seen or any(view.related_modules(module, owner) for module in modules for owner in (change.subject, *real(change.get("value"))))


def _beside(view: View, one: Value, other: Value) -> bool:
    """Whether two optimizers may train together, or the other one later: not so if it only warms up before."""
    mine = [step for step in view.steps() if any(alt is one for alt in real(step.subject))]
    others = [step for step in view.steps() if any(alt is other for alt in real(step.subject))]
    if not mine or not others:
        return True
    return any(step in others or happens_after(step, lambda event: event in others) for step in mine)


def _trains(view: View, optimizer: Value, change: Event) -> bool:
    def uses(event: Event) -> bool:
        if event.kind == "optimizer.step":
            return any(alt is optimizer for alt in real(event.subject))
        return event.kind == "unknown" and any(alt is optimizer for value in event.args for alt in real(value))

    return happens_after(change, uses)


def _target(change: Event) -> str:
    node = change.site.node
    targets = getattr(node, "targets", None)
    return change.site.parsed.text(targets[0].target) if targets else change.name


def _named(view: View, event: Event) -> str:
    for step in view.steps():
        if step.subject is event.subject and step.get("scaler") is None:
            return view.owner_text(step, "")
    return ""
