"""What the program itself writes into the file that a `torch.load` reads, where weights alone are no way to read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, from_file, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import call_at, text_of
from torchlint.rules.shared.checkpoints import in_files, put_together
from torchlint.rules.shared.file_names import bindings_of, one_file
from torchlint.rules.shared.refused_kinds import best_figure, refused
from torchlint.sieve.facts import FileFacts

_LONG_ENOUGH = 2  # keys that a reader asks for, where nothing says that it is the file that is written
# What lets more be read than weights.
ALLOWED = r"add_safe_globals|safe_globals\(|TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD|(?<![\w.])torch\.load\s*=[^=]"


@dataclass(slots=True, frozen=True)
class Refused:
    """What stands in a file that is no weight, in the words of a message, and where it is saved."""

    text: str
    kind: str
    site: Site


def refused_in(view: View, load: Event) -> Refused | None:
    """What the program has put into the file that a load reads, as far as this is seen to be the file, and nothing allows it."""
    found = _put_in(view, load)
    return found if found is not None and not in_files(view, load, ALLOWED) else None


def refused_in_unmet(view: View, load: Site) -> Refused | None:
    """The same of a load that no run comes to: what the program writes tells alone."""
    found = _among_saved(view, asked_keys(load), lambda save: True if _as_written(load, save.site) else None)
    return found[0] if found else None


def _put_in(view: View, load: Event) -> Refused | None:
    found = _among_saved(view, asked_keys_of(load), lambda save: _same_path(load, save))
    return found[0] if found else _written(load) if found is not None else None


def _among_saved(view: View, keys: set[str], is_same: Callable[[Event], bool | None]) -> list[Refused] | None:
    """What is no weight in the files that a load may read; None where one of those has what is asked of it, and nothing else."""
    found: list[Refused] = []
    again: list[set[str]] = []  # the keys of what was read and is written again: that tells nothing of what it is
    for save in view.of("save"):
        same = is_same(save)
        if same is False:
            continue
        items = save.get("items")
        if items is None:
            if same and (whole := refused(view, real(save.args[0]))) is not None:
                found.append(Refused(_given(save), whole, save.site))
            continue
        known = {key: value for key, value in items.known.items() if isinstance(key, str)}
        if not same and not (len(keys) >= _LONG_ENOUGH and keys <= known.keys()):
            continue
        kinds = {key: refused(view, alts := real(value)) or best_figure(view, key, alts) for key, value in known.items()}
        parts = [(key, kind) for key, kind in kinds.items() if key not in items.sometimes and kind is not None]
        if parts:
            found.append(Refused(f'"{parts[0][0]}"', parts[0][1], put_together(save)))
            continue
        again.append({f'"{key}"' for key, value in known.items() if key not in items.sometimes and all(map(from_file, real(value)))})
        if not again[-1]:
            return None
    return found if all(one.text in kept for kept in again for one in found) else None


def _same_path(load: Event, save: Event) -> bool | None:
    """Whether two calls name one file; None where that is not known."""
    if not load.args or len(save.args) < 2:
        return None
    read, written = real(load.args[0]), real(save.args[1])
    texts = [{alt.value for alt in alts if isinstance(alt, Const)} for alts in (read, written)]
    if len(texts[0]) == len(read) and len(texts[1]) == len(written):
        return texts[0] == texts[1]
    return True if any(one is other for one in read for other in written) or _as_written(load.site, save.site) else None


def _as_written(load: Site, save: Site) -> bool:
    """The same of two calls of one file, by the names that stand in them: `folder / "last.pt"`."""
    facts = load.parsed.facts
    if save.parsed.facts is not facts:
        return False
    read, written = call_at(load), call_at(save)
    if read is None or not read.args or written is None or len(written.args) < 2:
        return False
    try:
        names = bindings_of(text_of(load.parsed))
    except (SyntaxError, ValueError, RecursionError):
        return False
    name = names.name(read.args[0], names.scope_at(load.location().row))
    tells = len(name) > 1 or name and (isinstance(name[0], str) or "." in name[0].text)  # an option, not whatever a function is given
    return bool(tells) and one_file(name, names.name(written.args[1], names.scope_at(save.location().row)))


def asked_keys(site: Site) -> set[str]:
    """The keys that a function asks of what it has loaded."""
    return _asked_of(site, r"[\w.]*load\(")


def asked_keys_of(load: Event) -> set[str]:
    """The same; of what a function loads and gives back, the keys that the function asks that has called it."""
    keys, taker = asked_keys(load.site), taker_of(load)
    return keys if keys or taker is None else _asked_of(taker, r"[\w.]+\(")


def taker_of(load: Event) -> Site | None:
    """Where a function is called that gives back what it loads; None where it does something else with that."""
    return load.calls[-1] if load.calls and _gives_back(load.site) else None


def _asked_of(site: Site, called: str) -> set[str]:
    """The keys that are asked of the name that a call's line sets to what the call gives."""
    lines, row = site.parsed.facts.lines, site.location().row
    name = re.match(rf"\s*([A-Za-z_][\w.]*)\s*=\s*{called}", lines[row - 1])
    if name is None:
        return set()
    asked = re.compile(rf"(?<![\w.]){re.escape(name[1])}(?:\[|\.get\(|\.pop\()\s*[\"']([^\"']+)[\"']")
    return {key for line in _behind(site.parsed.facts, site, row) for key in asked.findall(line.split("#", 1)[0])}


