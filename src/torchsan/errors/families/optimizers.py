"""Optimizers, schedules and gradient scalers that are made or stepped wrongly."""

from __future__ import annotations

import ast
from typing import Any

from torch import nn

from torchsan.errors.families.modules import misspelt_init, plain_lists
from torchsan.errors.family import Family, Said, Seen
from torchsan.errors.operands import look_up
from torchsan.own import torch
from torchsan.program.naming import name_of

_MADE = r"optim/\w+\.py:"


def _modules(seen: Seen) -> list[tuple[str, nn.Module]]:
    """The modules that the user's line names, or that its frames hold."""
    found = [(one.text, one.value) for one in seen.arguments() if isinstance(one.value, nn.Module)]
    at = seen.user()
    names: dict[str, Any] = {} if at is None else {**seen.way[at].frame.f_globals, **seen.way[at].frame.f_locals}
    line = seen.line()
    return found or [
        (key, value) for key, value in names.items() if isinstance(value, nn.Module) and f"{key}.parameters(" in line
    ]


def _empty(seen: Seen) -> Said | None:
    """An optimizer without parameters: why the model has none."""
    for name, module in _modules(seen):
        if next(module.parameters(), None) is not None:
            continue
        cls = type(module).__name__
        made = misspelt_init(type(module))
        if made is not None:
            return Said(
                (f"`{name}` has no parameters: `{made}` is never called",), None, f"rename `{made}` to `__init__`"
            )
        lists = plain_lists(module)
        if lists:
            key, kind = lists[0]
            held = "nn.ModuleDict" if kind == "dict" else "nn.ModuleList"
            return Said(
                (f"`{name}.{key}` is a plain {kind}, in which nn.Module sees no layers",),
                None,
                f"make it an `{held}`: `self.{key.rpartition('.')[2]} = {held}(...)`",
            )
        return Said(
            (f"`{name}`, a {cls}, has no parameters",),
            None,
            "look at its `__init__`: layers must be made there, as `self.name = nn.Linear(...)`",
        )
    made = _class_of_call(seen)
    if made is not None:
        return Said((f"`{made}` is never called",), None, f"rename `{made}` to `__init__`")
    given = seen.arguments()
    if given and isinstance(given[0].value, (list, tuple)) and not given[0].value:
        return Said(
            (f"`{given[0].text}` is empty",),
            None,
            "look at what fills it: the filter may let nothing through (`p.requires_grad` of a frozen model)",
        )
    return Said(
        (),
        None,
        "the filter may let nothing through: `[p for p in model.parameters() if p.requires_grad]` of a frozen "
        "model is empty",
    )


def _class_of_call(seen: Seen) -> str | None:
    """The misspelt `__init__` of a class that the line makes an object of: `Net().parameters()`."""
    at, node = seen.user(), seen.node()
    for part in ast.walk(node) if at is not None and node is not None else ():
        cls = look_up(seen.way[at].frame, part.func) if isinstance(part, ast.Call) else None
        if isinstance(cls, type) and issubclass(cls, nn.Module) and (made := misspelt_init(cls)) is not None:
            return made
    return None


def _model(seen: Seen) -> Said | None:
    kind = seen.match["type"]
    name = seen.arguments()[0].text if seen.arguments() else "model"
    if kind == "method":
        return Said((f"`{name}` is the method",), None, f"call it: `{name}()`")
    return Said((f"`{name}` is of type {kind}",), None, f"`{name}.parameters()`")


def _plain(seen: Seen) -> Said | None:
    name = seen.arguments()[0].text if seen.arguments() else "weight"
    return Said((f"`{name}` is one tensor",), None, f"`[{name}]`")


def _twice(seen: Seen) -> Said | None:
    """Which parameters stand in two groups."""
    held, group = seen.given("self"), seen.given("param_group")
    if not isinstance(held, torch.optim.Optimizer) or not isinstance(group, dict):
        return None
    known = {id(p) for own in held.param_groups for p in own["params"]}
    again = [p for p in group["params"] if id(p) in known]
    names = [name for p in again[:4] if (name := name_of(p))]
    return Said(
        (f"{len(again)} of its parameters in an earlier group, too" + (f": {', '.join(names)}" if names else ""),)
    )


def _groups(seen: Seen) -> Said | None:
    own, other = seen.given("groups"), seen.given("saved_groups")
    if not isinstance(own, (list, tuple)) or not isinstance(other, (list, tuple)):
        return None
    counts = [[len(group["params"]) for group in groups] for groups in (other, own)]
    return Said((f"the saved groups have {counts[0]} parameters, those of the optimizer {counts[1]}",))


