"""603: training goes through the data in the same order in every epoch."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Class, Const, Dict, Event, Instance, Loop, Opaque, Ref, Value, alternatives, boolean, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.asked_in_order import asked_in_order
from torchlint.rules.shared.cut_in_order import files_of, given_to, singles_of, slices_of
from torchlint.rules.shared.fitted import fitted
from torchlint.rules.shared.from_hub import in_order_of_the_hub
from torchlint.rules.shared.handed_out import handed_out
from torchlint.rules.shared.loaders import option, true
from torchlint.rules.shared.mixed_once import mixes_in_training, mixings, one_turn
from torchlint.rules.shared.ordered_samplers import in_order
from torchlint.rules.shared.sample_order import OF_TIME, means_nothing, mixed_before

CODE = 603
CALLS = frozenset({"torch.randperm"})  # it gives a tensor, and nothing else tells where it is called
# What a call says of an order that is meant, or of samples that are drawn.
_DRAWN = re.compile(r"sampler|sampled|resampl|shuffl|permut", re.IGNORECASE)
_HANDFUL = 64
_MIX = "draw `order = torch.randperm(n)` in each epoch, and take `x[order[i : i + batch_size]]`"
_MIX_NUMBERS = "go over `torch.randperm(n).tolist()` in each epoch, in place of `range(n)`"
_MIX_ZIPPED = "draw `order = torch.randperm(len(x))` in each epoch, and go over `zip(x[order], y[order])`"
_MIX_SAMPLES = "go through `DataLoader({}, shuffle=True)`, with the `batch_size` that a step is to take"
_MIX_OWN = "mix `{}` where `__iter__` begins a pass, for the training's alone"
_SAID = ("`shuffle` is False here", "pass `shuffle=True`, or say in a comment at this line why the order is meant")
_SHUFFLE = re.compile(r"\bshuffle\s*=\s*(?:not\s+)?[\w.]+")  # what it stands for is asked by its value
_SAMPLER = re.compile(r"(?<![\w.])sampler\s*=\s*[\w.]+")
_OF_ORDER = re.compile(r"order|sort|shuffl|sequen|determin|reproduc|random|same|mix", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """A loader that leaves the order as it is, or data that are cut into slices, gone through in a loop that steps an optimizer."""
    yield from _loaders(view)
    yield from _datasets(view)
    yield from _fitted(view)
    told = set()
    for step in view.steps():
        found, words = slices_of(view, step), _of_slices
        if found is None:
            found, words = singles_of(view, step), _of_singles
        if found is None:
            found, words = files_of(view, step), _of_files
        if found is not None and found[0].site not in told:
            loop, cut, mixed = found
            told.add(loop.site)
            roles = words(loop, cut, mixed)
            yield Report(CODE, loop.site, roles, [(step.site, "a step is taken with each"), *_once(mixed)])
    yield from _handed_out(view, told)


def _handed_out(view: View, told: set[Site]) -> Iterator[Report]:
    for step in view.steps():
        found = handed_out(view, step)
        if found is None or found[0].site in told:
            continue
        loop, name, cut, mixed = found
        told.add(loop.site)
        why = f"each one is a slice of `{cut}`, and nothing mixes that{' in between' if mixed else ''}"
        roles = {"loader": name, "call": name, "why": why, "mend": _MIX_OWN.format(cut)}
        yield Report(CODE, loop.site, roles, [(step.site, "a step is taken with each"), *_once(mixed)])


def _of_slices(_: Loop | None, cut: str, mixed: list[Event]) -> dict[str, str]:
    why = f"each one is a slice, and nothing mixes what is cut{' in between' if mixed else ''}"
    return {"loader": cut, "call": cut, "why": why, "mend": _MIX}


def _of_files(_: Loop, reads: str, mixed: list[Event]) -> dict[str, str]:
    why = f"the file is that of the next number, and nothing mixes the numbers{' in between' if mixed else ''}"
    return {"loader": reads, "call": reads, "why": why, "mend": _MIX_NUMBERS}


def _of_singles(loop: Loop, data: str, mixed: list[Event]) -> dict[str, str]:
    if "zip(" in loop.site.parsed.text(loop.site.node.iter):
        why = f"it is gone through as it lies, and nothing mixes it{' in between' if mixed else ''}"
        return {"loader": data, "call": data, "why": why, "mend": _MIX_ZIPPED}
    why = f"each one is the sample of the next number, and nothing mixes the numbers{' in between' if mixed else ''}"
    return {"loader": data, "call": data, "why": why, "mend": _MIX_NUMBERS}


def _loaders(view: View) -> Iterator[Report]:
    told = set()
    for event in view.of("loader.iterate"):
        loader = event.subject
        if not isinstance(loader, Instance) or id(loader) in told or not event.loops or (words := _why_in_order(view, loader)) is None:
            continue
        epochs = _epochs_over(view, loader, event)
        if loader.site is None or not epochs or loader.site in [loop.site for loop in event.loops]:
            continue
        mixed = _mixed_before(view, loader, epochs)
        if mixed is None:
            continue
        told.add(id(loader))
        yield from _told_of(view, loader, words, [(event.site, "training goes through it here, once an epoch"), *_once(mixed)])


def _datasets(view: View) -> Iterator[Report]:
    """`for image, label in train_set:`, a data set that a loop goes through without a loader: it gives its samples from the first to
    the last."""
    told = set()
    for step in view.steps():
        for depth, loop in enumerate(step.loops):
            over = view.run.iterated(loop.over) if loop.over is not None else None
            epochs = [outer for outer in step.loops[:depth] if not one_turn(outer) and not _starts_anew(view, step, outer)]
            if loop.site is None or loop.site in told or not epochs or not _is_asked_by_number(over):
                continue
            if not means_nothing(view, over) or _few_samples(view, over) or _steps_of_time(loop.site, over):
                continue
            told.add(loop.site)
            first = real(over)[0]
            mixed = mixed_before(view, first, over, epochs)
            if mixed is None or _says_so(Site(loop.site.parsed, loop.site.node.iter)):
                continue
            name = first.name or loop.site.parsed.text(loop.site.node.iter)
            roles = {"loader": name, "call": name, "why": "it is a data set, gone through as it lies", "mend": _MIX_SAMPLES.format(name)}
            yield Report(CODE, loop.site, roles, [(step.site, "a step is taken with each"), *_once(mixed)])


def _is_asked_by_number(over: Value | None) -> bool:
    """Whether a loop goes through a data set by the numbers of its samples: it has no `__iter__` of its own, which might mix them."""
    alts = real(over)
    return bool(alts) and all(
        isinstance(alt, Instance) and alt.kind == "dataset" and alt.site is not None
        and not (isinstance(alt.cls, Class) and alt.cls.method("__iter__") is not None)
        for alt in alts
    )


def _told_of(view: View, loader: Instance, words: tuple[str, str], related: list[tuple[Site, str]]) -> Iterator[Report]:
    """At the loader, or at the call of the function around it that says `False`, unless a comment there says why."""
    site, roles = loader.site, {"loader": loader.name or "the loader", "why": words[0], "mend": words[1]}
    asked = asked_in_order(view, loader, _written(loader, "shuffle")) if words == _SAID else None
    if asked is not None and _says_so(asked.site):
        return
    if asked is not None:
        site, related = asked.site, [*related, (loader.site, f"`{asked.name}` is its `shuffle`")]
        roles |= {"why": f"`{asked.name}` is False here", "mend": words[1].replace("shuffle=", f"{asked.name}=")}
    elsewhere = (one for one in related if (one[0].path, one[0].location().row) != (site.path, site.location().row))
    yield Report(CODE, site, {**roles, "call": view.call_text(site)}, list(elsewhere))


def _once(mixed: list[Event]) -> list[tuple[Site, str]]:
    return [(event.site, "this mixes once, before the first epoch") for event in mixed[:1]]


def _fitted(view: View) -> Iterator[Report]:
    """`trainer.fit(model, loader)` of a library's trainer: it goes through the loader once an epoch."""
    told = set()
    for call, loader in fitted(view):
        if id(loader) in told:
            continue
        words = _why_in_order(view, loader)
        told.add(id(loader))
        mixed = _mixed_before(view, loader, None) if words is not None else None
        if mixed is not None:
            yield from _told_of(view, loader, words, [(call.site, "the trainer goes through it here, once an epoch"), *_once(mixed)])
    for call in view.of("unknown"):
        found = given_to(view, call) if call.get("name") == "fit_generator" and not _ONE_EPOCH.search(call.site.text()) else None
        if found is not None and found[0] not in told:
            loop, cut, mixed = found
            told.add(loop)
            related = [(call.site, "the trainer goes through them here, once an epoch"), *_once(mixed)]
            yield Report(CODE, loop, _of_slices(None, cut, mixed), related)


