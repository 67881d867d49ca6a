"""What the client asks for: its settings, read with care, for everybody writes them by hand."""

from __future__ import annotations

import os
from typing import Any, Literal

import msgspec

from torchlint.settings.selection import nearest

SECTION = "torchlint"


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of a client. Those of the project hold, too: `select` and so on are what the options of the command are."""

    run: Literal["onType", "onSave"] = "onType"
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    torch_version: str | None = None
    config: str | None = None
    isolated: bool = False
    unsafe_fixes: bool = True
    delay: int = 100
    timeout: float = 10

    def choice(self, folder: str) -> dict[str, Any]:
        """The words of a `Session` over a folder, which `config` is seen from."""
        return {
            "select": self.select, "ignore": self.ignore, "extend_select": self.extend_select,
            "torch_version": self.torch_version, "settings": self.config and os.path.join(folder, self.config),
            "isolated": self.isolated,
        }


KEYS = tuple(field.encode_name for field in msgspec.structs.fields(Options))


def read(given: Any) -> tuple[dict[str, Any], list[str]]:
    """The settings that a client has sent, by their names, and what is to be said of those that cannot be used.

    They may stand by themselves or under `torchlint` or `settings`, as clients have it. None is like {}.
    """
    for name in (SECTION, "settings"):
        if isinstance(given, dict) and name in given and name not in KEYS:
            given = given[name]
    if given is None:
        return {}, []
    if not isinstance(given, dict):
        return {}, [f"the settings must be an object with keys such as 'select', not {_shown(given)}"]
    found, complaints = {}, []
    for name, value in given.items():
        if name not in KEYS:
            complaints.append(f"there is no setting {name!r}{nearest(name, KEYS)}")
        elif value is not None:
            try:
                msgspec.convert({name: _as_list(name, value)}, Options)
                if name in ("delay", "timeout") and value < 0:
                    raise msgspec.ValidationError("Expected a number that is not negative")
            except msgspec.ValidationError as error:
                why = str(error).split(" - at ")[0]
                why = why[:1].lower() + why[1:]
                complaints.append(f"the setting {name!r} is left out, {_shown(value)} cannot be used: {why}")
            else:
                found[name] = _as_list(name, value)
    return found, complaints


def made(*layers: dict[str, Any]) -> Options:
    """The options that some layers of settings make, the later over the earlier."""
    return msgspec.convert({name: value for layer in layers for name, value in layer.items()}, Options)


def _as_list(name: str, value: Any) -> Any:
    """Selectors may be written as one text with commas, as on the command line."""
    if name in ("select", "ignore", "extendSelect") and isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."
