"""942: what torch is about to remove."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import COMMON_INITS, NUMBER_AMONG, NUMBER_FIRST, Deprecated, arguments, keywords, table
from torchlint.catalogue.torchvision_gone import DATA, NAMES, WARNED, WARNED_SINCE
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import NONE, Class, Const, Instance, Ref, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Change, Mend, replace, without_argument
from torchlint.rules.mends.imports import Use, imported_again, is_program, last_argument, use_at
from torchlint.rules.shared.autograd_instances import instances
from torchlint.rules.shared.deprecations import AMP, applies, rename
from torchlint.rules.shared.inner_functions import calls_within
from torchlint.rules.shared.legacy_weights import NAMES as MODELS
from torchlint.rules.shared.legacy_weights import legacy_weights
from torchlint.rules.shared.number_first import numbers_first
from torchlint.rules.shared.saved_variables import saved_variables
from torchlint.rules.shared.torchvision_old import names_warned_of, renamed_data
from torchlint.rules.shared.typed_storages import typed_storages
from torchlint.rules.shared.which_scheduler import asks_which
from torchlint.rules.shared.written_names import calls, reads, second_choice

CODE = 942
_TORCHVISION = (
    "`{name}` is deprecated (torchvision 0.13 says so); use `{new}`",
    'write `{new}="IMAGENET1K_V1"` or another name of weights, and `{new}=None` where there are to be none',
)
_RENAMED_THERE = ("`{name}` is deprecated (torchvision {by} says so); use `{new}`", "write the new name: torchvision {gone} has the old one no more")
_DATA = ("`{name}` is deprecated (torchvision 0.3 says so); use `{new}`", "`data` and `targets` are what `train` has chosen, of both halves")
_NO_GRAD = ("`volatile` does nothing since torch 0.4 but warn: gradients are kept as without it", "put what runs on it under `with torch.no_grad():`")
_INSTANCE = (
    "`{name}` makes an instance of an autograd function, which torch 2.0 warns of and a later one is to refuse",
    "call `{cls}.apply(...)`, with static methods `forward(ctx, ...)` and `backward(ctx, ...)`",
)
_NAMES = frozenset(canonical(name) for name in table().deprecated if not name.startswith(AMP))
_WORDS = frozenset(name.rpartition(".")[2] for name in table().deprecated if not name.startswith(AMP))
# Losses that still take what `reduction` replaced in 0.4.1.
_LEGACY = ("size_average", "reduce")
_LOSSES = frozenset(name for name in arguments().takes if name.startswith("torch.nn.") and {*_LEGACY, "reduction"} <= keywords(name))
_VARIABLE = "torch.autograd.Variable"
WATCHED = _NAMES | _LOSSES | MODELS | WARNED | NUMBER_AMONG.keys() | {"torch.meshgrid", _VARIABLE}
# Sizes that are changed otherwise than in place, as torch 0.4 warns: what takes their place.
_RESIZES = {"resize": "reshape(...)", "resize_as": "reshape_as(...)"}
CALLS = frozenset({".get_lr", ".storage", *(f".{name}" for name in (*NUMBER_FIRST, *DATA, *_RESIZES))})
# The same function under another name: same arguments, same result.
RENAMED = frozenset(
    ["torch.ger", "torch.cuda.memory_cached", "torch.cuda.max_memory_cached", "torch.nn.utils.clip_grad_norm",
     "torch.nn.functional.upsample", "torch.nn.functional.upsample_nearest", "torch.library.impl_abstract",
     "torch.nn.utils.stateless.functional_call"]
    + [name for name, entry in table().deprecated.items() if entry.instead == name + "_"]
)
# The same where nothing but the matrix is given.
_OF_ONE = frozenset({"torch.qr", "torch.cholesky"})
_BILINEAR = "torch.nn.functional.upsample_bilinear"


def check(view: View) -> Iterator[Report]:
    """`nn.init.xavier_uniform(w)`, `torch.qr(a)`, `nn.MSELoss(size_average=False)`."""
    for event, name in calls(view):
        entry = table().deprecated.get(name)
        if entry is None or name.startswith(AMP) or not applies(entry, view) or second_choice(event.site):
            continue
        if name in COMMON_INITS and "init" not in event.site.parsed.text(event.site.node.func):
            continue  # the sieve does not read a file for each `normal` in it
        yield Report(CODE, event.site, {"name": name, "by": entry.by, "then": _then(name, entry)}, mend=_mend(event.site, name))
    for site, name in calls_within(view, _WORDS):
        entry = table().deprecated.get(name)
        if entry is not None and not name.startswith(AMP) and applies(entry, view) and not second_choice(site):
            if name not in COMMON_INITS or "init" in site.parsed.text(site.node.func):
                yield Report(CODE, site, {"name": name, "by": entry.by, "then": _then(name, entry)}, mend=_mend(site, name))
    yield from _named_only(view)
    yield from _unsaid_indexing(view)
    yield from _volatile(view)
    yield from _legacy_reductions(view)
    for site, call, instead in numbers_first(view):
        yield Report(CODE, site, {"name": call, "by": "1.5", "then": f"; write `{instead}`"})
    for site, owner in typed_storages(view):
        then = f"; use `{owner}.untyped_storage()`, which counts in bytes"
        yield Report(CODE, site, {"name": view.call_text(site), "by": "2.0", "then": then})
    yield from _resized(view)
    yield from _told_epochs(view)
    yield from _asked_for_the_rate(view)
    for site, old, new in legacy_weights(view):
        yield Report(CODE, site, {"name": old, "new": new}, words=_TORCHVISION)
    for site, old, new in renamed_data(view, gone=False):
        yield Report(CODE, site, {"name": old, "new": new}, words=_DATA)
    for site, name, new in names_warned_of(view):
        yield Report(CODE, site, {"name": name, "by": WARNED_SINCE, "new": new, "gone": NAMES[name].by}, words=_RENAMED_THERE)
    for site, name in saved_variables(view):
        yield Report(CODE, site, {"name": name, "by": "0.4", "then": f"; use `{name.replace('variables', 'tensors')}`"})
    if view.admits((2, 0)):
        for site, name, is_called in instances(view):
            if not is_called and not second_choice(site):
                yield Report(CODE, site, {"name": view.call_text(site), "cls": name}, words=_INSTANCE)


def _then(name: str, entry: Deprecated) -> str:
    """What to write in its place; of TorchScript two things have come, and which of them it is goes by what becomes of the model."""
    if name in ("torch.jit.load", "torch.jit.save"):
        return f"; use `{name.replace('jit', 'export')}` with what `torch.export` makes"
    if ".quantization." in name:
        return "; torchao has what takes its place"
    if name.startswith("torch.jit."):
        return "; use `torch.compile`, or `torch.export` for what runs without Python"
    return f"; use `{entry.instead}`" if entry.instead else ""


def _named_only(view: View) -> Iterator[Report]:
    """`dist.reduce_op.SUM`, `{"xavier": nn.init.xavier_normal}`: a name that is read and called elsewhere, or by nobody."""
    told = set()
    for site, name in reads(view):
        entry = table().deprecated.get(name)
        if entry is None or name in COMMON_INITS or not applies(entry, view) or second_choice(site) or site in told:
            continue
        if name.rpartition(".")[2][0].isupper():
            continue  # asked for by isinstance(), or allowed in a file: only making one warns
        told.add(site)
        yield Report(CODE, site, {"name": name, "by": entry.by, "then": _then(name, entry)})


_VOLATILE = re.compile(r"volatile ?= ?(?:True|not\b)")


def _volatile(view: View) -> Iterator[Report]:
    """`Variable(x, volatile=True)` and `x.volatile = True`, which do nothing but warn: the first one in a function."""
    told = set()
    if not view.admits((0, 4)):
        return
    for event in view.of("call"):
        if event.name != _VARIABLE or not isinstance(event.site.node, cst.Call):
            continue
        given = event.kwargs.get("volatile")
        sure = given is not None and (isinstance(given, Const) and given.value or _VOLATILE.search(event.site.parsed.text(event.site.node)))
        if not sure or event.site.parsed in told or second_choice(event.site):
            continue
        told.add(event.site.parsed)
        yield Report(CODE, event.site, {}, words=_NO_GRAD)
    for event in view.of("volatile.set"):
        if event.site.parsed not in told and not second_choice(event.site):
            told.add(event.site.parsed)
            yield Report(CODE, event.site, {}, words=_NO_GRAD)


def _unsaid_indexing(view: View) -> Iterator[Report]:
    """`torch.meshgrid(x, y)`, which warns that `indexing` will have to be said."""
    for event in view.of("call"):
        if event.name != "torch.meshgrid" or event.kwargs or second_choice(event.site):
            continue
        several = len(event.args) > 1 or len(event.args) == 1 and isinstance(event.args[0], Seq)
        if several and view.admits((1, 10)) and (view.torch_version is None or view.torch_version >= (1, 10)):
            yield Report(CODE, event.site, {"name": "torch.meshgrid", "by": "1.10", "then": ' without `indexing`; write `indexing="ij"`'})


def _resized(view: View) -> Iterator[Report]:
    """`x.resize(n)` of a tensor, which gives `x.reshape(n)` and a warning."""
    if not view.admits((0, 4)):
        return
    for event in view.of("method"):
        alts = real(event.subject) if event.name in _RESIZES else ()
        if alts and all(isinstance(alt, Tensor) for alt in alts) and isinstance(event.site.node, cst.Call) and not second_choice(event.site):
            then = f"; use `{view.owner_text(event, 'tensor')}.{_RESIZES[event.name]}`"
            yield Report(CODE, event.site, {"name": view.call_text(event.site), "by": "0.4", "then": then})


# These take something in step() that they need.
_TAKE = ("ReduceLROnPlateau", "CosineAnnealingWarmRestarts")


def _told_epochs(view: View) -> Iterator[Report]:
    """`scheduler.step(epoch)` of one of torch's own, whichever else an option may choose: these do without it, too."""
    if not view.admits((1, 4)):
        return
    for event in view.of("scheduler.step"):
        given = [value for value in event.args if not (isinstance(value, Const) and value.value is None)]
        made = real(event.subject)
        if given and made and all(isinstance(one, Instance) and _steps_as_torchs(one) for one in made):
            if any(asks_which(site) for site, _ in event.guards) or not all(_does_without(view, one) for one in event.among):
                continue
            then = f"; call `{view.owner_text(event, 'scheduler')}.step()` without it, after the optimizer's step"
            yield Report(CODE, event.site, {"name": view.call_text(event.site), "by": "1.4", "then": then})


