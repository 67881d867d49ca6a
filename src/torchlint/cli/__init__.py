"""The command line: `torchlint [PATHS]`, and `torchlint explain`, `rules`, `config`, `clean`, `server`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from torchlint.cli import arguments
from torchlint.cli.status import FAILED, FINDINGS, INTERRUPTED
from torchlint.files.garbage import only_if_much

# What each lies in.
COMMANDS = {"explain": "explain", "rules": "explain", "config": "config", "clean": "clean", "server": "server"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process where None).

    Returns:
        The exit status: 0 clean, 1 findings, 2 could not run or some file could not be judged, 130 interrupted.
    """
    if argv is None:
        only_if_much()
    args = list(sys.argv[1:] if argv is None else argv)
    sys.stdout, sys.stderr = sys.stdout or open(os.devnull, "w"), sys.stderr or open(os.devnull, "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter must not end the run
    try:
        if args and args[0] in COMMANDS:
            from importlib import import_module

            name = args.pop(0)
            command = getattr(import_module(f"torchlint.cli.{COMMANDS[name]}"), name)
        else:
            command = arguments.check
        status = command.main(args, prog_name=_prog_name(command), standalone_mode=False)
        sys.stdout.flush()
        return status or 0
    except click.ClickException as error:
        return _fail(error.format_message() + _from_environment(error, args))
    except (click.exceptions.Abort, KeyboardInterrupt):
        print("torchlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has heard enough; keep Python from complaining of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except OSError as error:
        return _system(error)
    except ValueError as error:
        from torchlint.catalogue.pages import PageError
        from torchlint.cli.baseline import BaselineError
        from torchlint.cli.live import LiveError
        from torchlint.settings.config import ConfigError
        from torchlint.settings.selection import SelectorError

        if isinstance(error, (BaselineError, PageError, ConfigError, LiveError, SelectorError)):
            return _fail(str(error))
        return _internal(error)
    except Exception as error:
        return _internal(error)


def _prog_name(command: click.Command) -> str:
    return "torchlint" if command is arguments.check else f"torchlint {command.name}"


def _from_environment(error: click.ClickException, args: Sequence[str]) -> str:
    """Where a value comes from that nobody typed."""
    variable = getattr(getattr(error, "param", None), "envvar", None)
    typed = variable and any(arg.startswith(option) for arg in args for option in error.param.opts)
    return f" (from {variable})" if variable and os.environ.get(variable) and not typed else ""


def _fail(message: str) -> int:
    from torchlint.report import clean

    print(f"torchlint: error: {clean(message)}", file=sys.stderr)
    return FAILED


def _system(error: OSError) -> int:
    """What the system refused: a full disk behind standard output, a working folder that is gone."""
    if os.environ.get("TORCHLINT_DEBUG"):
        raise error
    try:
        sys.stdout.flush()
    except OSError:
        # Python tries again at exit, and would complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    what = (error.strerror or str(error) or type(error).__name__).lower()
    return _fail(f"{error.filename}: {what}" if error.filename else f"cannot write: {what}")


def _internal(error: Exception) -> int:
    if os.environ.get("TORCHLINT_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}".split("\n")[0].rstrip(": ")
    return _fail(f"internal error, please report it ({what}); TORCHLINT_DEBUG=1 shows where")


if __name__ == "__main__":
    sys.exit(main())
