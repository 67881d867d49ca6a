"""A value that may be one of several: which of them it is where, and whether two of them are ever met in one run."""

from __future__ import annotations

from torchlint.dryrun.guards import Guard
from torchlint.dryrun.values import Instance, Opaque, Value, exclude_each_other


def conditions(value: Instance) -> tuple[Guard, ...]:
    """The guards that an object was made under; none that the other branch was made alike under, too."""
    return tuple(guard for guard in value.under if all(guard in twin.under for twin in value.twins))


def chosen(alt: Value, alts: tuple[Value, ...]) -> tuple[Guard, ...]:
    """The guards under which a value is that one of several, as far as how they were made tells: `model = A()`, then
    `if big: model = B()` leaves A where it is not big."""
    if not isinstance(alt, Instance):
        return ()
    mine = conditions(alt)
    found = list(mine)
    for other in alts:
        others = conditions(other) if other is not alt and isinstance(other, Instance) else ()
        more = [guard for guard in others if guard not in mine]
        if len(more) == 1 and len(others) == len(mine) + 1 and not exclude_each_other(mine, others):
            found.append(more[0].contrary())
    return tuple(found)


def exclusive(one: Value, other: Value) -> bool:
    """Whether only one of two objects is there in any run: made in the two branches of an `if`, or by one expression."""
    if not isinstance(one, Instance) or not isinstance(other, Instance):
        return False
    if one.site is not None and one.site == other.site:
        return True
    return exclude_each_other(chosen(one, (one, other)), chosen(other, (one, other)))


def possible(alts: tuple[Value, ...], guards: tuple[Guard, ...]) -> tuple[Value, ...]:
    """Those of several alternatives that may be there under some guards; all of them where that tells nothing."""
    lasting = [guard for guard in guards if not guard.varies]
    found = tuple(alt for alt in alts if not exclude_each_other(lasting, chosen(alt, alts))) if lasting else alts
    return found or alts


def models_made(alts: tuple[Value, ...]) -> tuple[Value, ...]:
    """The models among alternatives that are models of the program, and else such as it has saved whole: `model = Net()`, or
    `model = torch.load(path)`, or `torch.load(path)["model"]`. What is read so is one of these, so that what they give is what it
    gives. None in any other case."""
    made = tuple(alt for alt in alts if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"))
    rest = [alt for alt in alts if alt not in made]
    return made if rest and all(map(_read, rest)) else ()


def _read(value: Value | None) -> bool:
    """What `torch.load` gives, or an item of it, wherever that was moved."""
    while type(value) is Opaque and value.source in ("item", "op") and "loaded" not in value.tags:
        value = value.origin
    return type(value) is Opaque and "loaded" in value.tags