_ONE_EPOCH = re.compile(r"\bepochs\s*=\s*1\b")


def _why_in_order(view: View, loader: Instance) -> tuple[str, str] | None:
    """Why a loader leaves a dataset in its order, and the mend; None where it does not, or where that may be meant."""
    if loader.kind != "loader" or not isinstance(loader.cls, Ref) or loader.site is None:
        return None
    if option(loader, "batch_sampler") is not None:
        return None
    ordered = in_order(view, option(loader, "sampler"))
    if option(loader, "sampler") is not None and not ordered and not _sampler_is_none(loader):
        return None
    words = _why_counted(view, loader, ordered) if ordered else _why(view, loader)
    sampler = _written(loader, "sampler")
    given = loader.site.parsed.text(sampler) if sampler is not None else ""
    call = re.sub(rf"\bsampler\s*=\s*{re.escape(given)}", "", loader.site.text()) if ordered else loader.site.text()
    call = _SAMPLER.sub("", _SHUFFLE.sub("", call))
    if option(loader, "sampler") is not None and not ordered:
        name = given or "the sampler"
        words = words and (f"`{name}` is None on some of the ways here, and then {words[0]}", f"pass `shuffle=({name} is None)`")
    if words is None or OF_TIME.search(call) or _DRAWN.search(call) or "len(" in call:
        return None
    return words


