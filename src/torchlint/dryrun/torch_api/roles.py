"""What something is that code outside of the project has made: told by what it was given, by what is done with it, and last by
what it is called. `build(cfg, model.parameters())` that is stepped and cleared is an optimizer, wherever it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from torchlint.catalogue import effects
from torchlint.dryrun.torch_api.names import OPTIMIZER_NAME, SCHEDULER_NAME, kind_of
from torchlint.dryrun.values import Class, Dict, Instance, Iter, Opaque, Ref, Seq, Tensor, Value, real

CHOSEN = "Chosen"  # a class of a torch module that is picked by name: `getattr(torch.optim, name)`
_PICKED_FROM = frozenset(
    {"torch.optim", "torch.optim.lr_scheduler"} | {f"torchvision.models{inner}" for inner in ("", ".detection", ".segmentation", ".video", ".quantization")}
)
_HOMES = {"optimizer": "torch.optim", "scheduler": "torch.optim.lr_scheduler", "backbone": "torchvision.models"}
_ANOTHER_STEP = ("ReduceLROnPlateau", "CosineAnnealingWarmRestarts", "LBFGS")  # which takes something
_PARAMETERS = frozenset({"parameters", "named_parameters", "filter"})
# What is given parameters, too, and does something else with them.
_NO_OPTIMIZER = re.compile(r"(?:^|[._])ema(?:$|_)|EMA|average|averag|shadow|clip|norm|count|summary|hook|profil|freeze|init_|scal|sched|copy", re.I)
_BUILDS = re.compile(r"optim", re.I)


class Roles:
    """The part of a run that finds out what an unseen call gives. See `interpreter.Run` for the state it works on."""

    def picked(self, owner: Value, name: Value | None = None) -> Ref | None:
        """A class of a torch module under a name that only the run knows; None where it is no such module."""
        if not isinstance(owner, Ref) or owner.name not in _PICKED_FROM:
            return None
        home = "torchvision.models" if owner.name.startswith("torchvision.") else owner.name
        return Ref(f"{home}.{CHOSEN}")

    def picked_out_of(self, classes: Iterable[Value]) -> Ref | None:
        """A class out of a table of many, where each makes the same kind of thing; None where that is not one of a few kinds."""
        kinds = {self.kind_that_it_makes(cls) for cls in classes}
        home = _HOMES.get(kinds.pop()) if len(kinds) == 1 else None
        return Ref(f"{home}.{CHOSEN}") if home is not None else None

    def kind_that_it_makes(self, cls: Value) -> str:
        if isinstance(cls, Class):
            return self.kind_of_class(cls)
        if not isinstance(cls, Ref) or cls.name.endswith(_ANOTHER_STEP):
            return ""
        return "backbone" if cls.name.startswith("torchvision.models.") else kind_of(cls.name)

    def made_elsewhere(self, name: str, args, kwargs, node) -> Instance | None:
        """The optimizer that an unseen call gives; None where it gives none for certain."""
        given = [*args, *(value for key, value in kwargs.items() if key[0] != "*")]
        params = next((value for value in given if self.is_parameters(value)), None)
        modules = () if params is not None else tuple(alt for value in given for alt in real(value) if _is_model(alt))
        if params is None and not modules or type(node) is not cst.Call:
            return None
        if any(_is_optimizer(alt) for value in given for alt in real(value)):
            return None  # it is wrapped in something
        target = self.target_of(node)
        called = name.rpartition(".")[2]
        if _NO_OPTIMIZER.search(called) or _NO_OPTIMIZER.search(target):
            return None
        last = target.rpartition(".")[2]
        if params is None:
            if not _BUILDS.search(called) or not OPTIMIZER_NAME.search(last) or SCHEDULER_NAME.search(last):
                return None
        elif not (self.named_optimizer(called, last, node) or target and self.stepped_by_name(target)):
            return None
        made = Instance(Ref(name or "?"), "optimizer", self.site(node), [] if params is None else [params], {})
        self.made_here(made)
        self.consume(params, node) if params is not None else None
        held = self.held(params) if params is not None else (modules, (), False)
        self.emit("optimizer.create", made, node, params=params, modules=held[0], tensors=held[1], complete=held[2])
        self.holds[id(made)] = held
        return made

    def shown(self, name: str, args, node) -> Iter | None:
        """A loader or a list as it is gone through, if an unseen call only shows how far that has come."""
        if not args or not effects.SHOWS_PROGRESS.search(name.rpartition(".")[2]):
            return None
        first = args[0]
        kinds = [
            isinstance(alt, (Seq, Iter)) or isinstance(alt, Instance) and alt.kind in ("loader", "dataset", "instance")
            or type(alt) is Opaque and not alt.flows and not alt.tags & {"number", "str", "file"}
            for alt in real(first)
        ]
        return Iter("same", first, self.site(node)) if kinds and all(kinds) else None

    def is_parameters(self, value: Value, depth: int = 0) -> bool:
        """Whether a value is what optimizers are given: parameters of a model, or groups of them."""
        for alt in real(value) if depth < 4 else ():
            if isinstance(alt, Iter):
                if alt.kind in ("parameters", "named_parameters"):
                    return True
                if alt.kind in ("filter", "generator", "same"):
                    return self.is_parameters(alt.base, depth + 1)
            elif isinstance(alt, Dict):
                items = self.store.get(alt, "{}")
                return items is not None and "params" in items.known and self.is_parameters(items.known["params"], depth + 1)
            elif isinstance(alt, Seq):
                return any(self.is_parameters(item, depth + 1) for item in self.known_items(alt))
            elif isinstance(alt, Tensor):
                return bool(alt.traits.get("param")) and depth > 0
        return False

    def named_optimizer(self, called: str, target: str, node: cst.Call) -> bool:
        """Whether what is called, what it is given or where it goes says that it is an optimizer."""
        if target and OPTIMIZER_NAME.search(target) and not SCHEDULER_NAME.search(target):
            return True
        around = self.frame.func.name if self.frame is not None and self.frame.func is not None and not target else ""
        asked = [self.parsed.text(arg.value) for arg in node.args if type(arg.value) in (cst.Attribute, cst.Name, cst.Subscript, cst.SimpleString)]
        return any(_BUILDS.search(text) for text in (called, around, *asked))

    def stepped_by_name(self, target: str) -> bool:
        """Whether the file steps and clears what stands under a name."""
        name = re.escape(target)
        text = "".join(self.parsed.facts.lines)
        return all(re.search(rf"(?<![\w.]){name}\.{method}\(", text) for method in ("step", "zero_grad"))

    def target_of(self, node: cst.CSTNode) -> str:
        """The name or attribute that a call's result is assigned to; "" where it goes somewhere else."""
        value, target = self.assigned or (None, None)
        return self.dotted(target) if value is node and type(target) in (cst.Name, cst.Attribute) else ""

    def take_role(self, value: Opaque, name: str) -> None:
        """What an unseen call gave is taken for what it is called."""
        if SCHEDULER_NAME.search(name):
            self.tag(value, "scheduler")
        elif OPTIMIZER_NAME.search(name) and not any(_is_optimizer(part) for part in value.parts):
            self.tag(value, "optimizer")  # what is put around one may clear by itself


def _is_model(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    return isinstance(value, Opaque) and "module" in value.tags


def _is_optimizer(value: Value) -> bool:
    return isinstance(value, Instance) and value.kind == "optimizer" or isinstance(value, Opaque) and "optimizer" in value.tags
