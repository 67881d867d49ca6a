"""Whether a dataset gives its samples in an order that means nothing: file order, and no order of time or of difficulty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Class, Event, Instance, Loop, Seq, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import MAP_STYLE, methods_within, written
from torchlint.rules.shared.mixed_once import WRITTEN, mixes_in_training, mixings
from torchlint.sieve.facts import FileFacts, Unit

# Data whose order means something.
OF_TIME = re.compile(
    r"(?<!pd\.)series|(?<!pad_)(?<!pack_)(?<!pack_padded_)sequen(?!tialsampler)|window|video"
    r"|(?<!data)(?<!data_)frames\b|frame_?(?:id|idx|index|rate|num|count)"
    r"|stream|bptt|stock|chunk|replay|rollout|episod|traject|forecast|curricul|timestep|time_step|horizon(?!tal)|lookback|look_back"
    r"|(?<!in)(?<!in_)(?<!into_)(?<!to_)(?<!pin_)memory|(?<!from)buffer",
    re.IGNORECASE,
)
# What puts the samples in an order of its own, once, and what draws them.
_MIXES = re.compile(
    r"\b(?:\w*shuffle\w*|permutation|randperm|sample|choices?|train_test_split|randint|randrange"
    r"|k_?fold|StratifiedKFold|KFold|argsort)\s*\("
    r"|\bsort\w*\(.*\blen\b|bucket",
    re.IGNORECASE,
)
# Labels that are drawn, to be wrong ones: `np.random.choice(self.num_classes, wrong.sum())`.
_DRAWS_LABELS = re.compile(r"\bchoices?\s*\(\s*(?:self\.)?_?(?:n|nb|num)_(?:class|classes|labels)\b", re.IGNORECASE)
# Pieces of one long array: `data[i : i + length]`, `data[i - length : i]`.
_PIECE = re.compile(r"\[\s*(?P<at>[\w.]+)\s*(?:-[^\[\]:]*)?:\s*(?P=at)\s*(?:\+[^\[\]:]*)?\]")
_IN_LIBRARIES = frozenset({"Sequential", "Sequence", "MutableSequence", "StreamHandler", "BytesIO"})
_RANDOM = ("FakeData", "UCF101", "HMDB51", "Kinetics")
_OF_TORCHVISION = re.compile(r"^torchvision\.datasets\.")
_SAID = re.compile(r"\"\"\"[\s\S]*?\"\"\"|\'\'\'[\s\S]*?\'\'\'")
_DEEPEST = 4


def means_nothing(view: View, dataset: Value | None, depth: int = 0) -> bool:
    """Whether a dataset's samples come in an order that nobody thought of, whichever of several it is."""
    alts = real(whole_dataset(dataset))
    return bool(alts) and depth < _DEEPEST and all(_of_one(view, alt, depth) for alt in alts)


def mixed_before(view: View, loader: Instance, dataset: Value | None, loops: Sequence[Loop] | None) -> list[Event] | None:
    """What mixes the samples once, before the loops that train (`train_test_split` does); None where something may mix them in each
    epoch, draws them, or speaks of an order that is meant."""
    if mixes_in_training(view, loops):
        return None
    data = [alt for alt in real(whole_dataset(dataset)) if isinstance(alt, Instance)]
    sites = [site for site in (loader.site, *(alt.site for alt in data)) if site is not None]
    if any(OF_TIME.search(site.parsed.unit.name) or _SAMPLED.search(WRITTEN.sub("", _surroundings(site))) for site in sites):
        return None
    owners = [owner for alt in data if isinstance(alt.cls, Class) for owner in alt.cls.mro() if isinstance(owner, Class)]
    methods = [(owner.facts, tuple(owner.cf.methods.values())) for owner in owners]
    return mixings(view, [*((site.parsed.facts, None) for site in sites), *methods], loops, _text_of(loops, sites, owners))


def _text_of(loops: Sequence[Loop] | None, sites: Sequence[Site], owners: Sequence[Class]) -> str:
    """What stands in the loops that train, where the data and their class are of the same file; "" where not."""
    if not loops or loops[0].site is None:
        return ""
    paths = {site.path for site in sites} | {owner.facts.path for owner in owners} | {loop.site.path for loop in loops if loop.site}
    return "".join(written(loop.site.parsed, loop.site.node) for loop in loops if loop.site) if len(paths) == 1 else ""


_SAMPLED = re.compile(r"\bsample\s*\(")


def _surroundings(site: Site) -> str:
    """The function that a place is in, or the file outside its functions."""
    facts, row = site.parsed.facts, site.location().row
    inside = [unit for unit in _units(facts) if unit.start <= row <= unit.end]
    if inside:
        return bare_text(facts, min(inside, key=lambda unit: unit.end - unit.start))
    taken = {line for unit in _units(facts) for line in range(unit.start, unit.end + 1)}
    return _bare(line for number, line in enumerate(facts.lines, 1) if number not in taken)


def _units(facts: FileFacts) -> list[Unit]:
    return [*facts.functions.values(), *(unit for cf in facts.classes.values() for unit in cf.methods.values())]


