"""Judges one source file: sieve, dry run, rules, findings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from torchlint.catalogue.apis import holds
from torchlint.catalogue.pages import Rule
from torchlint.files.garbage import collect_if_much
from torchlint.files.modules import Modules
from torchlint.findings import Finding, Related
from torchlint.settings.matchers import Matcher
from torchlint.sieve.glimpse import Glimpse
from torchlint.sieve.leads import Leads
from torchlint.sieve.may_matter import may_matter

if TYPE_CHECKING:
    from torchlint.dryrun.interpreter import Run
    from torchlint.rules.base import Report, View
    from torchlint.rules.foreign import Foreign
    from torchlint.sieve.facts import FileFacts

    Checks = Sequence[Callable[["View"], Iterable[Report]]]


class Judged(msgspec.Struct, frozen=True):
    """What judging one file gave. `depends` are the paths that were looked for while it was judged, with the sha256 of
    their content or None where nothing was there, and what was asked of folders (`modules.py`): as long as that stays so, the
    findings stay so. A finding may stand in another file than the one judged (a mistake in a helper that this file calls).
    `glimpses` say of some of these paths what alone they were looked at for.
    `in_part` is the row and the line that is said where something was too large to be judged whole; `failed`
    a line for each matcher of somebody's own that failed.
    """

    findings: tuple[Finding, ...]
    depends: dict[str, str | None] = {}
    in_part: tuple[int, str] | None = None
    failed: tuple[str, ...] = ()
    glimpses: dict[str, Glimpse] = {}


class Engine:
    """The judge. One per process: what it learns of a file is kept for the files that import it.

    Args:
        rules: the active rules.
        torch_version: the torch release to judge by, as (major, minor); None where it is not known.
        roots: folders from which absolute imports of project files resolve, besides what each file's place tells.
        sieve: leave out what no rule can have anything to say about; off only to test that nothing is lost by it.
        matchers: matchers of somebody's own, for rules that are no rules of ours.
        modules: what finds imports, with the disk that all is read from; its own where None.
        strict_tests: judge tests as programs are judged.
        scout: run over what Python's own parser has read, and have libcst parse only what is told or mended; off only to
            test that nothing is lost by it.
        summaries: answer calls that are like one that was run by what is known of that; off only to test that nothing is
            lost by it.
        releases: the lowest releases of other packages that the project admits, by package, as (major, minor).
        newest: the newest releases that it admits, of torch, too; where torch is not in it, it is `torch_version`.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        torch_version: tuple[int, int] | None = None,
        roots: Sequence[str] = (),
        sieve: bool = True,
        modules: Modules | None = None,
        matchers: Sequence[Matcher] = (),
        strict_tests: bool = False,
        scout: bool = True,
        summaries: bool = True,
        releases: Sequence[tuple[str, tuple[int, int]]] = (),
        newest: Sequence[tuple[str, tuple[int, int]]] = (),
    ):
        self.rules = tuple(rule for rule in rules if not rule.torch or holds(rule.torch, torch_version))
        self.sieve, self.scout, self.summaries = sieve, scout, summaries
        self.torch_version = torch_version
        self.releases, self.newest = dict(releases), dict(newest)
        self.roots = tuple(roots)
        self._by_code = {rule.code: rule for rule in self.rules}
        self._silent_in_tests = frozenset() if strict_tests else frozenset(rule.code for rule in self.rules if rule.tests == "silent")
        self._tests_call = strict_tests
        self._world = None
        self._foreign: list[Foreign] = []
        self._modules = modules or Modules(roots)
        self._matchers = matchers
        # Pages of somebody's own may speak of calls of other libraries, in files that know nothing of torch.
        self._words = tuple({name.rpartition(".")[2].encode() for name in _called(self.rules) if not name.startswith("torch.")})
        self._leads = Leads(self._modules, self._words)

    def look_again(self, digest: Callable[[str], str | None]) -> None:
        """Forgets what does not hold any more, where files may have changed since the last question: see `World.look_again`."""
        self._leads.forget()
        if self._world is not None:
            self._world.look_again(digest)

    def check(self, filename: str, text: str) -> Judged:
        """The findings of one file of Python text (a notebook comes as the text that `source.py` made of it; rows are
        those of `text`).

        Raises:
            SyntaxError: the text does not parse.
        """
        leads: dict[str, str | None] = {}
        if not may_matter(text, self._words):
            matters, leads = self._leads.lead(filename, text)
            if not matters:
                return Judged((), leads)
        from torchlint.dryrun.scout.graft import Unlike
        from torchlint.dryrun.scout.makers import Odd
        from torchlint.dryrun.world import World
        from torchlint.rules import checks_of, needs, of_orphans, of_parts, watched_calls

        if self._world is None:
            self._world = World(self.roots, self._modules)
            self._met = needs.Met(needs.needs_of(self.rules))
            self._watched = watched_calls(self.rules)
            self._checks = checks_of(self.rules)
            self._add_foreign()
            self._checks_of_parts = checks_of(of_parts(self.rules))
            self._checks_of_orphans = [*checks_of(of_orphans(self.rules)), *self._foreign]
        world = self._world
        world.begin()
        facts = world.add(filename, text)
        try:
            found, in_part = self._judged(facts, filename, self.scout)
        except Exception as error:
            if not self.scout or os.environ.get("TORCHLINT_DEBUG") and not isinstance(error, (Odd, Unlike)):
                raise
            found, in_part = self._judged(facts, filename, False)
        if leads:
            in_part = None  # of what is too large here, the files that it comes from tell
        findings = tuple(sorted(_settled(found), key=lambda finding: finding.sort_key))
        shown = {os.path.abspath(at.filename) for finding in findings for at in finding.places}
        glimpses = {path: one for path, one in world.glimpses().items() if path not in shown and path not in leads}
        world.forget()
        asked = world.asked - {facts.path}
        depends = leads | {path: world.hashes.get(path) for path in sorted(asked)}
        return Judged(findings, depends, in_part, self._failures(), glimpses)

    def _judged(self, facts: FileFacts, filename: str, scout: bool) -> tuple[list[Finding], tuple[int, str] | None]:
        """The findings of a file, and what is said where not all of it was judged.

        Raises:
            Odd, Unlike: the scout cannot tell.
        """
        from torchlint.dryrun.parts import TOO_DEEP, Shortened
        from torchlint.dryrun.roots import runs_of
        from torchlint.rules.shared.tests import meant_to_fail

        found: dict[tuple, Finding] = {}
        met = self._met if self.sieve else None
        shortened = Shortened()
        self._world.forget_events()
        self._world.scouting, self._world.summaries = scout, self.summaries
        for run in runs_of(self._world, facts, self._watched, met, shortened):
            try:
                for report in self._told(run) if scout else self._reports(run):
                    if self._of_tests(report.code, report.site.parsed, facts) or meant_to_fail(report.site):
                        continue
                    finding = self._finding(report, filename, facts.path)
                    found.setdefault((finding.code, finding.location), finding)
            except RecursionError:
                # Code nested this deeply cannot be walked to its end; what was found before stays.
                shortened.lost.update([run.title])
                shortened.why[run.title[0]] = TOO_DEEP
            collect_if_much()
        return list(found.values()), shortened.told()

    def _reports(self, run: Run) -> Iterator[Report]:
        """What the rules say of a run."""
        from torchlint.rules.base import View

        view = View(run, self.torch_version, self.releases, self.newest)
        for check in self._checks_for(run):
            yield from check(view)

    def _checks_for(self, run: Run) -> Checks:
        return self._checks_of_parts if run.alone else self._checks_of_orphans if run.orphan or run.spared else self._checks

    def _told(self, run: Run) -> list[Report]:
        """What the rules say of a run that the scout has made. Where that is anything, libcst parses all that is shown of it or
        changed by it, and the rule looks once more.

        Raises:
            Unlike: the scout has seen something else than libcst.
        """
        from torchlint.dryrun.scout.trees import complete
        from torchlint.rules.base import View

        seen, checks = self._seen(run)
        while complete(tree for report in seen for tree in report.trees()):
            view = View(run, self.torch_version, self.releases, self.newest)
            seen = [report for check in checks for report in check(view)]
        return seen

    def _seen(self, run: Run) -> tuple[list[Report], Checks]:
        """What the rules say of a run as the scout sees it, and which of them say something."""
        from torchlint.dryrun.scout.makers import Odd
        from torchlint.dryrun.scout.trees import complete, trees_of
        from torchlint.rules.base import View

        view = View(run, self.torch_version, self.releases, self.newest)
        seen: list[Report] = []
        checks = []
        for check in self._checks_for(run):
            try:
                reports = list(check(view))
            except (Odd, RecursionError):  # libcst's own nodes have what it asks for
                complete(trees_of(run.graph.events))
                reports = list(check(View(run, self.torch_version, self.releases, self.newest)))
            if reports:
                seen += reports
                checks.append(check)
        return seen, checks

    def _add_foreign(self) -> None:
        """Matchers of somebody's own judge, too. Of what they need nothing is known: they are asked about everything."""
        if self._matchers:
            from torchlint.rules import needs
            from torchlint.rules.foreign import Foreign

            self._foreign = [Foreign(matcher) for matcher in self._matchers]
            self._checks += self._foreign
            self._met = needs.Met(((),))
            for one in self._foreign:
                self._watched |= one.calls | {f"@{name}" for name in one.calls if not name.startswith("torch.")}

    def _failures(self) -> tuple[str, ...]:
        """What went wrong in matchers of somebody's own, since this was last asked."""
        said = tuple(line for one in self._foreign for line in one.failed)
        for one in self._foreign:
            one.failed.clear()
        return said

    def _of_tests(self, code: int, parsed, judged) -> bool:
        """Whether a finding is no news: a toy of a test is judged as a program, or a test calls what is not its own."""
        from torchlint.rules.shared.tests import is_certain, is_test

        if self._tests_call:
            return False
        if parsed.facts is not judged and is_test(judged):
            return not is_test(parsed.facts)
        if code not in self._silent_in_tests or not is_test(parsed.facts):
            return False
        # What a program calls in a file that is only named like a test, `from test_prediction import test_prediction`, is part of the program.
        return parsed.facts is judged or is_certain(parsed.facts)

    def _finding(self, report, filename: str, path: str) -> Finding:
        rule = self._by_code[report.code]
        names = {path: filename}
        # Other files are named as this one was: the same finding, met from two files, is then told once.
        other = str if os.path.isabs(filename) else _relative

        def named(at):
            return msgspec.structs.replace(at, filename=names.get(at.filename) or other(at.filename))

        def place(site):
            return named(site.location())

        related = tuple(Related(place(site), words) for site, words in report.related)
        fix = report.mend.fix() if report.mend is not None else None
        if fix is not None:
            edits = tuple(msgspec.structs.replace(edit, location=named(edit.location)) for edit in fix.edits)
            fix = msgspec.structs.replace(fix, edits=edits)
        message, help = report.words or (rule.message or rule.summary, rule.help)
        return Finding(
            code=f"TL{rule.code:03d}",
            name=rule.name,
            message=fill(message, report.roles),
            location=place(report.site),
            group=rule.group,
            severity=rule.severity,
            help=fill(help, report.roles),
            url=rule.url,
            related=tuple(item for item in dict.fromkeys(related)),
            fix=fix,
        )