def _sampler_is_none(loader: Instance) -> bool:
    """Whether the name that is given for the sampler stands for None on some of the ways here, and for a sampler of processes on all
    others (`if distributed:`)."""
    named = _written(loader, "sampler")
    alts = alternatives(option(loader, "sampler"))
    samplers = [alt for alt in alts if not (isinstance(alt, Const) and alt.value is None)]
    return isinstance(named, (cst.Name, cst.Attribute)) and 0 < len(samplers) < len(alts) and all(
        isinstance(alt, Instance) and alt.type.endswith(".DistributedSampler") for alt in samplers
    )


def _written(loader: Instance, name: str) -> cst.BaseExpression | None:
    """What stands in the call for an option that is given by its name."""
    args = loader.site.node.args if isinstance(loader.site.node, cst.Call) else ()
    return next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == name), None)


def _why(view: View, loader: Instance) -> tuple[str, str] | None:
    shuffle = loader.kwargs.get("shuffle") or loader.arg(2, "shuffle")
    if "**" in loader.kwargs:
        given = loader.kwargs["**"]
        items = view.run.store.get(given, "{}") if isinstance(given, Dict) else None
        if items is None or "*" in loader.kwargs or not true(shuffle) or "shuffle" not in items.sometimes:
            return None
        return "`shuffle` is set in the keywords on some of the ways here, and is False on the others", "set `shuffle=True` on all of them"
    if "*" in loader.kwargs:
        return None
    if shuffle is None:
        return "`shuffle` is False unless it is passed", "pass `shuffle=True`"
    data = option(loader, "dataset")
    if boolean(shuffle) is not False or _explained(loader) or _few_samples(view, data) or _steps_of_time(loader.site, data):
        return None
    return _SAID


def _why_counted(view: View, loader: Instance, sampler: str) -> tuple[str, str] | None:
    """The words for a sampler that counts the samples up, unless that may be meant."""
    data = option(loader, "dataset")
    if "**" in loader.kwargs or "*" in loader.kwargs or _explained(loader) or _few_samples(view, data) or _steps_of_time(loader.site, data):
        return None
    mend = "`RandomSampler(dataset)`" if sampler == "SequentialSampler" else "`SubsetRandomSampler` of the same numbers"
    return f"`{sampler}` counts the samples up", f"take {mend} in its place, or say in a comment at this line why the order is meant"