FAMILIES = (
    Family("empty-parameter-list", r"optimizer got an empty parameter list", "the optimizer is given no parameters",
           "look at what `model.parameters()` is", look=_empty),
    Family("parameters-expected", r"'(?P<type>\w+)' object is not iterable", "an optimizer takes parameters, not a "
           "model", "`model.parameters()`", look=_model, inside=r"optim/optimizer\.py:|utils/clip_grad\.py:"),
    Family("parameters-expected", r"params argument given to the optimizer should be an iterable of Tensors or dicts, "
           r"but got", "an optimizer takes a list of parameters", "`[weight]`", look=_plain),
    Family("optimise-a-result", r"can't optimize a non-leaf Tensor", "the optimizer is given the result of an "
           "operation", "make it a leaf: compute it first, then `.detach().requires_grad_()` or `nn.Parameter(...)`; "
           "`.to(device)` makes a result, too"),
    Family("optimise-a-stranger", r"optimizer can only optimize Tensors, but one of the params is (?P<type>[\w.]+)",
           "the optimizer is given something that is no parameter", "`model.parameters()` of each: `[*a.parameters(), "
           "*b.parameters()]`", fact="one is of type {type}"),
    Family("parameter-in-two-groups", r"some parameters appear in more than one parameter group",
           "a parameter is given to the optimizer twice", "leave it out of the other group: `[p for p in "
           "model.parameters() if p not in ...]` by `id(p)`; tied weights count once", look=_twice),
    Family("group-without-params", r"^'params'$", "a group of an optimizer has no `params`",
           "`{{\"params\": model.parameters(), \"lr\": 1e-3}}`", inside=r"optim/optimizer\.py:add_param_group$"),
    Family("setting-out-of-range", r"Invalid (?P<what>learning rate|momentum value|weight_decay value|epsilon "
           r"value|beta parameter at index \d|rho value|lr_decay value|alpha value)s?: (?P<n>\S+)",
           "a setting of the optimizer is out of its range", "rates and decays are not negative; betas lie below 1",
           fact="{what}: {n}"),
    Family("setting-is-text", r"'(<|<=|>|>=)' not supported between instances of '(str|float|int)' and "
           r"'(?P<type>str|float|int)'|could not convert string to float: (?P<text>.*)", "a setting of the optimizer "
           "is text", "`float(...)` it: YAML reads `1e-3` as text, `1.0e-3` as a number",
           inside=r"optim/\w+\.py:|utils/clip_grad\.py:"),
    Family("nesterov", r"Nesterov momentum requires a momentum and zero dampening", "Nesterov wants a momentum",
           "`momentum=0.9`, without `dampening`"),
    Family("fused-and-foreach", r"`fused` and `foreach` cannot be `True` together", "`fused` and `foreach` are two "
           "ways for one thing", "give one of them"),
    Family("sparse-gradients", r"(?P<cls>\w+) does not support sparse gradients", "{cls} meets the sparse gradient of "
           "an embedding", "`nn.Embedding(..., sparse=False)`, or `torch.optim.SparseAdam` for the embedding alone"),
    Family("dense-gradients", r"SparseAdam does not support dense gradients", "SparseAdam meets a dense gradient",
           "give it only the parameters of embeddings made with `sparse=True`, and the others to Adam"),
    Family("sparse-decay", r"add\(sparse, dense\) is not supported", "weight decay or momentum meets the sparse "
           "gradient of an embedding", "`weight_decay=0` for the embedding, or `nn.Embedding(..., sparse=False)`"),
    Family("one-group-only", r"LBFGS doesn't support per-parameter options", "LBFGS takes one group",
           "`torch.optim.LBFGS(model.parameters())`"),
    Family("saved-groups", r"loaded state dict (contains a parameter group that doesn't match the size of optimizer's "
           r"group|has a different number of parameter groups)", "the optimizer's checkpoint is of another model or "
           "other groups", "make the optimizer as it was made for the checkpoint: same layers, same groups, nothing "
           "frozen or added before", look=_groups),
    Family("no-optimizer-state", r"^'(?P<key>param_groups|state)'$", "what is loaded is no state of an optimizer",
           "`checkpoint[\"optimizer\"]`: the key under which it was saved; the model's state goes to the model",
           fact="it has no `{key}`", inside=r"optim/optimizer\.py:load_state_dict$"),
    Family("rate-of-an-optimizer", r"'(?P<cls>\w+)' object has no attribute 'lr'", "an optimizer keeps its rate in "
           "its groups", "`optimizer.param_groups[0][\"lr\"]`"),
    Family("schedule-of-no-optimizer", r"(?P<cls>\w+) is not an Optimizer", "a schedule is made over something that "
           "is no optimizer", "give it the optimizer", fact="it is a {cls}", inside=r"lr_scheduler\.py:"),
    Family("schedule-length", r"You must define either total_steps OR \(epochs AND steps_per_epoch\)",
           "OneCycleLR has to know how long the training is", "`total_steps=epochs * len(loader)`"),
    Family("schedule-ended", r"Tried to step (?P<n>\d+) times\. The specified number of total steps is (?P<total>\d+)",
           "the schedule is stepped beyond its end", "`total_steps=epochs * len(loader)`, one step a batch; stepped "
           "once an epoch, `total_steps=epochs`", fact="step {n} of {total}"),
    Family("resume-schedule", r"param 'initial_lr' is not specified in param_groups\[\d+\]",
           "a schedule is to go on with an optimizer that never had one", "make both, then "
           "`scheduler.load_state_dict(...)`; leave `last_epoch` at -1"),
    Family("schedule-functions", r"Expected (?P<a>\d+) lr_lambdas, but got (?P<b>\d+)", "a schedule has another "
           "number of functions than the optimizer groups", "one function, or one a group",
           fact="{a} groups, {b} functions"),
    Family("schedule-mode", r"mode (?P<mode>\w+) is unknown!", "ReduceLROnPlateau knows \"min\" and \"max\"",
           "\"min\" for a loss, \"max\" for an accuracy", fact="`{mode}` was given"),
    Family("schedule-factor", r"Factor should be < 1\.0", "ReduceLROnPlateau lowers the rate", "`factor=0.1`"),
    Family("schedule-of-zero", r"integer (modulo|division or modulo) by zero|float division by zero|division by zero",
           "a schedule lasts no steps", "`T_max`, `step_size` and the like are 1 or more: look at what they are "
           "computed from", inside=r"lr_scheduler\.py:", kinds=(ZeroDivisionError,)),
    Family("schedule-parts", r"SequentialLR expects", "SequentialLR's parts do not fit", "as many schedulers as "
           "milestones, and one more, all of one optimizer"),
    Family("", r"ReduceLROnPlateau\.step\(\) missing 1 required positional argument: 'metrics'", number=139),
    Family("", r"float\(\) argument must be a string or a real number, not 'NoneType'", number=139, inside=r"lr_scheduler\.py:"),
    Family("scaler-step-twice", r"step\(\) has already been called since the last update\(\)",
           "a scaler steps twice without an update", "`scaler.update()` once after the steps of all optimizers"),
    Family("scaler-unscales-twice", r"unscale_\(\) (has already been called on this optimizer|is being called after step)",
           "a scaler unscales the same gradients twice", "`scaler.unscale_(optimizer)` once, before `scaler.step(optimizer)`, "
           "and `scaler.update()` after it"),
    Family("scaler-without-loss", r"Attempted (?P<what>step|update|unscale_) but _scale is None",
           "a GradScaler {what}s, and scaled no loss", "`scaler.scale(loss).backward()` before it"),
    Family("scaler-no-gradients", r"No inf checks were recorded for this optimizer", "a GradScaler steps an optimizer "
           "whose parameters got no gradient", "`scaler.scale(loss).backward()` of a loss that depends on these "
           "parameters, before `scaler.step`"),
    Family("half-parameters", r"Attempting to unscale FP16 gradients", "the parameters are float16 themselves",
           "keep them in float32 (no `model.half()`), and run under `torch.autocast`"),

    Family("sparse-decay", r"weight_decay option is not compatible with sparse gradients", "weight decay meets the "
           "sparse gradient of an embedding", "`weight_decay=0` for the embedding, or `nn.Embedding(..., sparse=False)`"),
    Family("no-momentum-to-cycle", r"optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
           "a cyclic schedule is to move a momentum that the optimizer does not have", "`cycle_momentum=False`, or "
           "`momentum=0.9` in SGD"),
    Family("parameters-in-a-set", r"optimizer parameters need to be organized in ordered collections",
           "the parameters are in a set, whose order changes from run to run", "a list: `list(parameters)`"),
    Family("required-setting", r"parameter group didn't specify a value of required optimization parameter "
           r"(?P<name>\w+)", "a group has no value for a setting that has no default", "give `{name}` to the "
           "optimizer or to each group"),
    Family("matrices-only", r"Muon only supports 2D parameters whereas we found a parameter with size: (?P<size>.*)",
           "Muon takes matrices only", "give it the weights of linear layers, and AdamW embeddings, biases, norms and "
           "the head", fact="one is {size}"),
    Family("fused-devices", r"`fused=True` requires all the params to be floating point Tensors of supported devices",
           "a fused optimizer meets a parameter that it cannot take", "`model.to(device)` before it is made, or leave "
           "`fused` out"),
)