def _of_one(view: View, dataset: Value, depth: int) -> bool:
    if isinstance(dataset, Tensor):
        return dataset.name != "" and not OF_TIME.search(dataset.name)
    if not isinstance(dataset, Instance):
        return False
    if isinstance(dataset.cls, Class):
        return _is_map(dataset) and not _speaks_of_order(dataset) and _around_no_order(view, dataset, depth)
    if dataset.type == "torch.utils.data.Subset":
        return means_nothing(view, dataset.arg(0, "dataset"), depth + 1)
    if dataset.type == "torch.utils.data.ConcatDataset":
        lists = real(dataset.arg(0, "datasets"))
        parts = view.run.known_items(lists[0]) if len(lists) == 1 and isinstance(lists[0], Seq) else ()
        return bool(parts) and all(means_nothing(view, part, depth + 1) for part in parts)
    if _OF_TORCHVISION.search(dataset.type):
        return not dataset.type.endswith(_RANDOM)
    return dataset.type == "torch.utils.data.TensorDataset"


def _is_map(dataset: Instance) -> bool:
    """Whether items are asked for by number, of a class whose bases are all known."""
    bases = {name for name in dataset.cls.externals() if not name.startswith(("typing.", "abc.", "builtins."))}
    own = {"__getitem__", "__len__"} <= {name for name in ("__getitem__", "__len__") if dataset.cls.method(name)}
    of_torchvision = any(_OF_TORCHVISION.search(name) for name in bases)
    known = all(name in (MAP_STYLE, "object") or _OF_TORCHVISION.search(name) and not name.endswith(_RANDOM) for name in bases)
    return known and (own or of_torchvision) and _by_number(dataset.cls)


def _by_number(cls: Class) -> bool:
    """Whether an item depends on its number: what draws its items at random has no order."""
    found = cls.method("__getitem__")
    if found is None or len(found[1].params) < 2:
        return True
    number = re.escape(found[1].params[1])
    texts = [bare_text(owner.facts, unit) for owner in cls.mro() if isinstance(owner, Class) for unit in _item_units(cls, owner)]
    own = bare_text(found[0].facts, found[1])
    if re.search(rf"^\s*{number}\s*=\s*\d", own, re.MULTILINE):
        return False
    if not any(_MIXES.search(text) for text in texts):
        return len(re.findall(rf"\b{number}\b", own)) > 1
    taken = re.search(rf"\[[^\[\]]*\b{number}\b[^\[\]]*\]|\(\s*{number}\s*[,)]", own.partition("\n")[2])
    return bool(taken) and not re.search(rf"^\s*{number}\s*=", own, re.MULTILINE)


def _speaks_of_order(dataset: Instance) -> bool:
    """Whether what a class calls things, or does outside its items, says that the order is one of time, or is made."""
    item = {id(unit) for unit in methods_within(dataset.cls, "__getitem__")}
    for owner in dataset.cls.mro():
        if not isinstance(owner, Class):
            continue
        if OF_TIME.search(owner.name):
            return True
        for unit in owner.cf.methods.values():
            if any(OF_TIME.search(word) for word in _own(unit.words)):
                return True
            text = bare_text(owner.facts, unit)
            if _cuts_pieces(text) or id(unit) not in item and _MIXES.search(_DRAWS_LABELS.sub("", WRITTEN.sub("", text))):
                return True
    return False


def _cuts_pieces(text: str) -> bool:
    """Whether pieces are cut out of an array, other than at a place that is drawn: that is a crop of a sample."""
    drawn = r"^\s*{}\s*(?:,[^=\n]*)?=[^=\n]*\brand(?:om|int|range)?\w*[.(]"
    return any(not re.search(drawn.format(re.escape(piece["at"])), text, re.MULTILINE) for piece in _PIECE.finditer(text))


def _around_no_order(view: View, dataset: Instance, depth: int) -> bool:
    """Whether what a dataset is put around, another dataset, has no order that means something."""
    inner = [value for value in (*dataset.args, *dataset.kwargs.values()) if _is_data(value)]
    return all(means_nothing(view, value, depth + 1) for value in inner)


def _is_data(value: Value) -> bool:
    return any(isinstance(alt, Instance) and alt.kind == "dataset" for alt in real(value))


def _own(words: Iterable[str]) -> list[str]:
    """Names that are written; not the marks of the sieve, and not what libraries call things."""
    return [word for word in words if word[:1] != "!" and word not in _IN_LIBRARIES]


def _item_units(cls: Class, owner: Class) -> list[Unit]:
    within = {id(unit) for unit in methods_within(cls, "__getitem__")}
    return [unit for unit in owner.cf.methods.values() if id(unit) in within]


def bare_text(facts: FileFacts, unit: Unit) -> str:
    """The text of a function, without its comments and without what it says of itself."""
    return _SAID.sub("", _bare(facts.lines[unit.start - 1 : unit.end]))


def _bare(lines: Iterable[str]) -> str:
    return "".join(line.split("#", 1)[0].rstrip("\n") + "\n" for line in lines)