def _explained(loader: Instance) -> bool:
    """Whether a comment at the call, or over it, speaks of the order; or one where a name is given what the call is."""
    lines, given = loader.site.parsed.facts.lines, _written(loader, "shuffle")
    named = isinstance(given, cst.Name) and given.value != "False"
    said = [line for line in lines if named and re.match(rf"\s*{given.value}\s*=[^=]", line)]
    return _says_so(loader.site) or any(_OF_ORDER.search(line.partition("#")[2]) for line in said)


def _says_so(site: Site) -> bool:
    """Whether a comment at a call, or over it, speaks of the order."""
    lines, at = site.parsed.facts.lines, site.location()
    return any(_OF_ORDER.search(line.partition("#")[2]) for line in lines[max(at.row - 3, 0) : at.end_row or at.row])


def _steps_of_time(site: Site, data: Value | None) -> bool:
    """Whether a file with a recurrent layer says that its tensors are not to be mixed: the rows may be steps in time."""
    tensors = all(isinstance(alt, Instance) and alt.type.endswith("TensorDataset") for alt in real(whole_dataset(data)))
    return tensors and bool(site.parsed.facts.words & {"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"})


def _few_samples(view: View, data: Value | None) -> bool:
    """Whether the data are a handful of tensors that the program writes down itself: a demonstration."""
    alts = real(whole_dataset(data))
    tensors = alts[0].args if len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type.endswith("TensorDataset") else ()
    shape = view.run.noted_shape(tensors[0]) if tensors else None
    size = shape.dims[0] if shape is not None and shape.rank else None
    return isinstance(size, int) and size <= _HANDFUL


def _mixed_before(view: View, loader: Instance, epochs: list[Loop] | None) -> list[Event] | None:
    """What mixes the samples once, before the loops over the epochs; None where their order may mean something, or is another one in
    each epoch."""
    dataset = option(loader, "dataset")
    alts = real(whole_dataset(dataset))
    if len(alts) > 1:
        alts = tuple(alt for alt in alts if not _is_unpickled(alt)) or alts  # what the program has written before
    if alts and all(type(alt) is Opaque for alt in alts):
        counted = all(_is_counted(view, loader, alt) for alt in alts) and not mixes_in_training(view, epochs)
        return mixings(view, [(loader.site.parsed.facts, None)], epochs) if counted else None
    if not means_nothing(view, dataset):
        return None
    if all(isinstance(alt, Instance) and alt.type.startswith("torchvision.") for alt in alts):
        return []
    return mixed_before(view, loader, dataset, epochs)


def _is_unpickled(value: Value) -> bool:
    return type(value) is Opaque and value.source == "call" and value.name == "pickle.load"


_CLASS = re.compile(r"(?:^|\.)[A-Z]\w*[a-z]\w*$")
_NO_MAP = re.compile(r"iter|web|shard|pipe|batch|pair|triplet|episod|task|graph", re.IGNORECASE)


def _is_counted(view: View, loader: Instance, dataset: Opaque) -> bool:
    """Whether a class that is in no file makes the data, and is one whose samples have numbers: the program asks for its length, gives it
    what torchvision's data sets take, parts it, or mixes what another of the class gives, which a loader refuses of what is only gone through.
    What `datasets.load_dataset` gives has numbers, too, and so has a data set of torchvision's that a name chooses."""
    if in_order_of_the_hub(dataset) or _chosen_of_torchvision(dataset):
        return True
    if dataset.source != "call" or dataset.site is None or not _CLASS.search(dataset.name):
        return False
    text = dataset.site.text()
    if OF_TIME.search(text) or _DRAWN.search(text) or re.search("random", text, re.IGNORECASE) or _NO_MAP.search(dataset.name):
        return False
    if _AS_TORCHVISION.search(text) or _is_part(loader) or any(_mixes(each.subject, dataset.name) for each in view.of("loader.create")):
        return True
    names = "|".join(re.escape(name) for name in (loader.name, f"{loader.name}.dataset", _assigned(dataset)) if name)
    counted = re.compile(rf"\blen\(\s*(?:{names})\s*\)")
    return any(counted.search(line.split("#", 1)[0]) for line in loader.site.parsed.facts.lines)


