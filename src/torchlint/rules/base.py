"""What every matcher works with: the run it looks at, and the report it gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchlint.catalogue.apis import holds
from torchlint.dryrun.alternatives import exclusive
from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.torch_api.names import mode_dependent as layer_mode_dependent
from torchlint.dryrun.touching import Touching
from torchlint.dryrun.values import (
    MOST,
    Class,
    Const,
    Event,
    Instance,
    Iter,
    Loop,
    Method,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Value,
    from_file,
    real,
)

if TYPE_CHECKING:
    from torchlint.dryrun.interpreter import Run
    from torchlint.dryrun.source_text import Parsed, Site
    from torchlint.rules.mends.changes import Mend


@dataclass(slots=True)
class Report:
    """A finding before it is worded: which rule, where, the user's words for the roles of the message, other lines, and
    what to type instead, where that is certain. `words` are a message and a help in the place of the page's, where these fit
    another form of the mistake."""

    code: int
    site: Site
    roles: dict[str, str] = field(default_factory=dict)
    related: list[tuple[Site, str]] = field(default_factory=list)
    mend: Mend | None = None
    words: tuple[str, str] | None = None

    def trees(self) -> Iterator[Parsed]:
        """The trees that it shows something of, or changes."""
        yield self.site.parsed
        yield from (site.parsed for site, _ in self.related)
        if self.mend is not None:
            yield from (change.parsed for change in self.mend.changes)


class View:
    """A finished run, with the questions that several rules ask of it."""

    def __init__(
        self, run: Run, torch_version: tuple[int, int] | None = None, releases: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        newest: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ):
        self.run = run
        self.torch_version = torch_version
        self.releases = releases
        self._newest = newest
        self.by_kind: dict[str, list[Event]] = {}
        for event in run.graph.events:
            self.by_kind.setdefault(event.kind, []).append(event)
        self._new: dict[str, list[Event]] | None = None
        self._trees: list[Parsed] | None = None
        self._places: dict[str, dict[Event, int]] = {}
        self._about: dict[str, dict[int, list[Event]]] = {}
        self._modes: dict[int, bool | None] = {}
        self._closures: dict[int, frozenset[int]] = {}
        self._idle: dict[int, bool] = {}
        self._optimizers: list[Value] | None = None
        self._touch: dict[int, Touching] = {}
        self._touched: dict[int, dict[Event, bool]] = {}  # by id of an optimizer
        self.called = {id(event.subject) for event in self.by_kind.get("forward", ())}

    def admits(self, release: tuple[int, int], package: str = "torch") -> bool:
        """Whether the project may run on this release of a package, or on a later one; where nothing is known of it, it may."""
        newest = self._newest.get(package, self.torch_version if package == "torch" else None)
        return newest is None or newest >= release

    def runs_below(self, limit: str) -> bool:
        """Whether a bound such as "<2.6" holds for the lowest torch that the project says it runs on, or for the newest and so for all."""
        return holds(limit, self.torch_version) or holds(limit, self._newest.get("torch"))

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds, in the order they were met."""
        return [event for kind in kinds for event in self.by_kind.get(kind, ())]

    def trees(self) -> list[Parsed]:
        """The functions and statements in which something happened, in the order in which it did, each once."""
        if self._trees is None:
            self._trees = list({id(event.site.parsed): event.site.parsed for event in self.run.graph.events if event.site is not None}.values())
        return self._trees

    def new(self, kind: str) -> list[Event]:
        """The events of a kind that no other run was judged with: the methods of a class all begin with what its __init__ did.
        For rules that look at each event by itself, and at what is known of its values."""
        if not self.run.judged:
            return self.by_kind.get(kind, [])
        if self._new is None:
            self._new = {}
            for event in self.run.graph.events[self.run.judged :]:
                self._new.setdefault(event.kind, []).append(event)
        return self._new.get(kind, [])

    def about(self, kind: str, subject: Value) -> list[Event]:
        """The events of a kind whose subject may be that value, in the order they were met."""
        if kind not in self._about:
            found: dict[int, list[Event]] = {}
            for event in self.by_kind.get(kind, ()):
                for alt in {id(alt) for alt in real(event.subject)}:
                    found.setdefault(alt, []).append(event)
            self._about[kind] = found
        return self._about[kind].get(id(subject), [])

    def among(self, kind: str, events: Iterable[Event]) -> list[Event]:
        """Those of some events that are of a kind, in the order they were met."""
        if kind not in self._places:
            self._places[kind] = {event: place for place, event in enumerate(self.by_kind.get(kind, ()))}
        places = self._places[kind]
        return sorted((event for event in events if event in places), key=places.__getitem__)

    # -- words ------------------------------------------------------------------------------------------------------

    def call_text(self, site: Site) -> str:
        """The source of a call, shortened if it is long."""
        text = site.text()
        return text if len(text) <= 60 else text[:57] + "..."

    def owner_text(self, event: Event, default: str) -> str:
        """What the user calls the receiver of a method call: `optimizer` of `optimizer.step()`."""
        import libcst as cst

        node = event.site.node
        if not isinstance(node, cst.Call):
            return default
        owner = node.func
        if isinstance(owner, cst.Attribute) and (event.kind != "forward" or event.get("direct") or event.get("method")):
            owner = owner.value
        text = _short(event.site.parsed.text(owner), default)
        if text in ("self", "super()") and isinstance(event.subject, Instance):
            return event.subject.cls.name.rsplit(".", 1)[-1]  # `self(x)`: the class says more
        return text

    def loss_text(self, backward: Event) -> str:
        """What the user calls the loss of a backward: `loss` of `loss.backward()` and of `accelerator.backward(loss)`."""
        if backward.get("framework") is None:
            return self.owner_text(backward, "loss")
        given = getattr(backward.site.node, "args", ())
        return _short(backward.site.parsed.text(given[0].value), "loss") if given else "loss"

    def model_text(self, optimizer: Value) -> str:
        """What the user calls the model that an optimizer was made for: `net` of `SGD(net.parameters())`."""
        import libcst as cst

        for event in self.of("optimizer.create"):
            node = event.site.node if event.subject is optimizer else None
            given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
            if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute):
                return _short(event.site.parsed.text(given.func.value), "model")
        return "model"

    # -- modules ----------------------------------------------------------------------------------------------------

    def closure(self, module: Value) -> frozenset[int]:
        """The ids of a module and of all that is in it or that it is in, as far as known."""
        key = id(module)
        if key not in self._closures:
            seen: set[int] = set()
            todo: list[Value] = [module]
            while todo:
                item = todo.pop()
                if id(item) in seen:
                    continue
                seen.add(id(item))
                todo.extend(child for child in self.run.children.get(id(item), ()) if self.is_module(child))
                if isinstance(item, Instance) and item.kind == "wrapper":
                    todo.extend(real(item.args[0]) if item.args else ())
                if isinstance(item, Union_):
                    todo.extend(item.alts)
                if isinstance(item, Opaque) and item.source == "join" and isinstance(item.origin, Union_):
                    todo.extend(item.origin.alts)  # of many models, one
            self._closures[key] = frozenset(seen)
        return self._closures[key]

    def origins(self, value: Value) -> set[int]:
        """The ids of the values that this one was read from: self.model of self.model.encoder."""
        seen: set[int] = set()
        while isinstance(value, Opaque) and value.origin is not None and value.source in ("attr", "call", "item") and id(value) not in seen:
            seen.add(id(value))
            value = value.origin
        seen.add(id(value))
        return seen

    def related_modules(self, a: Value, b: Value) -> bool:
        """Whether one module is the other, or part of it."""
        if a is b:
            return True
        one, two = self.closure(a), self.closure(b)
        if id(b) in one or id(a) in two or one & two:
            return True
        return id(a) in self.origins(b) or id(b) in self.origins(a)

    def mode_dependent(self, module: Value, depth: int = 0) -> bool | None:
        """Whether a module computes something else in training than in evaluation; None if that cannot be told."""
        if not isinstance(module, Instance) or depth > 12:
            return None
        if id(module) not in self._modes:
            self._modes[id(module)] = None  # for modules that hold each other
            self._modes[id(module)] = self._mode_dependent(module, depth)
        return self._modes[id(module)]

    def _mode_dependent(self, module: Instance, depth: int) -> bool | None:
        if module.kind == "wrapper":
            inner = real(module.args[0]) if module.args else ()
            made = [alt for alt in inner if not from_file(alt)] or inner  # what comes out of a file is what was made, and written
            found = {self.mode_dependent(alt, depth + 1) for alt in made}
            return found.pop() if len(found) == 1 else None
        if not isinstance(module.cls, Class):
            known = layer_mode_dependent(module.type)
            if module.type in ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.MultiheadAttention"):
                given = module.kwargs.get("dropout")
                return None if given is not None or "**" in module.kwargs else False
            if module.type in ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"):
                items = self.run.store.get(module, "[]") or self.run.store.get(module, "{}")
                known = False if items is not None and items.of_known_kinds else None
            elif known is not False or module.type.startswith("torch.nn."):
                if not self.run.children.get(id(module)):
                    return known
        else:
            known = False if module.complete and "?" not in module.cls.externals() else None
            for owner in module.cls.mro():
                if isinstance(owner, Class) and any("dropout" in unit.words and "F" in unit.words for unit in owner.cf.methods.values()):
                    return True
        for child in self.run.children.get(id(module), ()):
            if not self.is_module(child):
                continue
            found = self.mode_dependent(child, depth + 1)
            if found and (id(module), id(child)) not in self.run.unsure_children:
                return True
            if found is not False:
                known = None
        return known

    def is_module(self, value: Value) -> bool:
        """Whether something kept in a module is a module too: it was made as one, or is used as one."""
        if isinstance(value, Opaque):
            if value.source == "call" and isinstance(value.origin, Ref) and value.origin.name in _FUNCTION_MODULES:
                return False  # `getattr(F, name)`: a function, which asks for no mode
            return bool(value.tags & {"module", "module?"}) or id(value) in self.called
        return True

    # -- optimizers -------------------------------------------------------------------------------------------------

    def steps(self) -> list[Event]:
        return self.of("optimizer.step")

    def in_own_time(self, step: Event) -> bool:
        """Whether more goes into a step than the loop around it says: a closure, or an engine that accumulates, clips and clears as
        its configuration has it."""
        return step.get("closure") is not None or step.get("engine") is not None

    def optimizers(self) -> list[Value]:
        """The optimizers that step in this run."""
        if self._optimizers is None:
            self._optimizers = list({id(alt): alt for event in self.steps() for alt in real(event.subject)}.values())
        return self._optimizers

    def held_by(self, optimizer: Value) -> tuple[tuple[Value, ...], tuple[Value, ...], bool]:
        """The modules and tensors that an optimizer updates, and whether that is all."""
        return self.run.holds.get(id(optimizer), ((), (), False))

    def only_optimizer(self, optimizer: Value) -> bool:
        """Whether no other optimizer steps in any run in which this one does."""
        return all(other is optimizer or exclusive(other, optimizer) for other in self.optimizers()) and bool(self.optimizers())

    def surely(self, value: Value | None, wanted: Value) -> bool:
        """Whether a value is that one, in each run in which there is one: of alternatives it is whichever was made."""
        alts = real(value)
        return any(alt is wanted for alt in alts) and all(alt is wanted or exclusive(alt, wanted) for alt in alts)

    def reaches(self, backward: Event, optimizer: Value) -> bool | None:
        """Whether a backward fills gradients of an optimizer's parameters; None where that cannot be told."""
        modules, tensors, complete = self.held_by(optimizer)
        sources = [event.subject for event in backward.flows if event.kind == "forward"]
        for module in modules:
            if any(self.related_modules(module, source) for source in sources if source is not None):
                return True
        if tensors and any(tensor in backward.parts for tensor in tensors):
            return True
        if len(backward.flows) >= MOST:  # what the loss came out of is cut at this size: the model may be among the rest
            return False if modules and complete and not tensors and all(map(self.computes_nothing, modules)) else None
        # Of what is only called a model it is not known which calls are its own.
        complete = complete and not any(type(module) is Opaque and module.source != "param" for module in modules)
        if modules and complete and not sources and _of_tensors_only(backward):
            return False
        known = [s for s in sources if isinstance(s, Instance) and s.kind in ("module", "wrapper")]
        if known and not any(self.may_learn(source) for source in sources if source is not None):
            return None  # only layers of a loss: which model gave it its input is not known
        if modules and complete and known and len(known) == len([s for s in sources if s is not None]):
            return False
        if self.only_optimizer(optimizer) and not (modules and complete and known):
            return True if not modules or not known else None
        return None

    def computes_nothing(self, module: Value) -> bool:
        """Whether a module is called nowhere in the run, all of it is seen, and no code that is not may have called it."""
        if id(module) not in self._idle:
            self._idle[id(module)] = self._computes_nothing(module)
        return self._idle[id(module)]

    def _computes_nothing(self, module: Value) -> bool:
        if not isinstance(module, Instance) or module.kind != "module" or id(module) in self.run.escaped:
            return False
        if any(not isinstance(alt, Instance) for child in self.run.children.get(id(module), ()) for alt in real(child)):
            return False  # a part that was made elsewhere may be another model's, too
        if any(self.related_modules(module, alt) for event in self.of("forward") for alt in real(event.subject) or (event.subject,)):
            return False
        given = (value for event in self.of("unknown", "called", "prepare") for value in (event.subject, *event.get("args", ())))
        return not any(self.may_hold(value, module) or any(self.related_modules(module, alt) for alt in real(value)) for value in given)

    def may_learn(self, module: Value, depth: int = 0) -> bool:
        """Whether a module may have parameters."""
        if not isinstance(module, Instance) or depth > 6:
            return True
        if module.kind == "wrapper":
            return not module.args or any(self.may_learn(alt, depth + 1) for alt in real(module.args[0]))
        if not isinstance(module.cls, Class) and module.type.startswith("torch.nn."):
            if _LEARNS.search(module.type) or self._holds_more(module):
                return True
        elif not isinstance(module.cls, Class) or set(module.cls.externals()) != {"torch.nn.Module"}:
            return True
        if any(not _is_buffer_or_setting(child) and self.may_learn(child, depth + 1) for child in self.run.children.get(id(module), ())):
            return True
        given = [alt for event in self.of("setattr") if event.subject is module for alt in real(event.value)]
        return any(isinstance(alt, Tensor) and alt.traits.get("param") for alt in given)

    def _holds_more(self, module: Instance) -> bool:
        """Whether a container of layers may hold others than those that are known."""
        items = self.run.store.get(module, "[]") or self.run.store.get(module, "{}") if module.type in CONTAINERS else None
        return items is not None and not items.of_known_kinds

    def may_clear(self, event: Event, optimizer: Value) -> bool:
        """Whether an event may clear the gradients of an optimizer's parameters. In doubt, it may."""
        kind = event.kind
        if kind == "optimizer.zero_grad" or kind == "grad.set":
            for subject in real(event.subject):
                if subject is optimizer:
                    return True
                if isinstance(subject, Instance) and subject.kind == "optimizer":
                    if isinstance(optimizer, Instance):
                        mine, others = self.held_by(optimizer), self.held_by(subject)
                        if any(self.related_modules(a, b) for a in mine[0] for b in others[0]):
                            return True
                    continue
                modules, tensors, complete = self.held_by(optimizer)
                if not modules or not complete:
                    if isinstance(subject, Opaque) and "optimizer" in subject.tags and subject.source == "param":
                        continue
                    return True
                if isinstance(subject, (Tensor, Opaque)) and not isinstance(subject, Instance):
                    if not isinstance(subject, Tensor) or subject.origin is None or not isinstance(subject.origin, Iter):
                        return True
                    if any(self.related_modules(module, subject.origin.base) for module in modules):
                        return True
                    continue
                if any(self.related_modules(module, subject) for module in modules):
                    return True
            return False
        if kind in ("unknown", "called"):
            return self.may_touch(event, optimizer)
        return False

    def may_hold(self, value: Value | None, wanted: Value) -> bool:
        """Whether an object can be reached through a value: it is that one, is in it, or is kept on it."""
        for alt in real(value):
            if alt is wanted or isinstance(alt, Method) and alt.owner is wanted:
                return True
            if isinstance(alt, Seq) and wanted in self.run.known_items(alt):
                return True
            if isinstance(alt, Instance) and alt.kind == "instance" or isinstance(alt, Method):
                owner = alt.owner if isinstance(alt, Method) else alt
                if any(kept is wanted for _, kept in self.run.attributes_of(owner)):
                    return True
        return False

    def may_touch(self, event: Event, optimizer: Value) -> bool:
        """Whether a call that cannot be seen may work on an optimizer: it is given it, or its name says so."""
        known = self._touched.setdefault(id(optimizer), {})
        answer = known.get(event)
        if answer is None:  # rules that go along the same paths ask the same
            answer = known[event] = self._works_on(event, optimizer)
        return answer

    def _works_on(self, event: Event, optimizer: Value) -> bool:
        name = (event.get("name") or "").rsplit(".", 1)[-1].lower().replace("pretrained", "")
        if name in _NEVER:
            return False
        for value in (event.subject, *event.get("args", ())):
            for alt in real(value):
                if alt is optimizer:
                    return name not in _READS
                if isinstance(alt, Method) and alt.owner is optimizer:
                    return True
                if isinstance(alt, Seq) and optimizer in self.run.known_items(alt):
                    return True
                if isinstance(alt, Instance) and alt.kind == "instance" and alt.cls is not optimizer and not _was_before(event, optimizer):
                    return True
        if event.kind != "unknown" or not any(word in name for word in _STEPPING) or _OF_DATA.search(name):
            return False
        return not _ELSEWHERE.search(self.owner_text(event, "")) and self._touching(optimizer).can(event)

    def _touching(self, optimizer: Value) -> Touching:
        if id(optimizer) not in self._touch:
            self._touch[id(optimizer)] = Touching(self.run, optimizer, self.held_by(optimizer)[0])
        return self._touch[id(optimizer)]

    def made_anew(self, value: Value, loop: Loop) -> bool:
        """Whether an object is another one in each turn of a loop: what was done to the last one is nothing to it."""
        return loop in self.run.made_in.get(id(value), ())

    def starts_over(self, event: Event, value: Value) -> bool:
        """Whether an event is where such a turn begins."""
        return event.kind == "loop" and self.made_anew(value, event.loop)

    def depends(self, value: Value | None) -> set[int]:
        """The ids of a value and of what it was computed from."""
        if value is None:
            return set()
        return {id(alt) for alt in real(value)} | {id(part) for part in value.parts}