def _gives_back(load: Site) -> bool:
    """Whether what is loaded is what its function returns, by itself or by the name that it gets, and nothing else."""
    lines, row = load.parsed.facts.lines, load.location().row
    if re.match(r"\s*return\s+[\w.]*load\(", lines[row - 1]):
        return True
    name = re.match(r"\s*([A-Za-z_]\w*)\s*=\s*[\w.]*load\(", lines[row - 1])
    if name is None or load.parsed.unit is load.parsed.facts:
        return False
    behind = [line.split("#", 1)[0].strip() for line in _behind(load.parsed.facts, load, row)[1:]]
    given = [line for line in behind if re.match(r"return\b", line)]
    return bool(given) and set(given) == {f"return {name[1]}"} and not any(re.match(rf"{name[1]}\s*=[^=]", line) for line in behind)


def _behind(facts: FileFacts, site: Site, row: int) -> list[str]:
    """The lines behind a row, up to the end of its function."""
    unit = site.parsed.unit
    inside = unit is not facts and getattr(unit, "start", row) <= row <= getattr(unit, "end", row)
    return facts.lines[row - 1 : getattr(unit, "end", None) if inside else None]


def _given(save: Event) -> str:
    node = save.site.node
    text = save.site.parsed.text(node.args[0].value) if getattr(node, "args", None) else "model"
    return text if len(text) <= 40 else "model"


def _written(load: Event) -> Refused | None:
    """The same of a whole model that another method of the file writes, `torch.save(self.net, "net.pkl")`, as the text shows it: to the
    same file, or out of the attribute that gets what is read."""
    call = re.match(r"[\w.]+\(\s*([\"'][^\"'{]+[\"'])\s*[,)]", load.site.text())
    facts = load.site.parsed.facts
    lines = [line.split("#", 1)[0] for line in facts.lines]
    filled = re.match(r"\s*(self\.\w+)\s*=\s*[\w.]*load\(", lines[load.site.location().row - 1])
    if filled is not None:
        wanted = re.compile(rf"\btorch\.save\(\s*({re.escape(filled[1])})\s*,")
    elif call is not None:
        wanted = re.compile(rf"\btorch\.save\(\s*(.+?)\s*,\s*{re.escape(call[1])}\s*[,)]")
    else:
        return None
    given = {found[1] for found in map(wanted.search, lines) if found is not None}
    if len(given) != 1 or not re.fullmatch(r"[A-Za-z_][\w.]*", text := given.pop()):
        return None
    used = re.compile(rf"(?<![\w.]){re.escape(text)}\.(?:parameters|train|eval)\(")
    bound = re.compile(rf"(?<![\w.]){re.escape(text)}\s*=.*(?:state_dict|\{{|dict\()")
    if not any(map(used.search, lines)) or any(map(bound.search, lines)):
        return None
    return Refused(text, "a whole model", load.site)
