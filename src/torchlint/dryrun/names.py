"""What a name stands for: a variable, what a file defines, what an import brings."""

from __future__ import annotations

import os
import sys

import libcst as cst

from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import FALSE, NONE, TRUE, Func, Opaque, ProjectModule, Ref, Value
from torchlint.sieve.facts import FileFacts, Unit

# What a star of these brings is known, and is not torch itself.
_BARE = sys.stdlib_module_names | {"torch", "torchvision", "numpy", "math", "pandas", "matplotlib", "pylab"}
# What everybody calls so, in a file that has to do with torch.
_USUAL = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim", "np": "numpy", "os": "os"}


class Names:
    """The part of a run that knows names. See `interpreter.Run` for the state it works on."""

    def eval_name(self, node: cst.Name) -> Value:
        value = self.lookup(node.value)
        if value is None:
            value = Opaque(node.value, "global")
            self.base_store.set(self.frame.facts if self.frame else self, node.value, value)
        return value

    def lookup(self, name: str) -> Value | None:
        """What a name stands for here; None if nothing seen defines it."""
        if name == "True":
            return TRUE
        if name == "False":
            return FALSE
        if name == "None":
            return NONE
        frame = self.frame
        while frame is not None:
            if frame.func is not None and name not in frame.globals:
                found = self.store.get(frame, name)
                if found is not None:
                    return found
            frame = frame.outer
        return self.global_value(name, self.frame.facts) if self.frame is not None else None

    def peek(self, node: cst.BaseExpression) -> Value | None:
        """The value of a name or attribute without any event."""
        if type(node) is cst.Name:
            return self.lookup(node.value)
        if type(node) is cst.Attribute:
            owner = self.peek(node.value)
            return self.store.get(owner, node.attr.value) if owner is not None else None
        return None

    def dotted(self, node) -> str:
        """A dotted name as text."""
        parts = []
        while type(node) is cst.Attribute:
            parts.append(node.attr.value)
            node = node.value
        parts.append(node.value if type(node) is cst.Name else "?")
        return ".".join(reversed(parts))

    def set_name(self, name: str, value: Value) -> None:
        frame = self.frame
        if name in frame.nonlocals:
            outer = frame.outer
            while outer is not None:
                if self.store.get(outer, name) is not None:
                    self.store.set(outer, name, value)
                    return
                outer = outer.outer
        if frame.func is None or name in frame.globals:
            self.store.set(frame.facts, name, value)
        else:
            self.store.set(frame, name, value)

    # -- files ----------------------------------------------------------------------------------------------------

    def global_value(self, name: str, facts) -> Value | None:
        """A name at the top level of a file."""
        found = self.store.get(facts, name)
        if found is not None:
            return found
        found = self.exported(name, facts)
        if found is not None:
            self.base_store.set(facts, name, found)
        return found

    def exported(self, name: str, facts, depth: int = 0) -> Value | None:
        """What a file defines or imports under a name, without running it."""
        if name in facts.functions:
            return Func(name, facts, facts.functions[name])
        if name in facts.classes:
            return self.class_of(facts, facts.classes[name])
        if name in facts.imports:
            found = self.imported(facts.imports[name], facts, depth)
            for qualified in facts.instead.get(name, ()):
                if not isinstance(found, Opaque):
                    break
                found = self.imported(qualified, facts, depth)  # the last import has nothing to give here
            return found
        for star in facts.stars:
            path = self.world.resolve(star, facts.path)
            if path is not None and depth < 6:
                inner = self.world.facts(path)
                found = self.exported(name, inner, depth + 1) if inner is not None and inner is not facts else None
                if found is not None and not (isinstance(found, Opaque) and found.source == "global"):
                    return found
            elif path is None and star in ("torch.nn", "torch", "torch.nn.functional", "torch.optim", "torch.utils.data"):
                if name[:1].isupper() and star != "torch.nn.functional" or star == "torch.nn.functional" and name.islower():
                    return Ref(canonical(f"{star}.{name}"))
        late = self.base_store.get(facts, name)
        for item in facts.body:  # all of them, in order: the last one counts
            if not isinstance(item, str) and name in item.binds and id(item) not in self.ran:
                late = self.run_late(item, name, facts) or late
        # What nothing at hand binds under this name comes through a star whose file is not at hand: no other thing has the name.
        if late is None and name in _USUAL and self.starred_away(facts):
            if name == "torch" or any(brought.split(".")[0] == "torch" for brought in facts.imports.values()):
                return Ref(_USUAL[name])
        return late

    def starred_away(self, facts: FileFacts) -> bool:
        """Whether a file takes all names of one that is not at hand, and so may have any."""
        return any(star.partition(".")[0] not in _BARE and self.world.resolve(star, facts.path) is None for star in facts.stars)

    def run_late(self, unit: Unit, name: str, facts: FileFacts) -> Value | None:
        """A name that statements of a file set which were not run so far: those of another file, or of this one where
        the sieve left them out. They are run for the values they leave."""
        self.ran.add(id(unit))
        parsed = self.world.parse(facts, unit)
        if parsed is None or "__name__" in unit.words and (self.root is None or self.root.facts is not facts):
            return None  # what a file does as a program it does not where it is imported
        with self.silent():
            self.frame = self.Frame(facts)
            self.frame.base = self.store
            self.parsed = parsed
            self.run_block(parsed.body)
        return self.base_store.get(facts, name)

    def _named_as_its_folder(self, qualified: str, inner: FileFacts, facts: FileFacts, depth: int) -> Value | None:
        """What `from Net import Net` brings in a program beside `Net/Net.py`: the class or function, as the program's own folder comes
        first; None where the file has none of that name."""
        first, _, name = qualified.partition(".")
        if first != name or name not in inner.classes and name not in inner.functions:
            return None
        return self.exported(name, inner, depth + 1) if os.path.dirname(inner.path) == os.path.dirname(facts.path) else None

    def imported(self, qualified: str, facts, depth: int = 0) -> Value:
        """What an import brings: a file, something out of a file, or something outside the project."""
        if depth > 6:
            return Opaque(qualified, "global")
        path = self.world.resolve(qualified, facts.path)
        if path is not None:
            inner = self.world.facts(path)
            if inner is not None:
                return self._named_as_its_folder(qualified, inner, facts, depth) or ProjectModule(qualified, inner)
            return Opaque(qualified, "global")
        base, _, name = qualified.rpartition(".")
        if base == "" and qualified.startswith("."):
            base, name = ".", qualified[1:]
        if base or qualified.startswith("."):
            path = self.world.resolve(base if base.strip(".") else base or ".", facts.path)
            if path is not None and path != facts.path:
                inner = self.world.facts(path)
                if inner is not None:
                    found = self.exported(name, inner, depth + 1)
                    if found is not None:
                        return found
                return Opaque(name, "global")
            if qualified.startswith("."):
                return Opaque(name, "global")
        if self.world.is_package(qualified, facts.path):
            return Opaque(qualified, "package")
        return Ref(canonical(qualified))
