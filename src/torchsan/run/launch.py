"""Runs a script or module as `python script.py` and `python -m module` do: argv, path, __main__, errors, status."""

from __future__ import annotations

import atexit
import builtins
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_kept: list[Any] = []  # the module that was __main__ before: its names must not be cleared under its feet


class CannotRun(Exception):
    """There is nothing to run; the text says why."""


def script(path: str, args: Sequence[str]) -> Callable[[], None]:
    """Make everything ready to run a file; the function given back runs it.

    Raises:
        CannotRun: there is no such file, or it cannot be read.
    """
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise CannotRun(f"can't open {path!r}: {(error.strerror or str(error)).lower()}") from None
    # Python joins, and does not normalise: ./train.py stays /folder/./train.py in tracebacks.
    name = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    main = ModuleType("__main__")
    loader = SourceFileLoader("__main__", name)
    main.__dict__.update(
        __annotations__={}, __builtins__=builtins, __cached__=None, __file__=name, __loader__=loader, __package__=None,
    )
    sys.argv = [path, *args]
    _first_on_path(os.path.dirname(os.path.realpath(path)))
    return lambda: _run(compile(source, name, "exec", dont_inherit=True), main)


def module(name: str, args: Sequence[str]) -> Callable[[], None]:
    """Make everything ready to run a module by its name; the function given back runs it.

    Raises:
        CannotRun: there is no such module, or it is nothing that can be run.
    """
    _first_on_path(os.getcwd())
    sys.argv = ["-m", *args]  # what packages see that are imported on the way
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError) as error:
        raise CannotRun(f"no module {name!r} to run ({error})") from None
    loader: Any = spec and spec.loader
    # Modules written in C have no code to be run.
    if spec is None or not hasattr(loader, "get_code") or str(spec.origin).endswith(("built-in", *EXTENSION_SUFFIXES)):
        raise CannotRun(f"no module {name!r} to run")
    main = ModuleType("__main__")
    main.__dict__.update(
        __annotations__={}, __builtins__=builtins, __cached__=spec.cached, __file__=spec.origin, __loader__=loader,
        __package__=spec.parent, __spec__=spec,
    )
    sys.argv[0] = spec.origin or name

    def go() -> None:
        _run(loader.get_code(spec.name), main)

    return go


def _first_on_path(folder: str) -> None:
    """Put the program's folder where Python put ours."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0:1] = [folder]


def _run(code: CodeType, main: ModuleType) -> None:
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def shut_down() -> None:
    """End the program as Python does by itself: the callbacks of `threading`, all threads, then the exit callbacks.

    Only for who must choose the exit status after that, which Python knows no way to do. (From Python 3.12 on a program
    can start no thread any more while Python does this; here it still can.)
    """
    shutdown: Callable[[], None] = threading._shutdown  # type: ignore[attr-defined]
    atexit.register(shutdown)  # the last one to be registered is the first one to be called
    hook = sys.unraisablehook

    def told(error: Any) -> None:
        """An error in a callback, told without our own frames."""
        hook(type(error)((error.exc_type, error.exc_value, trimmed(error.exc_traceback), error.err_msg, error.object)))

    sys.unraisablehook = told
    try:
        atexit._run_exitfuncs()
    finally:
        if sys.unraisablehook is told:  # the program may have its own by now
            sys.unraisablehook = hook


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without our own frames: those that started the program, and replaced functions on the way."""
    first = _skip(traceback, (_OWN, "<frozen importlib"))
    at = first
    while at is not None:
        at.tb_next = _skip(at.tb_next, (_OWN,))
        at = at.tb_next
    return first


def _skip(traceback: TracebackType | None, ours: tuple[str, ...]) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(ours):
        traceback = traceback.tb_next
    return traceback


def _trim_chain(error: BaseException) -> None:
    """The same for the errors that this one came of."""
    seen = {id(error)}
    todo = [error.__cause__, error.__context__]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = trimmed(one.__traceback__)
            todo += [one.__cause__, one.__context__]


def pass_on(error: BaseException) -> None:
    """Raise what ended the program so that Python ends as it would have without us: same traceback, through the
    program's own sys.excepthook if it has one, same exit status or signal.
    """
    own = trimmed(error.__traceback__)
    _trim_chain(error)
    if not isinstance(error, SystemExit):
        sys.excepthook = _hook_for(error, own)
    try:
        raise error.with_traceback(own)
    finally:
        # This frame is on the traceback that it would keep alive, and with it all that the program's functions held.
        del error, own


def _hook_for(
    error: BaseException, own: TracebackType | None
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """The hook of now, told the program's own traceback of `error`. It serves once."""
    hook = sys.excepthook

    def told(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        sys.excepthook = hook
        if value is error:
            value, traceback = value.with_traceback(own), own
        hook(kind, value, traceback)

    return told
