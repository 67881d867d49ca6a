"""torchlint asked from Python, once: `torchlint.check`."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from torchlint.files.disk import as_saved
from torchlint.run.discovery import Discovery, File
from torchlint.run.outcomes import together
from torchlint.run.projects import Projects
from torchlint.run.runner import Runner
from torchlint.run.session import Findings
from torchlint.settings.choice import Choice, paths_of
from torchlint.settings.config import Config


def check(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    *,
    text: str | bytes | None = None,
    filename: str | PathLike[str] = "-",
    select: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] | None = None,
    extend_select: str | Sequence[str] | None = None,
    torch_version: str | None = None,
    settings: str | PathLike[str] | None = None,
    isolated: bool = False,
    cache: bool = True,
    jobs: int = 1,
) -> Findings:
    """The findings that the command would print: `# noqa` and the settings are heeded.

    Args:
        paths: files and folders; the working folder where neither these nor `text` are given.
        text: a text to be judged in their place.
        filename: what the text is called: imports, settings and the kind of file (.ipynb) go by it.
        select: the rules, as for `--select`: one text with commas, or several texts.
        ignore: as for `--ignore`.
        extend_select: as for `--extend-select`.
        torch_version: the torch release to judge by, such as "2.6".
        settings: the settings file; None looks for it as the command does.
        isolated: heed no settings file.
        cache: read and write the cache.
        jobs: how many processes may be used.

    Raises:
        ConfigError, PageError, SelectorError: the settings, a rule page or a selector cannot be used. All are ValueErrors.
        FileNotFoundError: one of `paths` is not there.
        TypeError: both `paths` and `text` are given.
        ValueError: `torch_version` is no release.
    """
    choice = Choice(select, ignore, extend_select, torch_version, settings, isolated)
    if text is not None:
        if paths is not None:
            raise TypeError("check() takes paths or a text, not both")
        raw = text if isinstance(text, bytes) else as_saved(text)
        runner = Runner(*choice.load([Path(filename)]), lookup=choice.lookup)
        return Findings(runner.run_text(os.fspath(filename), raw, use_cache=cache))
    wanted = paths_of("." if paths is None else paths)
    for path in wanted:
        if not os.path.lexists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    places = [Path(path) for path in wanted]
    made = choice.load(places)
    discovery = Discovery(made[0], nearest=choice.nearest(made[0], places))
    shared: dict[int, tuple[Config, list[File]]] = {id(made[0]): (made[0], [])}
    discovered = discovery.find(wanted)
    for file in discovered:
        config = discovery.configs.get(file.path, made[0])
        shared.setdefault(id(config), (config, []))[1].append(file)
    projects = Projects(choice.lookup, [path for path in map(os.path.abspath, wanted) if os.path.isdir(path)], discovered)
    outcomes = []
    for config, files in shared.values():
        runner = Runner(*(made if config is made[0] else choice.of(config)))
        runner.projects = projects
        outcomes.append(runner.run_files(files, discovery.problems, jobs=jobs, use_cache=cache))
    return Findings(together(outcomes))