_BY_NAME = re.compile(r"(?:getattr\(\s*|eval\(\s*f?['\"])([A-Za-z_][\w.]*?)(?:\s*,|\.['\"{])|([A-Za-z_][\w.]*)\.__dict__\[")


def _chosen_of_torchvision(dataset: Opaque) -> bool:
    """Whether it is made by a class of `torchvision.datasets` that is asked for by its name, `getattr(datasets, name)(root, train=True,
    transform=...)`, with what the images in there are given: those of videos take no `train`."""
    call = dataset.site.node if dataset.source == "call" and dataset.site is not None else None
    asked = _BY_NAME.match(dataset.site.parsed.text(call.func)) if isinstance(call, cst.Call) else None
    if asked is None or not _AS_TORCHVISION.search(dataset.site.text()):
        return False
    first, _, rest = (asked[1] or asked[2]).partition(".")
    known = dataset.site.parsed.facts.imports.get(first, "")
    return f"{known}.{rest}".rstrip(".") == "torchvision.datasets"


_AS_TORCHVISION = re.compile(r"\btrain\s*=\s*True\b.*\btransform\s*=|\btransform\s*=.*\btrain\s*=\s*True\b", re.DOTALL)


def _is_part(loader: Instance) -> bool:
    """Whether a loader goes through one of the parts that a random_split gave."""
    alts = real(option(loader, "dataset"))
    return bool(alts) and all(isinstance(alt, Instance) and alt.type == "torch.utils.data.Subset" for alt in alts)


def _mixes(loader: Value | None, name: str) -> bool:
    """Whether a loader mixes the data of a class."""
    if not isinstance(loader, Instance) or not true(loader.kwargs.get("shuffle") or loader.arg(2, "shuffle")):
        return False
    alts = real(whole_dataset(option(loader, "dataset")))
    return bool(alts) and all(type(alt) is Opaque and alt.source == "call" and alt.name == name for alt in alts)


def _assigned(dataset: Opaque) -> str:
    """The name that a dataset is given where it is made."""
    lines, row = dataset.site.parsed.facts.lines, dataset.site.location().row
    given = re.match(r"\s*([A-Za-z_][\w.]*)\s*=[^=]", lines[row - 1])
    return given[1] if given is not None and "DataLoader" not in lines[row - 1] else ""


def _epochs_over(view: View, loader: Instance, begun: Event) -> list[Loop]:
    """The loops around a loop over the loader in which an optimizer steps, and lives on from turn to turn."""
    found: list[Loop] = []
    for step in view.of("optimizer.step"):
        for depth, loop in enumerate(step.loops):
            over = loop.over is not None and view.run.iterated(loop.over) is loader
            if over or depth == len(begun.loops) and step.loops[:depth] == begun.loops and _by_next(loop, loader):
                found += (outer for outer in step.loops[:depth] if not one_turn(outer) and not _starts_anew(view, step, outer))
    return found


def _by_next(loop: Loop, loader: Instance) -> bool:
    """Whether a loop counts the batches of a loader that was begun before it, and asks for each: `for i in range(len(loader)):
    x, y = next(batches)`."""
    if loop.site is None or not isinstance(loop.site.node, cst.For) or not loader.name:
        return False
    counted = re.search(rf"\brange\(\s*(?:0\s*,\s*)?len\(\s*{re.escape(loader.name)}\s*\)\s*\)", loop.site.parsed.text(loop.site.node.iter))
    return counted is not None and "next(" in loop.site.parsed.text(loop.site.node)


def _starts_anew(view: View, step: Event, loop: Loop) -> bool:
    return any(view.made_anew(alt, loop) and not _goes_on(view, alt, loop) for alt in real(step.subject))


_EPOCHS = re.compile(r"epoch", re.IGNORECASE)


def _goes_on(view: View, optimizer: Value, loop: Loop) -> bool:
    """Whether a loop that calls its turns epochs makes an optimizer anew in each, and goes on training the same model."""
    modules, tensors, whole = view.held_by(optimizer)
    head = loop.site.node if loop.site is not None else None
    if not modules or tensors or not whole or not isinstance(head, cst.For):
        return False
    named = loop.site.parsed.text(head.target) + " " + loop.site.parsed.text(head.iter)
    return bool(_EPOCHS.search(named)) and not any(view.made_anew(module, loop) for module in modules)