_STEPPING = ("zero", "grad", "reset", "clear", "step", "train", "optim", "backward", "closure", "fit", "learn", "update_param")
_FUNCTION_MODULES = frozenset({"torch", "torch.nn.functional"})
_LEARNS = re.compile("Linear|Conv|Norm|Embedding|RNN|LSTM|GRU|Cell|Attention|Transformer|PReLU|Parameter(?:List|Dict)")
# Objects that have a step() or reset() of their own, and no optimizer.
_ELSEWHERE = re.compile(
    r"(?:^|[._])(?:env|environment|game|gym|p?bar|progress|log|logger|writer|timer|meter|memory|replay|buffer|metric)s?"
    r"(?:_\w+)?\d*$"
)
# What cuts, reads or scales data has the word of training in its name, and no optimizer: `train_test_split`, `get_train_loader`, `fit_transform`.
_OF_DATA = re.compile(r"(?:split|loaders?|datasets?|samplers?|transforms?)$")
_NEVER = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "item", "format", "append", "add_scalar", "add_scalars",
                    "update_meter", "watch", "get_lr", "get_last_lr", "param_groups", "log_gradient", "is_grad_enabled",
                    "grad_norm", "get_grad_norm", "log_step", "global_step", "set_grad_enabled", "step_info"})