# One mistake, two numbers: where both say the same line, the first is the one to act on.
_PREFERRED = {123: (114,), 116: (502,), 130: (101, 102), 102: (101,), 703: (112,)}


def _settled(findings) -> Iterator[Finding]:
    """Leaves out what another finding on the same line says better."""
    findings = list(findings)
    better: set[tuple[int, str, int]] = set()
    for finding in findings:
        for other in _PREFERRED.get(finding.number, ()):
            better.add((other, finding.location.filename, finding.location.row))
    for finding in findings:
        if (finding.number, finding.location.filename, finding.location.row) not in better:
            yield finding


def _called(rules: Sequence[Rule]) -> Iterator[str]:
    """The names that `call` forms of pages speak of."""
    for rule in rules:
        for table in rule.forms.get("call", ()):
            yield from [table["name"]] if isinstance(table["name"], str) else table["name"]


_ROLE = re.compile(r"\{(\w+)\}")
_NO_NAME = re.compile(r"`((?:the|this|an|a) [a-z][a-z ]{1,30})(?:\(\.\.\.\))?`(?!\w)")  # words of ours for what the program has no short name for


def fill(template: str, roles: dict[str, str]) -> str:
    """A page's message with the user's words in it; a role that is not known reads as its own name. No `str.format`: a page may
    come with the tree, and format's own language reaches into objects and fills the memory."""
    return _NO_NAME.sub(r"\1", _ROLE.sub(lambda found: roles.get(found[1], found[1]), template))


def _relative(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
