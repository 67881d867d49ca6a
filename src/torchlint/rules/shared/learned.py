"""Whether a model has learned: it is trained here, an optimizer has it, its weights are out of a file or a library's, or somebody
hands it over."""

from __future__ import annotations

import re

from torchlint.dryrun.values import FALSE, NONE, Event, Instance, Opaque, Ref, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.class_around import class_around
from torchlint.rules.shared.held_out import is_model, trained
from torchlint.rules.shared.seen_calls import is_module
from torchlint.sieve.facts import Unit

_A_MODEL = re.compile(
    r"model|net|^(?:[gd]|ae|vae|gan|mlp|cnn|rnn)(?:$|_)|gen(?:$|_|erator)|discriminator|enc(?:$|_|oder)|dec(?:$|_|oder)|classifier|regressor"
    r"|actor|critic|policy|agent", re.IGNORECASE,
)


def has_learned(view: View, model: Value) -> bool:
    """Whether a model is trained here, has weights from a file or a library, or comes from somebody else."""
    if isinstance(model, Opaque):
        return model.source != "global" or is_from_a_file(view, model)
    return learned_here(view, model) or isinstance(model, Instance) and _with_weights(model)


def learned_here(view: View, model: Value) -> bool:
    """Whether this run trains a model, makes an optimizer for it, or loads its weights."""
    return trained(view, model) or in_an_optimizer(view, model) or is_from_a_file(view, model)


def learned_as_written(view: View, event: Event) -> bool:
    """Whether the function that a run begins with asks a model of the file's body, and the body has an optimizer for it, or loads its
    weights: `net.load_state_dict(...)` above `def show():`, which nobody calls."""
    site, root, model = event.site, view.run.root, event.subject
    func = getattr(site.node, "func", None)
    if root is None or func is None or site.parsed.facts is not root.facts:
        return False
    if not isinstance(model, Instance) and not (type(model) is Opaque and model.source == "call" and is_model(model)):
        return False
    name = site.parsed.text(func).removesuffix(".forward")
    facts, unit = site.parsed.facts, site.parsed.unit
    if name in (*unit.params, *unit.binds) or not any(isinstance(item, Unit) and name in item.binds for item in facts.body):
        return False
    wanted = re.compile(rf"(?<![\w.]){re.escape(name)}\.(?:load_state_dict\(|parameters\(\)\s*,\s*(?:lr\b|[\w.]))")
    return any(wanted.search(line.split("#", 1)[0]) for line in facts.lines)


_OWN_CALLS = frozenset({"self", "self.forward", "self.__call__"})
_OPTIMIZES_ITSELF = re.compile(r"(?<![\w.])self\.parameters\(\)\s*,")


def learns_by_itself(event: Event) -> bool:
    """Whether a method of a model asks the model whole, `self.forward(x)`, and another one of its class trains it: it makes an optimizer
    of `self.parameters()`, and goes backward."""
    func = getattr(event.site.node, "func", None)
    owner = class_around(event.site.parsed)
    if func is None or owner is None or event.site.parsed.text(func) not in _OWN_CALLS:
        return False
    lines = event.site.parsed.facts.lines
    return any(
        {"backward", "parameters"} <= unit.words and _OPTIMIZES_ITSELF.search("\n".join(line.split("#", 1)[0] for line in lines[unit.start - 1 : unit.end]))
        for unit in owner.methods.values() if unit is not event.site.parsed.unit
    )


def is_handed(model: Value) -> bool:
    """Whether a model comes whole out of a file, or a caller hands it over, and it is called one."""
    if type(model) is not Opaque or not is_model(model):
        return False
    return "loaded" in model.tags or model.source == "param" and bool(_A_MODEL.search(model.name or ""))


def in_an_optimizer(view: View, model: Value) -> bool:
    """Whether an optimizer is made for a model: another method trains it."""
    return any(
        view.related_modules(held, model) for made in view.of("optimizer.create") for held in view.held_by(made.subject)[0]
    )


def is_from_a_file(view: View, model: Value) -> bool:
    """Whether a model comes whole out of a file, or its weights do."""
    if isinstance(model, Opaque) and "loaded" in model.tags:
        return True
    return any(event.subject is model or is_module(event.subject) and view.related_modules(event.subject, model) for event in view.of("load"))


def _with_weights(model: Instance) -> bool:
    """Whether it is one of a library's, with the weights that come with it: `resnet18(pretrained=True)`."""
    if not isinstance(model.cls, Ref) or model.type.startswith("torch.nn."):
        return False
    given = [*model.args[:1], *(model.kwargs[name] for name in ("pretrained", "weights") if name in model.kwargs)]
    return any(alt not in (FALSE, NONE) for value in given for alt in real(value))
