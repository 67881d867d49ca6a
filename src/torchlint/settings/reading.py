"""The settings of one run, put together: a file, those that it extends, and what the command line says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from torchlint.settings.config import Config, Layer
from torchlint.settings.keys import Settings, parse_version
from torchlint.settings.layers import read_layer
from torchlint.settings.overrides import Overrides

_MOST_LAYERS = 20
_ADDED = ("extend-exclude", "extend-rules", "unfixable")


def read_config(path: Path, overrides: Overrides | None = None) -> Config:
    """The settings in one file, with those that it extends, and what is laid over them.

    Raises:
        ConfigError: a file cannot be read, is not TOML, or holds an unknown key or a value of the wrong type.
    """
    return config_of(Path(os.path.abspath(path)).parent, path, _chain(path), overrides or Overrides())


def config_of(root: Path, path: Path | None, layers: Sequence[Layer], overrides: Overrides) -> Config:
    """The settings that files make, the strongest first, with the options of a command over them.

    Raises:
        ConfigError: `cache-dir` leads out of the project.
    """
    data: dict[str, Any] = {}
    for layer in reversed(layers):
        data = _merged(data, _placed(layer, root))
    for layer in overrides.inline:
        data = {**data, **layer.data}
    data = overrides.over(data, root)
    settings = msgspec.convert(data, Settings)
    config = Config(root, path, layers=(*reversed(overrides.inline), *layers))
    from torchlint.settings.requirements import required, without_torch

    releases = required(root)
    if settings.torch_version is not msgspec.UNSET:
        releases["torch_version"] = parse_version(settings.torch_version)
        releases["newest"] = without_torch(releases["newest"])
    return msgspec.structs.replace(
        config,
        select=_or_none(settings.select),
        extend_select=settings.extend_select,
        ignore=settings.ignore,
        per_file_ignores=settings.per_file_ignores,
        extend_per_file_ignores=settings.extend_per_file_ignores,
        fixable=_or_none(settings.fixable),
        unfixable=settings.unfixable,
        exclude=settings.exclude + settings.extend_exclude,
        **releases,
        severity=settings.severity,
        fail_on=settings.fail_on,
        unused_noqa=settings.unused_noqa,
        output_format=_or_none(settings.output_format),
        extend_rules=settings.extend_rules,
        strict_tests=settings.strict_tests,
        cache_dir=None if settings.cache_dir is msgspec.UNSET else _inside(config, "cache-dir", settings.cache_dir),
    )


def _or_none(value: Any) -> Any:
    return None if value is msgspec.UNSET else value


def _chain(path: Path) -> list[Layer]:
    """A settings file and those that it extends, one after the other.

    Raises:
        ConfigError: one of them cannot be used, or they extend each other in a circle.
    """
    layers, seen = [read_layer(path)], {os.path.realpath(path)}
    while "extend" in (last := layers[-1]).data:
        named = last.data["extend"]
        if "\0" in named:
            raise last.complain("extend", "extend: not a path", named)
        base = last.path.parent / Path(named).expanduser() if last.path is not None else Path(named)
        real = os.path.realpath(base)
        if real in seen or len(layers) == _MOST_LAYERS:
            raise last.complain("extend", f"extend: {named!r} leads back to a file that extends this one", named)
        if not os.path.isfile(base):
            raise last.complain("extend", f"extend: there is no file {named!r}", named)
        seen.add(real)
        layers.append(read_layer(Path(os.path.normpath(base))))
    return layers


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """What a file says together with the one that it extends. Its own `select` begins anew: what the other one ignores, or
    selects besides, does not hold then."""
    data = {**base, **over}
    if "select" in over:
        data |= {key: over.get(key, []) for key in ("ignore", "extend-select")}
    else:
        data |= {key: [*base.get(key, ()), *over.get(key, ())] for key in ("ignore", "extend-select")}
    for key in _ADDED:
        if key in base or key in over:
            data[key] = [*base.get(key, ()), *over.get(key, ())]
    table = {**base.get("extend-per-file-ignores", {}), **over.get("extend-per-file-ignores", {})}
    return {**data, "extend-per-file-ignores": table} if table else data


def _placed(layer: Layer, root: Path) -> dict[str, Any]:
    """What a file says, with folders of rules seen from where it lies. Patterns hold for the project, wherever they stand."""
    if layer.path is None or "extend-rules" not in layer.data:
        return layer.data
    folder = os.path.dirname(os.path.abspath(layer.path))
    if folder == str(root):
        return layer.data
    return {**layer.data, "extend-rules": [os.path.join(folder, entry) for entry in layer.data["extend-rules"]]}


def _inside(config: Config, key: str, value: str) -> Path:
    """The path of a folder in the project. Who takes over a tree takes over its settings: they must not lead writes elsewhere."""
    try:
        inside = (config.root / value).resolve().is_relative_to(config.root.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside or "\0" in value:
        raise config.complain(key, f"{key}: {value!r} is not in the project; give --{key} to have it elsewhere")
    return config.root / value


