"""Errors of torch, provoked one by one, with what has to be said of each: a table a subject, in text."""

from __future__ import annotations

import copy
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from torchsan.errors.explain import explain
from torchsan.errors.note import mend_of, note, roles
from torchsan.report import wording

HERE = Path(__file__).parent
_TORCH = Path(torch.__file__).parent


class Case(NamedTuple):
    """A program that fails, and what is said: the first line, the facts, the operand that is blamed, the mend."""

    program: str
    expected: list[str]


def cases(table: Path) -> list[Case]:
    """The cases of a table: blocks parted by an empty line, the program first, then lines that begin with "> "."""
    found = []
    for block in table.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        found.append(Case("\n".join(line for line in lines if line[:2] != "> "), [line[2:] for line in lines if line[:2] == "> "]))
    return found


def told(program: str, folder: Path) -> list[str] | None:
    """What is said of the error that a program ends in; None where nothing is."""
    path = folder / f"program_{abs(hash(program))}.py"
    path.write_text(program + "\n", encoding="utf-8")
    error = _error_of(program, path, folder)
    said = explain(error)
    if said is None:
        return None
    head = note(said).split("\n", 1)[0].removeprefix("torchsan: ")
    blamed = [f"value: {said.offender.name}"] if said.offender is not None else []
    mend = wording.fill(mend_of(said), roles(said))
    lines = [head, *(f"what: {fact}" for fact in said.facts), *blamed, f"mend: {mend}"]
    return [re.sub(r"worker \d+", "worker N", line.replace(str(folder), "FOLDER")) for line in lines]


def _error_of(program: str, path: Path, folder: Path) -> BaseException:
    names = _names(folder)
    try:
        exec(compile(program + "\n", str(path), "exec"), names)
    except Exception as error:
        return error
    raise AssertionError(f"no error: {program}")


def _names(folder: Path) -> dict[str, Any]:
    """What every program finds: a model, its input and output, labels of several kinds."""
    torch.manual_seed(0)
    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile turns it off, for good
    x, model = torch.randn(8, 4), nn.Linear(4, 3)
    labels = torch.arange(8) % 3
    names: dict[str, Any] = {"__name__": "__main__", "torch": torch, "np": np, "F": F, "nn": nn, "copy": copy, "dist": dist}
    names.update(DataLoader=DataLoader, Dataset=Dataset, TensorDataset=TensorDataset, raised=_raised())
    names.update(x=x, model=model, out=model(x), labels=labels, floats=labels.float(), several=torch.zeros(8, 5).long())
    names.update(one_hot=F.one_hot(labels, 3), guesses=model(x).argmax(1), from_one=labels + 1, minus=labels - 1, high=labels * 3)
    names.update(five=torch.ones(5), doubles=torch.ones(3).double(), percent=torch.full((8, 3), 100.0), column=torch.randn(8, 1))
    names.update(tokens=torch.randn(2, 5, 3), words=torch.zeros(2, 5).long(), tokens10=torch.tensor([[1, 10]]))
    names.update(maps=torch.randn(2, 7, 5, 5), masks=torch.zeros(2, 5, 5).long(), colours=torch.zeros(2, 5, 5, 3).long())
    names.update(images=torch.randn(2, 3, 32, 32), last=torch.randn(2, 32, 32, 3), sequence=torch.randn(2, 3, 4))
    names.update(q=torch.randn(2, 4, 6, 8), k=torch.randn(2, 4, 6, 8), a=torch.randn(2, 3, 4), b=torch.randn(2, 3, 4))
    names.update(other=torch.randn(8, 4), other5=torch.randn(8, 5), halved=torch.randn(4, 4).half())
    names.update(model4=nn.Linear(4, 4), head=nn.Linear(5, 10), lstm=nn.LSTM(4, 5), lstm5=nn.LSTM(5, 3))
    names.update(sgd=torch.optim.SGD(model.parameters(), lr=0.1), folder=str(folder), path=str(folder / "saved.pt"))
    return names


def _raised() -> Any:
    """Raises an error with torch's recorded words, as a function of torch's would: for what needs a GPU or other processes."""
    space: dict[str, Any] = {}

    def raised(kind: type[BaseException], text: str, file: str = "recorded.py") -> None:
        exec(compile("def raised(kind, text):\n    raise kind(text)\n", str(_TORCH / file), "exec"), space)
        space["raised"](kind, text)

    return raised


def write(table: Path, programs: list[str]) -> None:
    """Write a table anew, from its programs; the result is to be read before it is kept."""
    blocks = []
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            lines = told(program, Path(folder)) or ["nothing"]
        blocks.append("\n".join([program, *(f"> {line}" for line in lines)]))
    table.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
