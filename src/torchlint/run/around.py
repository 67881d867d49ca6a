"""What the other files of a project make known of some of its files: these are judged, too, and told is what stands in the files
that were asked for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping

from torchlint.files.source import Problem, map_locations
from torchlint.findings import Finding, Location
from torchlint.run.discovery import File
from torchlint.run.projects import Project, Projects
from torchlint.run.users import Users


class Around:
    """The files around those that were asked for.

    Args:
        projects: what is in the project of each.
        users: who imports whom.
        asked: the files, by their full paths.
        tests_call: whether what a test makes of a program is told.
    """

    def __init__(self, projects: Projects, users: Users, asked: Collection[str], tests_call: bool = False):
        self._projects = projects
        self._named = {os.path.realpath(path): path for path in asked}
        self._asked = frozenset(asked)
        self._apart: dict[str, list[str]] = {}  # by project: the files that are judged without those that use them
        self.files: list[File] = []
        for project, paths in self._by_project().values():
            if project.files is None:
                self._apart[project.root] = paths
            elif not project.files.keys() <= self._asked:
                using = users.of if tests_call else users.outside_tests
                users_of = using(list(map(os.path.realpath, paths)), project.files)
                self.files += [project.files[path] for path in users_of if path not in self._asked]

    def _by_project(self) -> dict[str, tuple[Project, list[str]]]:
        found: dict[str, tuple[Project, list[str]]] = {}
        for path in sorted(path for path in self._asked if path.endswith(".py")):  # nothing else can be imported
            project = self._projects.of(path)
            found.setdefault(project.root, (project, []))[1].append(path)
        return found

    @property
    def apart(self) -> frozenset[str]:
        """The files of which more may be known, as the files that use them were not looked for."""
        return frozenset().union(*self._apart.values())

    def notes(self) -> Iterator[Problem]:
        """A line for each project that was not looked through."""
        for root, paths in sorted(self._apart.items()):
            more = f" and {len(paths) - 1} more files were" if len(paths) > 2 else " and one more file were" if len(paths) > 1 else " was"
            message = (
                f"this{more} judged without the files that use {'it' if len(paths) == 1 else 'them'}: more is known with the whole"
                f" project, {root}, which {self._projects.of(paths[0]).why}"
            )
            yield Problem(paths[0], message, note=True)

    def split(self, found: Mapping[str, Iterable[Finding]]) -> tuple[list[Finding], list[Finding]]:
        """The findings of judged files, given by these, that stand in files that were asked for, and those that stand elsewhere
        in their projects."""
        here, elsewhere = [], []
        for judged, findings in found.items():
            for finding in findings:
                at = finding.location.filename
                if at not in self._asked:
                    name = self._named.get(os.path.realpath(at))
                    if name is None:
                        if judged in self._asked and self._projects.of(at).has(at) and self._projects.of(at).has(judged):
                            elsewhere.append(finding)
                        continue
                    finding = map_locations(finding, lambda place, at=at, name=name: _moved(place, at, name))
                    at = name
                if at == judged or self._projects.of(at).has(judged):
                    here.append(finding)
        return here, elsewhere


def _moved(place: Location, old: str, new: str) -> Location:
    from msgspec.structs import replace

    return replace(place, filename=new) if place.filename == old else place