# These have no get_lr() of their own: it raises.
_WITHOUT_RATE = ("ReduceLROnPlateau", "SequentialLR", "ChainedScheduler")


def _asked_for_the_rate(view: View) -> Iterator[Report]:
    """`scheduler.get_lr()`, which computes the next rate out of the one there is, and is for `step()` to call."""
    if view.torch_version is not None and view.torch_version < (1, 4) or not view.admits((1, 4)):
        return
    for event in view.of("method"):
        made = real(event.subject) if event.name == "get_lr" else ()
        if made and all(isinstance(one, Instance) and _warns_of_the_rate(one) for one in made):
            if any(asks_which(site) for site, _ in event.guards) or second_choice(event.site):
                continue
            then = f"; use `{view.owner_text(event, 'scheduler')}.get_last_lr()`"
            yield Report(CODE, event.site, {"name": view.call_text(event.site), "by": "1.4", "then": then})


def _warns_of_the_rate(scheduler: Instance) -> bool:
    """Whether it is one of torch's, or one of the program's own that steps as torch's does and whose rate is what torch's get_lr()
    says, or made of it: a rate that is computed otherwise may well be asked for at any time."""
    if not isinstance(scheduler.cls, Class):
        return isinstance(scheduler.cls, Ref) and _has_rate(scheduler.type)
    bases = [name for name in scheduler.cls.externals() if name != "object"]
    if scheduler.cls.method("step") is not None or not bases or not all(map(_has_rate, bases)) or set(bases) & _ABSTRACT:
        return False
    own = scheduler.cls.method("get_lr")
    if own is None:
        return True
    cls, unit = own
    text = "\n".join(cls.facts.lines[unit.start - 1:unit.end])
    return scheduler.cls.method("get_lr", after=cls) is None and _ASKS_TORCHS.search(text) is not None


