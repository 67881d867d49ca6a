"""Whether words of a file may stand for something of torchvision, by whatever files of the project they come through."""

from __future__ import annotations

from collections.abc import Set

from torchlint.dryrun.world import World
from torchlint.sieve.facts import FileFacts, Unit, class_units

TORCHVISION = "torchvision"
_MOST_HANDS = 4  # files that hand a name on


class Torchvisions:
    """Tells of words of a file whether one of them may be something of torchvision: always where the file imports that itself.

    Args:
        world: finds the files of the project that names come through.
    """

    def __init__(self, world: World):
        self._world = world
        self._seen: set[tuple[str, str]] = set()  # by file and name: what is being asked already

    def among(self, facts: FileFacts, words: Set[str]) -> bool:
        """Whether one of the words may be that."""
        self._seen.clear()
        return TORCHVISION in words or self._among(facts, words, _MOST_HANDS)

    def _among(self, facts: FileFacts, words: Set[str], hands: int) -> bool:
        if any(map(_is_of_it, facts.stars)) or hands == _MOST_HANDS and any(map(_is_of_it, facts.imports.values())):
            return True
        for name in words & facts.imports.keys():
            for qualified in (facts.imports[name], *facts.instead.get(name, ())):
                if _is_of_it(qualified) or hands and self._through(facts, qualified, words, hands):
                    return True
        return hands > 0 and any(self._inside(facts, star, words, "*", hands) for star in facts.stars)

    def _through(self, facts: FileFacts, qualified: str, words: Set[str], hands: int) -> bool:
        """Whether the project has a name from torchvision, or a file of that name has: `from project import nets`, `nets.resnet18`."""
        base, _, last = qualified.rpartition(".")
        base = base if base.strip(".") else f"{base}."  # "..name" is imported from ".."
        return self._inside(facts, base, {last}, last, hands) or self._inside(facts, qualified, words, "*", hands)

    def _inside(self, facts: FileFacts, module: str, words: Set[str], asked: str, hands: int) -> bool:
        path = self._world.resolve(module, facts.path)
        if path is None or path == facts.path or (path, asked) in self._seen:
            return False
        self._seen.add((path, asked))
        inner = self._world.facts(path)
        return inner is not None and self._among(inner, words if asked == "*" else words | _made_of(inner, asked), hands - 1)


def _made_of(facts: FileFacts, name: str) -> set[str]:
    """The words of what a file defines under a name: `NETS = {"small": models.resnet18}`."""
    units = [item for item in facts.body if isinstance(item, Unit) and name in item.binds]
    if name in facts.functions:
        units.append(facts.functions[name])
    if name in facts.classes:
        units += class_units(facts.classes[name])
    return set().union(*(unit.words for unit in units))


def _is_of_it(qualified: str) -> bool:
    return qualified.partition(".")[0] == TORCHVISION
