"""Whether words of a file may stand for something of torchvision, by whatever files of the project they come through."""

from __future__ import annotations

from collections.abc import Iterable, Set

from torchlint.dryrun.world import World
from torchlint.sieve.facts import FileFacts, Unit, class_units

TORCHVISION = "torchvision"
_MOST_HANDS = 4  # files that hand a name on


class Torchvisions:
    """Tells of words of a file whether one of them may be something of torchvision: always where the file imports that itself.

    What is found of a name is kept: a package of models asks for the same few hundred times.

    Args:
        world: finds the files of the project that names come through.
    """

    def __init__(self, world: World):
        self._world = world
        self._known: dict[tuple[str, str, int, bool], bool] = {}  # by file, name, files to go through, whether it was asked by name
        self._files: dict[tuple[str, str], FileFacts | None] = {}  # by file and module

    def among(self, facts: FileFacts, words: Set[str]) -> bool:
        """Whether one of the words may be that."""
        own = TORCHVISION in words or any(map(_is_of_it, facts.imports.values()))
        return own or self._among(facts, words, _MOST_HANDS)

    def _among(self, facts: FileFacts, words: Set[str], hands: int) -> bool:
        if any(map(_is_of_it, facts.stars)):
            return True
        names: Iterable[str] = words & facts.imports.keys() if not (facts.stars and hands) else words
        return any(self._may_be(facts, name, words, hands) for name in names)

    def _may_be(self, facts: FileFacts, name: str, words: Set[str], hands: int) -> bool:
        """Whether one name may be that, by what it is imported from and by the files all of which is imported."""
        for qualified in (facts.imports[name], *facts.instead.get(name, ())) if name in facts.imports else ():
            if _is_of_it(qualified) or hands and self._through(facts, qualified, words, hands - 1):
                return True
        return hands > 0 and any(self._of(self._file(facts, star), name, hands - 1) for star in facts.stars)

    def _through(self, facts: FileFacts, qualified: str, words: Set[str], hands: int) -> bool:
        """Whether the project has a name from torchvision, or a file of that name has: `from project import nets`, `nets.resnet18`."""
        base, _, last = qualified.rpartition(".")
        base = base if base.strip(".") else f"{base}."  # "..name" is imported from ".."
        if self._of(self._file(facts, base), last, hands, by_name=True):
            return True
        inner = self._file(facts, qualified)
        return inner is not None and any(self._of(inner, word, hands) for word in words)

    def _of(self, inner: FileFacts | None, name: str, hands: int, by_name: bool = False) -> bool:
        """Whether what another file has under a name may be that."""
        if inner is None:
            return False
        key = (inner.path, name, hands, by_name)
        if key not in self._known:
            words = {name} | _made_of(inner, name) if by_name else {name}
            self._known[key] = self._among(inner, words, hands)
        return self._known[key]

    def _file(self, facts: FileFacts, module: str) -> FileFacts | None:
        """What is known of the file that a module is, for a file that imports it; None of itself, and of what is not the project's."""
        key = (facts.path, module)
        if key not in self._files:
            path = self._world.resolve(module, facts.path)
            self._files[key] = self._world.facts(path) if path is not None and path != facts.path else None
        return self._files[key]


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
