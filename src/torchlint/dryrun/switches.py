"""Switches of the command line that cannot be thrown: `add_argument("--use-ema", action="store_true", default=True)` is always on."""

from __future__ import annotations

from torchlint.dryrun.values import Const, Opaque, Value

OF_PARSERS = frozenset({"add_argument", "set_defaults", "parse_args"})
_GIVES = {"store_true": True, "store_false": False}


class Switches:
    """The part of a run that knows a program's switches. See `interpreter.Run` for the state it works on."""

    def hear_switch(self, name: str, args, kwargs, owner: Value, made: Opaque) -> None:
        """Notes what a call of a parser's says of a switch, and what `parse_args` gives for those that are known."""
        if name == "add_argument":
            gives, default = _GIVES.get(_text(kwargs.get("action"))), kwargs.get("default")
            if gives is not None and isinstance(default, Const) and default.value is gives:
                self.switches.setdefault(id(owner), {})[_dest(args, kwargs)] = default
                self.keep.append(owner)
        elif name == "set_defaults":
            for given in kwargs:
                self.switches.get(id(owner), {}).pop(given, None)
        elif name == "parse_args":
            for switch, value in self.switches.get(id(owner), {}).items():
                self.store.set(made, switch, value)


def _dest(args, kwargs) -> str:
    """What argparse calls an option: `dest`, or its first long name."""
    options = [_text(arg) or "" for arg in args]
    first = next((option for option in options if option.startswith("--")), options[0] if options else "")
    return _text(kwargs.get("dest")) or first.lstrip("-").replace("-", "_")


def _text(value: Value | None) -> str | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
