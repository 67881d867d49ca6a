"""What the pytest plug-in does when a test is watched. Imports torch; the plug-in imports this only then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from torch import nn
from torch.optim import Optimizer

from torchlint.findings import Finding
from torchsan.options import OptionError
from torchsan.report import printing
from torchsan.watcher import Watch, watch

_OPTIONS = ("select", "ignore", "level", "extend_rules")


class Watches:
    """The watches over one test. It is what the fixture gives: call it, or its `watch`, with models."""

    def __init__(self, item: Any):
        self._item = item
        self._running: list[Watch] = []
        self._all: list[Watch] = []
        self._given: list[Any] = []
        self._base = str(item.config.rootpath)
        self._options = _marked(item)

    def watch(self, *models: nn.Module | Optimizer, **options: Any) -> Watch:
        """Watch these until the test ends. Options are those of `torchsan.watch`, before those of the marker.

        Raises:
            OptionError: an option that does not exist or has a wrong value.
            TypeError: something given is neither a module nor an optimizer.
        """
        made = watch(*models, **{"on_finding": "collect", **self._options, **options})
        self._all.append(made)
        self._running.append(made.start())
        self._given.extend(models)
        return made

    __call__ = watch

    def start_all(self) -> None:
        """Watch whatever the test uses."""
        if not self._all:
            self.watch()

    def look_at_fixtures(self) -> None:
        """Models that fixtures of a wider scope built, before the watch began, are watched too."""
        if not self._running or self._given:
            return
        values = [*getattr(self._item, "funcargs", {}).values(), *_attributes(getattr(self._item, "instance", None))]
        things = [value for value in values if isinstance(value, (nn.Module, Optimizer))]
        if things:
            self._running[0].add(*things)

    def stop(self, error: BaseException | None = None) -> None:
        """Stop watching; `error` is what ended the test."""
        while self._running:
            self._running.pop().stop(error)

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, each once, however many watches saw it."""
        found: dict[Any, Finding] = {}
        for one in self._all:
            for finding in one.findings:
                found.setdefault((finding.code, finding.location, finding.message), finding)
        return list(found.values())

    def report(self) -> str:
        """All findings as text."""
        steps = printing.counted(max((one.steps for one in self._all), default=0), "optimizer step")
        head = f"torchsan: {printing.counted(len(self.findings), 'finding')} in {steps}"
        return f"{head}\n\n{printing.as_text(self.findings, self._base)}"

    def plain(self) -> list[dict[str, Any]]:
        """The findings in plain types, for the way between processes."""
        return [msgspec.to_builtins(finding) for finding in printing.shortened(self.findings, self._base)]


def _marked(item: Any) -> dict[str, Any]:
    """Options of the test's markers, the nearest first."""
    options: dict[str, Any] = {}
    for mark in item.iter_markers("torchsan"):
        unknown = [key for key in mark.kwargs if key not in _OPTIONS]
        if mark.args or unknown:
            what = f"no option {unknown[0]!r}" if unknown else "options go by their names"
            pytest.fail(f"@pytest.mark.torchsan: {what}; there are {', '.join(_OPTIONS)}", pytrace=False)
        options = {**mark.kwargs, **options}
    reason = None
    try:
        watch(**options)
    except OptionError as error:
        reason = str(error).removeprefix("watch(): ")
    if reason is not None:
        pytest.fail(f"@pytest.mark.torchsan: {reason}", pytrace=False)
    return options


def _attributes(instance: Any) -> Iterator[Any]:
    yield from getattr(instance, "__dict__", {}).values()


def summary(found: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[str]:
    """Every mistake once, with the tests that showed it."""
    tests: dict[tuple, list[str]] = {}
    for node, findings in found:
        for plain in findings:
            finding = msgspec.convert(plain, Finding)
            at = finding.location
            key = (at.filename, at.row, at.column, finding.code, finding.name, finding.message)
            tests.setdefault(key, []).append(node)
    for (filename, row, column, code, name, message), nodes in sorted(tests.items()):
        yield f"{filename}:{row}:{column}: {code} {name}: {message}"
        for node in list(dict.fromkeys(nodes))[:3]:
            yield f"    {node}"
        if len(set(nodes)) > 3:
            yield f"    and {printing.counted(len(set(nodes)) - 3, 'test')} more"