_READS = frozenset({"save_checkpoint", "save", "print", "get_lr", "get_learning_rate", "state_dict", "len", "save_model", "adjust_learning_rate",
                    "log", "info", "debug", "scale_loss", "master_params"})  # (the last two are apex')

from torchlint.dryrun.values import Union as Union_  # noqa: E402  (named so that typing's is not shadowed)


def _of_tensors_only(backward: Event) -> bool:
    """Whether a backward is about tensors of the program alone, all of them seen: about no module's parameters."""
    def plain(part: Value) -> bool:
        if isinstance(part, Tensor):
            part = part.traits.get("grad_of") or part
            return part.source in ("made", "op") and not part.traits.get("param")
        return isinstance(part, (Const, Union_))

    return not backward.flows and len(backward.parts) < MOST and all(plain(part) for part in backward.parts)


def _was_before(event: Event, value: Value) -> bool:
    """Whether something happened once, when a value had not been made yet."""
    return isinstance(value, Instance) and not event.loops and event.serial < value.born


def _short(text: str, default: str) -> str:
    return text if len(text) <= 40 and "\n" not in text else default


def once(reports: Iterable[Report]) -> list[Report]:
    """Each place once."""
    seen = set()
    result = []
    for report in reports:
        key = (report.code, id(report.site.node))
        if key not in seen:
            seen.add(key)
            result.append(report)
    return result


def _is_buffer_or_setting(part: Value) -> bool:
    """Whether what a module keeps is no module: a buffer, an argument of the program's."""
    if isinstance(part, Tensor):
        return not part.traits.get("param")
    origin = part.origin if isinstance(part, Opaque) and part.source == "attr" else None
    return isinstance(origin, Opaque) and origin.source == "call" and origin.name == "parse_args"
