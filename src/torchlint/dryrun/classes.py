"""Classes of the project: their bases, what stands in their bodies, their instances and what other methods set on these."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.catalogue import protocols
from torchlint.dryrun.torch_api.names import base_kind
from torchlint.dryrun.values import NONE, NOTHING, TRUE, Class, Func, Instance, Member, Opaque, Union, Value
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit


class ProjectClasses:
    """The part of a run that knows the project's classes. See `interpreter.Run` for the state it works on."""

    def class_of(self, facts: FileFacts, cf: ClassFacts) -> Class:
        """The class value of a class of the project, its bases resolved."""
        found = self.classes.get(id(cf))
        if found is None:
            found = self.classes[id(cf)] = Class(cf, facts)
            for base in cf.bases:
                first, _, rest = base.replace("()", "").partition(".")
                if first == cf.name and first in facts.imports:  # `class Dataset(Dataset)`: the one that was imported
                    value = self.imported(facts.imports[first], facts)
                else:
                    value = self.nested_class(facts, first) or self.global_value(first, facts) or Opaque(first, "global")
                for part in rest.split(".") if rest else ():
                    value = self.attribute(value, part, None)
                if isinstance(value, Opaque) and value.name == "object":
                    continue
                found.bases.append(value)
            found.complete = True
        return found

    def nested_class(self, facts: FileFacts, name: str) -> Class | None:
        if name in facts.classes or name in facts.imports:
            return None
        for cf in facts.all_classes():
            if cf.name == name:
                return self.class_of(facts, cf)
        return None

    def kind_of_class(self, cls: Class) -> str:
        """What instances of a project class are: module, optimizer, scheduler, dataset, sampler, or plain instances."""
        for name in cls.externals():
            kind = base_kind(name)
            if kind:
                return kind
            if protocols.TRAINER.match(name) and cls.method("__init__") is None:
                return "trainer"
        return "instance"

    def instantiate(self, cls: Class, args, kwargs, node: cst.CSTNode) -> Value:
        """An instance of a class of the project; its __init__ is run."""
        instance = Instance(cls, self.kind_of_class(cls), self.site(node) if node is not None else None, args, kwargs)
        self.made_here(instance)
        if instance.kind == "module":
            self.store.set(instance, self.MODE, TRUE)
            self.emit_module(instance, node)
        found = cls.method("__init__")
        if found is not None:
            owner, unit = found
            self.inline(Func("__init__", owner.facts, unit, owner), [instance, *args], kwargs, node, instance)
            if self.graph.dead or self.is_too_deep(unit):
                instance.complete = False
        elif _is_record(cls):
            self.fill_record(instance, cls, args, kwargs, node)
        if instance.kind == "optimizer":
            self.created_optimizer(instance, node, seen=found is not None)
        elif instance.kind == "trainer":
            self.created_trainer(instance, node)
        elif instance.kind == "scheduler":
            self.emit("scheduler.create", instance, node, optimizer=instance.arg(0, "optimizer"))
        return instance

    def fill_record(self, instance: Instance, cls: Class, args, kwargs, node: cst.CSTNode) -> None:
        """The fields of a dataclass or a NamedTuple, each of which its `__init__` sets."""
        for name, value in [*zip(_fields(cls), args), *kwargs.items()]:
            self.store.set(instance, name, value)
        found = cls.method("__post_init__")
        if found is not None:
            owner, unit = found
            self.inline(Func("__post_init__", owner.facts, unit, owner), [instance], {}, node, instance)

    def class_attribute(self, cls: Class, name: str) -> Value | None:
        """A name in the body of a class or of its bases."""
        found = self.store.get(cls, name)
        if found is not None:
            return found
        for owner in cls.mro():
            if not isinstance(owner, Class):
                continue
            if name in owner.cf.classes:
                return self.class_of(owner.facts, owner.cf.classes[name])
            if name in owner.cf.methods:
                unit = owner.cf.methods[name]
                return Func(name, owner.facts, unit, owner)
            for unit in owner.cf.body:
                if name in unit.words:
                    value = self.run_class_body(owner, unit, name)
                    if value is not None:
                        if _is_enumeration(owner) and not name.startswith("_"):
                            value = Member(owner, name, value)
                        self.base_store.set(cls, name, value)
                        return value
        return None

    def run_class_body(self, cls: Class, unit, name: str) -> Value | None:
        parsed = self.world.parse(cls.facts, unit)
        if parsed is None or id(unit) in self.ran:
            return None
        self.ran.add(id(unit))
        with self.silent():
            self.frame = self.Frame(cls.facts, Func("<class>", cls.facts, unit, cls))
            self.frame.base = self.store
            self.parsed = parsed
            self.run_block(parsed.body)
            return self.store.get(self.frame, name)

    def late_attribute(self, owner: Instance, name: str) -> Value | None:
        """An attribute that no code run so far has set: some other method of the class sets it."""
        mark = " late " + name
        if self.base_store.get(owner, mark) is not None:
            return None
        self.base_store.set(owner, mark, TRUE)
        for cls in owner.cls.mro():
            if not isinstance(cls, Class):
                continue
            for unit in cls.cf.methods.values():
                if name in unit.sets and unit.name != "__init__" and unit not in self.stack and not self.is_hopeless(unit):
                    self.run_silently(cls, unit, owner)
                    value = self.base_store.get(owner, name)
                    if value is not None:
                        return value
        return None

    def run_silently(self, cls: Class, unit: Unit, owner: Instance) -> None:
        """Runs a method for what it sets on its object."""
        with self.silent():
            self.frame = None
            self.run_root_function(Func(unit.name, cls.facts, unit, cls), owner)

    def set_elsewhere(self, owner: Instance, name: str) -> Value:
        """An attribute that __init__ leaves at None for another method to set: on an object of which only that is known, it
        may be either; where a framework calls that method before all others, it is what that sets."""
        setters = [(cls, unit) for cls in owner.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()
                   if name in unit.sets and unit.name != "__init__"]
        if not setters:
            return NONE
        cls, unit = setters[0]
        if protocols.sets_up(owner.cls.externals(), unit.name) and unit not in self.stack and not self.is_hopeless(unit):
            self.run_silently(cls, unit, owner)
            if (value := self.base_store.get(owner, name)) is not None and value is not NONE:
                return value
        value = Union((NONE, Opaque(name, "attr", None, NOTHING, NOTHING, owner)))
        self.base_store.set(owner, name, value)
        self.store.set(owner, name, value)
        return value


def _is_enumeration(cls: Class) -> bool:
    """Whether what the class's body assigns are the members of an enumeration."""
    return any(name.partition(".")[0] == "enum" and name.endswith(("Enum", "Flag")) for name in cls.externals())


def _is_record(cls: Class) -> bool:
    """Whether Python writes the class's `__init__` from its fields."""
    decorated = any(decorator.split(".")[-1].startswith("dataclass") for decorator in cls.cf.decorators)
    return decorated or any(base.split(".")[-1] == "NamedTuple" for base in cls.cf.bases)


def _fields(cls: Class) -> list[str]:
    """The names that a class and its bases annotate in their bodies, in order."""
    found: dict[str, None] = {}
    for owner in reversed(cls.mro()):
        for unit in owner.cf.body if isinstance(owner, Class) else ():
            field = _FIELD.match(owner.facts.lines[unit.start - 1])
            if field is not None and field[2] not in ("ClassVar", "typing.ClassVar"):
                found.setdefault(field[1])
    return list(found)


_FIELD = re.compile(r"\s*(\w+)\s*:\s*([\w.]*)")