# These leave get_lr() to who derives from them.
_ABSTRACT = {f"torch.optim.lr_scheduler.{name}" for name in ("LRScheduler", "_LRScheduler")}
_ASKS_TORCHS = re.compile(r"super\([^()]*\)\.get_lr\(\)")


def _has_rate(name: str) -> bool:
    return name.startswith("torch.optim.lr_scheduler.") and not name.endswith(_WITHOUT_RATE)


def _steps_as_torchs(scheduler: Instance) -> bool:
    """Whether it is one of torch's, or one of the program's own that has no step() but torch's."""
    if isinstance(scheduler.cls, Class):
        bases = [name for name in scheduler.cls.externals() if name != "object"]
        return scheduler.cls.method("step") is None and bool(bases) and all(map(_is_torchs, bases))
    return isinstance(scheduler.cls, Ref) and _is_torchs(scheduler.type)


def _does_without(view: View, scheduler: Value) -> bool:
    """Whether a scheduler that a call may be of can do without an epoch: one that steps as torch's does, or one of the program's own
    whose step() needs no argument; nor does None."""
    if scheduler is NONE:
        return True
    if not isinstance(scheduler, Instance) or _steps_as_torchs(scheduler):
        return isinstance(scheduler, Instance)
    own = scheduler.cls.method("step") if isinstance(scheduler.cls, Class) else None
    tree = view.run.world.parse(own[0].facts, own[1]) if own is not None else None
    found = next((node for node in walk(tree.module) if isinstance(node, cst.FunctionDef)), None) if tree is not None else None
    return found is not None and all(param.default is not None for param in (*found.params.params[1:], *found.params.kwonly_params))


