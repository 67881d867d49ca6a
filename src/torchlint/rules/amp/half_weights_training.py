"""707: float16 weights are trained by an optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchlint.dryrun.flow import after
from torchlint.dryrun.guards import Guard
from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.frozen import switches

CODE = 707
_HALF = re.compile(r"\.half\(\)$|\.to\((?:dtype=)?torch\.(?:half|float16)\)$")
# Somebody keeps float32 copies, or the weights are no float16 after all.
_OTHERS = re.compile(r"master|deepspeed|FP16|apex|(?<![a-zA-Z])amp(?![a-z])|scaler|loss_?scal|accelerat|float|prep_param|copy", re.I)
# `float` as a type, of what a model gave, or of what is counted makes no other weights.
_FLOAT = re.compile(
    r"(?<![\w.])float\b|\b(?:outputs?|out|loss|losses|logits|preds?|inputs?|targets?|labels?)(?:_var)?\.float\(\)"
    r"|\.float\(\)\.(?:sum|mean)\(|#.*"
)
_COMPOUND = re.compile(r"\b(?:and|or)\b")
_OPTION = re.compile(r"half|fp_?16|float_?16", re.I)
_ADAPTS = re.compile(r"peft|lora|adapter|deepspeed|master|galore", re.I)
_KEEP = "load it in float32, with `fp16=True` or `bf16=True` in the settings for what is computed"


def check(view: View) -> Iterator[Report]:
    """`model.half()`, then `optimizer.step()` over its parameters; or a model that is loaded so."""
    yield from _loaded(view)
    yield from _given_to_a_trainer(view)
    for event in view.of("module.move"):
        if not _HALF.search(event.site.text()) or not all(map(_is_an_option, event.guards)) or _kept_elsewhere(view):
            continue
        found, _ = after(event, lambda other: other.kind == "optimizer.step" and _over(view, other, event.subject) is not None)
        for step in found:
            if view.of("backward"):
                owner = view.owner_text(event, "model")
                roles = {"model": owner, "optimizer": view.owner_text(step, "optimizer")}
                yield Report(CODE, event.site, roles, [(step.site, "this step rounds to float16")])
                break


def _is_an_option(guard: Guard) -> bool:
    """Whether a condition asks for half precision: `if args.half:`. What else it hangs on may be where nothing is trained."""
    return guard.when and bool(_OPTION.search(guard.condition[0])) and not _COMPOUND.search(guard.condition[0])


def _loaded(view: View) -> Iterator[Report]:
    """`from_pretrained(..., torch_dtype=torch.float16)`, then `optimizer.step()` over its parameters."""
    frozen = {id(switch.module) for switch in switches(view)}
    for created in view.of("optimizer.create"):
        for model in view.held_by(created.subject)[0]:
            if not isinstance(model, Instance) or not model.type.endswith(".from_pretrained") or model.site is None or model.under:
                continue
            if not _loaded_in_half(model) or id(model) in frozen:
                continue
            step = next((step for step in view.steps() if _over(view, step, model) is created.subject), None)
            if step is not None and view.of("backward") and not _moved_to_float(view, model) and not _kept_elsewhere(view):
                roles = {"model": model.name or "model", "optimizer": view.owner_text(step, "optimizer")}
                yield Report(CODE, model.site, roles, [(step.site, "this step rounds to float16")])


def _given_to_a_trainer(view: View) -> Iterator[Report]:
    """`Trainer(from_pretrained(..., dtype=torch.float16), ...).train()`: no setting of it makes other weights of these."""
    frozen = {id(switch.module) for switch in switches(view)}
    for created in view.of("trainer.create"):
        models, settings = real(created.given.get("model")), created.given.get("args")
        model = models[0] if len(models) == 1 else None
        if not isinstance(model, Instance) or not model.type.endswith(".from_pretrained") or model.site is None or model.under:
            continue
        if not _loaded_in_half(model) or "quantization_config" in model.kwargs or id(model) in frozen or _moved_to_float(view, model):
            continue
        if any(name in created.given for name in ("peft_config", "model_init", "**")) or not _settings_are_plain(settings):
            continue
        if view.about("adapt", model) or any(event.name == "add_adapter" for event in view.about("grow", model)) or any(_ADAPTS.search(word) for word in created.site.parsed.facts.words):
            continue
        trained = view.about("trainer.train", created.subject)
        if trained:
            call = view.call_text(trained[0].site)
            words = (f"the weights of `{{model}}` are float16, and the optimizer of `{call}` rounds each small update of them away", _KEEP)
            yield Report(CODE, model.site, {"model": model.name or "model"}, [(trained[0].site, "this trains them as they are")], words=words)


def _settings_are_plain(settings: Value | None) -> bool:
    """Whether nothing is said of engines that keep weights of their own."""
    alts = real(settings)
    return all(
        isinstance(alt, Instance) and alt.kind == "settings" and not alt.kwargs.keys() & {"**", "*", "deepspeed", "fsdp", "fsdp_config"} for alt in alts
    )


def _loaded_in_half(model: Instance) -> bool:
    return any(_is_half(model.kwargs.get(name)) for name in ("torch_dtype", "dtype"))


def _moved_to_float(view: View, model: Instance) -> bool:
    return any(
        view.related_modules(event.subject, model) and "16" not in event.site.text() and "float" in event.site.text()
        for event in view.of("module.move")
    )


def _is_half(value: Value | None) -> bool:
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Ref) and alt.name in ("torch.float16", "torch.half") or isinstance(alt, Const) and alt.value == "float16"
        for alt in alts
    )


def _over(view: View, step: Event, module) -> Instance | None:
    """The optimizer of a step, if it is one of torch's and updates the parameters of that very module."""
    for optimizer in real(step.subject):
        if isinstance(optimizer, Instance) and isinstance(optimizer.cls, Ref) and optimizer.type.startswith("torch.optim."):
            if any(module is held for held in view.held_by(optimizer)[0]):
                return optimizer
    return None


def _kept_elsewhere(view: View) -> bool:
    plain = _plainly_prepared(view)
    files = {id(event.site.parsed.facts): event.site.parsed.facts for event in view.run.graph.events if event.site is not None}
    return any(_OTHERS.search(word) for facts in files.values() for word in facts.words
               if word not in ("float", "float16", "copyfile") and not (plain and word.lower() in ("accelerate", "accelerator"))
               ) or any("float" in facts.words and _makes_float(facts.lines) for facts in files.values())


def _makes_float(lines: Sequence[str]) -> bool:
    """Whether lines make something float32 that may be weights: `params.float()`."""
    return any(re.search(r"\bfloat\b", _FLOAT.sub("", line)) for line in lines)


def _plainly_prepared(view: View) -> bool:
    """Whether all that Accelerate is told is known, and is no engine that keeps weights of its own."""
    owners = [alt for event in view.of("prepare") for alt in real(event.subject)]
    return bool(owners) and all(
        isinstance(one, Instance) and one.kind == "accelerator" and not any(name == "**" or "plugin" in name for name in one.kwargs) for one in owners
    )
