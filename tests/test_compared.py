"""docs/compared-with-ruff.md against what the command has; every option of ruff check that was there stands in it."""

import re
from pathlib import Path

from torchlint.cli import COMMANDS, arguments
from torchlint.report import FORMATS
from torchlint.settings.keys import KEYS

TEXT = (Path(__file__).parents[1] / "docs" / "compared-with-ruff.md").read_text(encoding="utf-8")
# Of `ruff check --help`, 0.17.
RUFF = """
    --fix --unsafe-fixes --show-fixes --diff --watch --fix-only --ignore-noqa --output-format --output-file --target-version --preview
    --extension --statistics --add-noqa --add-ignore --show-files --show-settings --select --ignore --extend-select --per-file-ignores
    --extend-per-file-ignores --fixable --unfixable --extend-fixable --exclude --extend-exclude --respect-gitignore --force-exclude
    --no-cache --cache-dir --stdin-filename --exit-zero --exit-non-zero-on-fix --verbose --quiet --silent --config --isolated --color
""".split()


def rows(title):
    part = TEXT.split(f"## {title}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")][1:]


def names(cell, pattern=r"`(--[a-z-]+)"):
    return re.findall(pattern, cell)


def test_every_option_of_both_is_there():
    theirs = [name for row in rows("Options") for name in names(row[0])]
    ours = [name for row in rows("Options") for name in names(row[1])]
    assert set(RUFF) <= set(theirs)
    known = {name for parameter in arguments.check.params for name in parameter.opts
             if name.startswith("--") and not getattr(parameter, "hidden", False)}
    assert set(ours) == known - {"--version"}


def test_each_row_says_have_lack_or_why_not():
    for title in ("Options", "Commands", "Formats", "Settings", "Environment"):
        for theirs, ours, said in rows(title):
            word = re.match(r"have|lack|on purpose|torchlint alone|ruff|how", said)
            assert word, (theirs, said)
            if word[0] in ("have", "torchlint alone"):
                assert ours
            if word[0] == "lack":
                assert not ours


def test_settings_formats_commands_and_variables_are_there():
    told = {name for row in rows("Settings") for name in names(row[1], "`([a-z-]+)`")}
    assert told == set(KEYS)
    assert set(names(rows("Formats")[0][0], "`([a-z-]+)`")) | {"agent"} == set(FORMATS)
    assert {name for row in rows("Commands") for name in names(row[1], "`torchlint ([a-z]+)")} == set(COMMANDS)
    known = {parameter.envvar for parameter in arguments.check.params if parameter.envvar}
    assert {name for row in rows("Environment") for name in names(row[1], "`(TORCHLINT_[A-Z_]+)`")} == known