def _is_torchs(name: str) -> bool:
    return name.startswith("torch.optim.lr_scheduler.") and not name.endswith(_TAKE)


def _legacy_reductions(view: View) -> Iterator[Report]:
    """`nn.MSELoss(size_average=False)`: one finding a call."""
    for event in view.of("call"):
        if event.name not in _LOSSES or not isinstance(event.site.node, cst.Call):
            continue
        reduction = event.kwargs.get("reduction")
        if isinstance(reduction, Const) and reduction.value == "elementwise_mean":
            then = '; write `reduction="mean"`'
            yield Report(CODE, event.site, {"name": "elementwise_mean", "by": "1.0", "then": then}, mend=_called_mean(event.site))
            continue
        given = [word for word in _LEGACY if _says(event.kwargs.get(word))]
        if not given or "**" in event.kwargs:
            continue
        reduction = _reduction(*(event.kwargs.get(word, _UNSAID) for word in _LEGACY))
        then = f'; use `reduction="{reduction}"`' if reduction else "; use `reduction`"
        yield Report(CODE, event.site, {"name": given[0], "by": "0.4.1", "then": then}, mend=_reduced(event.site, given, reduction))


_UNSAID = Const(None)


def _called_mean(site: Site) -> Mend | None:
    """Writes `mean` where the old name of it stands in the call itself."""
    arg = next((arg for arg in site.node.args if arg.keyword is not None and arg.keyword.value == "reduction"), None)
    if arg is None or not isinstance(arg.value, cst.SimpleString):
        return None
    return Mend('pass `reduction="mean"`', [replace(site, 'reduction="mean"', arg)])


def _says(value: Value | None) -> bool:
    """Whether an argument is given, and is no None: that is what torch has for it where it is left out."""
    return value is not None and not (isinstance(value, Const) and value.value is None)


def _reduction(size_average: Value, reduce: Value) -> str | None:
    """What torch makes of the two: None counts as True."""
    if not (isinstance(size_average, Const) and isinstance(reduce, Const)):
        return None
    if reduce.value is not None and not reduce.value:
        return "none"
    return "mean" if size_average.value is None or size_average.value else "sum"


def _reduced(site: Site, given: list[str], reduction: str | None) -> Mend | None:
    """Puts `reduction=` in the place of the first, and takes out the other."""
    args = {arg.keyword.value: arg for arg in site.node.args if arg.keyword is not None}
    if reduction is None or "reduction" in args or any(word not in args for word in given):
        return None
    gone = [without_argument(site, args[word]) for word in given[1:]]
    if None in gone:
        return None
    return Mend(f'pass `reduction="{reduction}"`', [replace(site, f'reduction="{reduction}"', args[given[0]]), *gone])


def _mend(site: Site, name: str) -> Mend | None:
    """Calls it by its new name; where the old one was imported, in the import and wherever the file uses it."""
    new = _moved(name)
    if new == name:
        return None
    change = rename(site, name, new)
    if change is not None:
        use = use_at(site, name)
        more = _rewrite(site.parsed, use) if use is not None else None
        return Mend(f"use `{new}`", [change, *more]) if more is not None else None
    if not isinstance(site.node.func, cst.Name):
        return None
    changes = imported_again(site.parsed, site.node.func.value, _rewrite, _moved)
    # Another file may take the name from this one, if this is none that is run by itself.
    return Mend(f"use `{new}`", changes, is_program(site.parsed)) if changes is not None else None


def _moved(name: str) -> str:
    """The name that does the same, or the name itself."""
    same = name in RENAMED or name in _OF_ONE or name == _BILINEAR
    return table().deprecated[name].instead if same else name


def _rewrite(parsed: Parsed, use: Use) -> list[Change] | None:
    """What besides the name has to change."""
    call = use.parent if isinstance(use.parent, ast.Call) and use.parent.func is use.node else None
    if use.qualified == _BILINEAR:
        change = last_argument(parsed, call, 'mode="bilinear", align_corners=True') if call is not None else None
        return [change] if change is not None else None
    if use.qualified in _OF_ONE:
        alone = call is not None and len(call.args) == 1 and not call.keywords
        return [] if alone and not isinstance(call.args[0], ast.Starred) else None
    return []
