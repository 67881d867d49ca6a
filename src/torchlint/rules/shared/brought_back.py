"""Whether a program may load the state of an optimizer, as its lines tell."""

from __future__ import annotations

import re

from torchlint.dryrun.values import Event, Value
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import files_of, in_files, in_files_that_run
from torchlint.rules.shared.optional_parts import rows_without_parts
from torchlint.sieve.facts import FileFacts, Unit

# What brings an optimizer's state back, or may.
_LOADED = re.compile(r"([\w.]*opt\w*)(?:\[[^]]*\]|\(\))?\.load_state_dict(?:\(\s*([A-Za-z_][\w.]*)\s*\))?", re.IGNORECASE)
_BROUGHT_BACK = re.compile(
    r"(?:load|resum|restor)\w*\([^)]*optim|load_state\(|(?:from|import) accelerate\b|\baccelerator\."
    r"|\bAccelerator\(|deepspeed|set_state_dict|opt\w*\s*=\s*(?:(?!(?:kwargs|(?:self\.)?(?:args|opts?|optim\w*|config|cfg|params))\b)[\w.]+\[|torch\.load\()"
    r"|opt\w*\s*=\s*[\w.]*sched\w*\.opt",
    re.IGNORECASE,
)


def brought_back(view: View, step: Event, optimizer: Value) -> bool:
    """Whether a line may load an optimizer's state, or a function that is in no file may. The state of another optimizer is not its
    own, and one that the program has kept in memory is out of no file."""
    own = getattr(optimizer, "name", "")
    others = {made.subject.name for made in view.of("optimizer.create") if getattr(made.subject, "name", "")} - {own}

    def brings(line: str) -> bool:
        loaded = _LOADED.search(line)
        if loaded is None:
            return _BROUGHT_BACK.search(line) is not None and not _counts_for_it(view, step, line)
        if own and loaded[1] in others:
            return False
        return loaded[2] is None or not in_files(view, step, rf"(?<![\w.]){re.escape(loaded[2])}\s*=\s*(?:[\w.]*deepcopy\()?[\w.]*opt\w*\.state_dict\(")

    if in_files_that_run(view, step, brings, commented=True):
        without = rows_without_parts(view, step)
        if not without or in_files_that_run(view, step, brings, commented=True, without=without):
            return True
    # A helper that is handed the model and no optimizer fills the model alone.
    by_helper = r"(?<!def )\bload_checkpoint\w*\((?!.*\b\w*(?:model|net)\w*\s*[,)])|\bself\.(?:\w+\.)*load_checkpoint\w*\("
    return in_files(view, step, by_helper) and not in_files(view, step, r"def load_checkpoint")


_HANDED = re.compile(r"(?<![\w.])(\w*(?:load|resum|restor)\w*)\([^)]*optim", re.IGNORECASE)
# What is done with an optimizer that leaves its averages as they are: it is asked for, and told how many steps it has taken.
_ASKED = re.compile(r"\s*(?:if|elif|assert)\b[^()]*$|\s*[\w.]*opt\w*\._?(?:\w+_)?(?:step|iter|epoch)s?(?:_num|_count)?\s*=[^=]", re.IGNORECASE)


def _counts_for_it(view: View, step: Event, line: str) -> bool:
    """Whether a line only hands an optimizer to a function in view that loads the weights, and of the optimizer a number at most."""
    handed = _HANDED.search(line)
    if handed is None:
        return False
    found = [(facts, unit) for facts in files_of(view, step) if (unit := facts.functions.get(handed[1])) is not None]
    return bool(found) and all(_ASKED.match(row) for facts, unit in found for row in _body(facts, unit) if re.search("optim", row, re.IGNORECASE))


def _body(facts: FileFacts, unit: Unit) -> list[str]:
    """The lines of a function behind its head, comments left out."""
    rows = [line.split("#", 1)[0].rstrip() for line in facts.lines[unit.start - 1 : unit.end]]
    head = next((at for at, row in enumerate(rows) if row.endswith(":") and "def " in "".join(rows[: at + 1])), len(rows))
    return rows[head + 1 :]
