"""The pytest plug-in: the fixture `torchsan`, the option `--torchsan`, the marker `torchsan`.

pytest loads this file in every suite of an environment, by its entry point; so it imports nothing heavy before a test
asks for a watch. The work is done in `torchsan.integrations.in_tests`.
"""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torchsan.integrations.in_tests import Watches

_WATCHES = pytest.StashKey["Watches"]()
_FOUND = pytest.StashKey[list]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchsan", "torchsan: mistakes in PyTorch training, seen live")
    group.addoption("--torchsan", action="store_true", help="watch every test; a test with findings fails")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "torchsan(select=None, ignore=None, level=None, extend_rules=None): watch this test, for these mistakes",
    )
    config.stash[_FOUND] = []
    if config.getoption("torchsan") and find_spec("torch") is None:
        raise pytest.UsageError("--torchsan needs torch, which is not installed")


def _watches(item: Any) -> Watches:
    """What this test is watched by; made at the first call."""
    watches = item.stash.get(_WATCHES, None)
    if watches is None:
        from torchsan.integrations.in_tests import Watches

        watches = item.stash[_WATCHES] = Watches(item)
    return watches


@pytest.fixture
def torchsan(request: pytest.FixtureRequest) -> Any:
    """A watch over this test. `torchsan(model)` or `torchsan.watch(model, select=..., ignore=..., level=...)` watches a
    model; more may be given, optimizers too. The test fails on findings, which are in `torchsan.findings`."""
    return _watches(request.node)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    # From here on, so that models are seen which fixtures build.
    if item.config.getoption("torchsan") or item.get_closest_marker("torchsan") is not None:
        _watches(item).start_all()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    watches = item.stash.get(_WATCHES, None)
    if watches is not None:
        watches.look_at_fixtures()
    try:
        result = yield
    except BaseException as error:
        watches = item.stash.get(_WATCHES, None)
        if watches is not None:
            watches.stop(error)
        raise
    watches = item.stash.get(_WATCHES, None)
    if watches is not None:
        watches.stop()
        if watches.findings:
            pytest.fail(watches.report(), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    finally:
        watches = item.stash.get(_WATCHES, None)
        if watches is not None:
            watches.stop()  # where the set-up failed, nobody did
            del item.stash[_WATCHES]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Generator[None, Any, Any]:
    report = yield
    watches = item.stash.get(_WATCHES, None)
    if watches is not None and report.when == "call" and watches.findings:
        report.torchsan = watches.plain()  # travels with the report from xdist's workers
        if call.excinfo is not None and not call.excinfo.errisinstance(pytest.fail.Exception):
            report.sections.append(("torchsan", watches.report()))
    return report


def pytest_runtest_logreport(report: Any) -> None:
    found = getattr(report, "torchsan", None)
    if found and _session:
        _session[-1].stash[_FOUND].append((report.nodeid, found))


_session: list[pytest.Config] = []  # the hook above is not told the configuration


def pytest_sessionstart(session: pytest.Session) -> None:
    _session.append(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    if config in _session:
        _session.remove(config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    found = config.stash.get(_FOUND, [])
    if found:
        from torchsan.integrations.in_tests import summary

        terminalreporter.write_sep("=", "torchsan")
        for line in summary(found):
            terminalreporter.write_line(line)
