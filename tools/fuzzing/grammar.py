"""Programs made up from Python's grammar with the words of torch: they parse, and mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from fuzzing.mutate import TOKEN
from torchlint.catalogue.pages import catalogue

NAMES = ("x", "y", "self", "model", "net", "loss", "optimizer", "opt", "sched", "scaler", "loader", "data", "i", "F", "nn", "torch",
         "Net", "f", "_", "cls", "out", "best", "device", "np", "dist", "state")
IMPORTS = (
    "import torch", "import torch.nn as nn", "import torch.nn.functional as F", "from torch import nn, optim", "import torch as t",
    "from torch import *", "from torch.nn import *", "import torch.distributed as dist", "import numpy as np", "from . import x",
    "from .x import y as z", "from ..a.b import *", "from torch.utils.data import DataLoader, Dataset", "import torch, torch.nn",
    "try:\n    import torch\nexcept ImportError:\n    torch = None", "from torch.cuda.amp import autocast, GradScaler",
    "import lightning as L", "from transformers import Trainer", "from accelerate import Accelerator", "import helper",
)

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", "&", "|", "and", "or", "<", "==", "is not", "in")


@lru_cache(maxsize=1)
def words() -> tuple[str, ...]:
    """The names that the blocks of the rule pages use, and so those that rules know."""
    found = {
        token for rule in catalogue() for block in rule.examples() for token in TOKEN.findall(block.code) if token.isidentifier()
    }
    return tuple(sorted(found - set("if else for while in is not and or def class return import from as with try except".split())))


class Writer:
    """Writes one program."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.left = rng.choice((20, 60, 150, 400))  # nodes that may still be written

    def program(self) -> str:
        lines = [*self.rng.sample(IMPORTS, self.rng.randrange(1, 5)), "import torch"]
        while self.left > 0:
            lines += self.statement(0)
        return "\n".join(lines) + "\n"

    def name(self) -> str:
        return self.rng.choice(NAMES) if self.rng.random() < 0.7 else self.rng.choice(words())

    def attribute(self) -> str:
        name = self.rng.choice(words())
        return name if not name.startswith("__") else "data"

    def block(self, depth: int) -> list[str]:
        lines = [line for _ in range(self.rng.choice((1, 1, 2, 3, 5))) for line in self.statement(depth + 1)]
        return ["    " + line for line in lines]

    def statement(self, depth: int) -> list[str]:
        self.left -= 1
        rng, e = self.rng, self.expression
        if depth > 5 or self.left < 0 or rng.random() < 0.65:
            return [rng.choice((
                lambda: e(3), lambda: f"{self.target()} = {e(3)}", lambda: f"{self.target()} = {e(3)}", lambda: self.call(3),
                lambda: f"{self.target()} {rng.choice('+-*/@%&|^')}= {e(2)}", lambda: f"{self.name()}: {e(1)} = {e(2)}",
                lambda: f"{self.target()}, *{self.name()} = {e(2)}", lambda: f"{self.name()} = {self.target()} = {e(2)}",
                lambda: "pass", lambda: f"del {self.target()}", lambda: f"assert {e(2)}, {e(1)}", lambda: f"raise {e(1)} from {e(1)}",
                lambda: f"return {e(2)}" if depth else "pass", lambda: f"global {self.name()}" if depth else "pass",
                lambda: f"{self.name()} = yield {e(1)}" if depth else "pass", lambda: f"({self.name()}, {self.target()}) = {e(2)}",
            ))()]
        inner = self.block(depth)
        if inner[0].strip().startswith(("return", "global")) or any("yield" in line for line in inner):
            return [f"def {self.name()}({self.parameters()}):", *inner]
        kind = rng.randrange(12)
        if kind == 0:
            return [f"if {e(2)}:", *inner, *([f"elif {e(1)}:", *self.block(depth)] if rng.random() < 0.4 else []),
                    *(["else:", *self.block(depth)] if rng.random() < 0.5 else [])]
        if kind in (1, 2):
            target = rng.choice((self.name(), f"{self.name()}, ({self.name()}, _)", self.target()))
            return [f"for {target} in {e(2)}:", *inner, *(["else:", *self.block(depth)] if rng.random() < 0.2 else [])]
        if kind == 3:
            return [f"while {e(2)}:", *inner]
        if kind in (4, 5):
            return [f"with {self.call(2)}{rng.choice(('', f' as {self.target()}', f', {e(1)}'))}:", *inner]
        if kind == 6:
            return ["try:", *inner, f"except {e(1)} as {self.name()}:", *self.block(depth), "finally:", *self.block(depth)]
        if kind == 7:
            return [f"match {e(1)}:", "    case [x, *_] | {'a': x} if " + e(1) + ":", *("    " + line for line in inner),
                    "    case _:", "        pass"]
        if kind == 8:
            bases = rng.choice(("torch.nn.Module", "nn.Module", self.name(), "torch.autograd.Function", "Dataset", "", "A, B"))
            made = rng.choice((["    x = 1"], ["    def __init__(self):", "        super().__init__()"]))
            return [f"class {self.name()}({bases}):", *made, *inner]
        name = rng.choice(("forward", "__init__", "training_step", "step", "backward", "__getitem__", self.name()))
        decorator = [f"@{self.call(1)}"] if rng.random() < 0.2 else []
        return [*decorator, f"{rng.choice(('', '', '', 'async '))}def {name}({self.parameters()}):", *inner]

    def parameters(self) -> str:
        return self.rng.choice((
            "", "self", "self, x", "model, loader, optimizer", "*args, **kwargs", "x, /, y, *, z", f"x={self.expression(1)}", "self, *x",
        ))

    def target(self) -> str:
        return self.rng.choice((
            self.name, self.name, lambda: f"{self.name()}.{self.attribute()}", lambda: f"{self.name()}[{self.expression(1)}]",
            lambda: f"self.{self.attribute()}", lambda: f"{self.call(0)}.{self.attribute()}",
        ))()

    def call(self, depth: int) -> str:
        rng = self.rng
        head = rng.choice((
            f"{self.name()}.{self.attribute()}", f"{self.name()}.{self.attribute()}", f"torch.{self.attribute()}",
            f"nn.{self.attribute()}", f"F.{self.attribute()}", self.name(), f"self.{self.attribute()}", f"{self.name()}.nn.{self.attribute()}",
            f"torch.optim.{rng.choice(('SGD', 'Adam', 'lr_scheduler.StepLR'))}", "super", f"self.{self.attribute()}.{self.attribute()}",
        ))
        if depth > 0 and rng.random() < 0.2:
            head = f"{self.call(depth - 1)}.{self.attribute()}"
        given = [self.expression(depth - 1) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
        more = (f"*{self.name()}", "dim=1", f"{rng.choice(words())}={self.expression(depth - 2)}")
        given += rng.sample(more, rng.choice((0, 0, 0, 1, 2)))
        if rng.random() < 0.05:
            given.append(f"**{self.name()}")
        return f"{head}({', '.join(given)})"

    def expression(self, depth: int) -> str:
        self.left -= 1
        rng, e = self.rng, self.expression
        if depth <= 0 or rng.random() < 0.2:
            return rng.choice((self.name(), self.name(), "1", "0", "-1", "0.5", "'cuda'", "None", "True", "[]", "{}", "...", "1e-3", "''",
                               str(rng.randrange(300)), str(2 ** rng.randrange(100)), "b'x'", "f'{x}'", "-1.5", "(1, 2)", "3j"))
        return rng.choice((
            lambda: self.call(depth), lambda: self.call(depth), lambda: self.call(depth), lambda: f"({e(depth - 1)}).{self.attribute()}",
            lambda: f"({e(depth - 1)} {rng.choice(OPERATORS)} {e(depth - 1)})",
            lambda: f"({rng.choice(('-', 'not ', '~', '+'))}{e(depth - 1)})", lambda: f"{e(depth - 1)}[{e(depth - 1)}]",
            lambda: f"{e(depth - 1)}[{e(0)}:{e(0)}, ..., None]", lambda: f"[{e(depth - 1)}, {e(depth - 1)}, *{self.name()}]",
            lambda: f"({e(depth - 1)}, {e(depth - 1)})", lambda: f"{{{e(0)}: {e(depth - 1)}, **{self.name()}}}",
            lambda: f"[{e(depth - 1)} for {self.name()} in {e(depth - 1)} if {e(0)}]", lambda: f"({e(depth - 1)} for x, y in {e(0)})",
            lambda: f"(lambda {self.name()}, *a: {e(depth - 1)})", lambda: f"({e(depth - 1)} if {e(0)} else {e(depth - 1)})",
            lambda: f"({self.name()} := {e(depth - 1)})", lambda: f"f'{{{self.name()}!r:>{{{self.name()}}}}}'",
        ))()


def program(rng: Random) -> str:
    """A made-up program."""
    return Writer(rng).program()


@lru_cache(maxsize=4)
def hypothesmith_programs(seed: int, count: int = 120) -> tuple[str, ...]:
    """Programs of hypothesmith, the same for a seed; () where it is not installed."""
    try:
        import hypothesmith
    except ImportError:
        return ()
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[str] = []

    @seeded(seed)
    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(hypothesmith.from_grammar() | hypothesmith.from_node())
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return tuple(found)


def mixed(rng: Random, text: str, blocks: Sequence[str]) -> str:
    """A program of no meaning with some of torch in it: before, behind, inside of a function, or instead of names."""
    block = rng.choice(blocks)
    kind = rng.randrange(4)
    if kind == 0:
        return f"import torch\n{text}\n{block}"
    if kind == 1:
        return f"{block}\n{text}"
    if kind == 2:
        inner = "\n".join("    " + line for line in text.split("\n"))
        return f"{block}\ndef train(model, loader, optimizer):\n{inner}\n    loss.backward()\n    optimizer.step()\n"
    tokens = [rng.choice(words()) if token.isidentifier() and rng.random() < 0.5 else token for token in TOKEN.findall(text)]
    return "import torch\n" + "".join(tokens)
