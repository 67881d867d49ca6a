"""What a settings file may hold, key by key. It is checked by these types, and `schema.json`, which editors read, is made of
them by `python tools/settings_schema.py`."""
# Without `annotations` of __future__: msgspec would have to evaluate each one at every start.

import re
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from torchlint.catalogue.pages import DEFAULT_GROUPS, GROUPS
from torchlint.findings import Severity
from torchlint.settings.config import CACHE_FOLDER, DEFAULT_EXCLUDES
from torchlint.settings.formats import FORMATS

_RELEASE = r"^\s*(\d{1,6})\.(\d{1,6})(?:\.\d+)?(?:[+a-z].*|\s*)$"

Strings = tuple[str, ...]
Format = Literal[FORMATS]  # type: ignore[valid-type]
Group = Literal[tuple(GROUPS)]  # type: ignore[valid-type]


class Settings(Struct, rename="kebab", forbid_unknown_fields=True, frozen=True):
    """Settings of torchlint: [tool.torchlint] in pyproject.toml, or torchlint.toml."""

    extend: Annotated[str, Meta(
        description="Another settings file that these go on from: what is said here counts, and lists that extend are added.",
        examples=["../base.toml"],
    )] | UnsetType = UNSET
    select: Annotated[Strings, Meta(
        description="The rules to judge by: codes (TL101), prefixes (TL1), groups, names or ALL. By default the groups "
                    f"{' and '.join(DEFAULT_GROUPS)}.",
        examples=[["correctness", "TL6"]],
    )] | UnsetType = UNSET
    extend_select: Annotated[Strings, Meta(description="Rules besides those.", examples=[["performance"]])] = ()
    ignore: Annotated[Strings, Meta(description="Rules to leave out.", examples=[["TL202"]])] = ()
    per_file_ignores: Annotated[dict[str, Strings], Meta(
        description="Rules to leave out in some files, by file pattern.",
        examples=[{"tests/*": ["TL2"]}],
    )] = {}
    extend_per_file_ignores: Annotated[dict[str, Strings], Meta(
        description="The same, besides those of per-file-ignores.",
        examples=[{"tests/*": ["TL2"]}],
    )] = {}
    exclude: Annotated[Strings, Meta(
        description="Files and folders to leave out, instead of the usual ones.", examples=[["third_party"]],
    )] = DEFAULT_EXCLUDES
    extend_exclude: Annotated[Strings, Meta(
        description="Files and folders to leave out, besides the usual ones.", examples=[["third_party"]],
    )] = ()
    torch_version: Annotated[str, Meta(
        description=(
            "The torch release to judge by. By default all that the project's requirements admit: what the newest of them has no more is "
            "told, and nothing is advised that the lowest has not yet."
        ),
        examples=["2.4"],
        pattern=_RELEASE,
    )] | UnsetType = UNSET
    severity: Annotated[dict[Group, Severity], Meta(
        description="error, warning or note, by group of rules.",
        examples=[{"suspicious": "note"}],
        extra_json_schema={"propertyNames": {"enum": list(GROUPS)}},  # which msgspec leaves out
    )] = {}
    fail_on: Annotated[Severity, Meta(
        description="The least severity of findings that gives exit status 1.", examples=["error"],
    )] = Severity.NOTE
    fixable: Annotated[Strings, Meta(
        description="The rules whose findings --fix may mend. By default all.", examples=[["TL132", "TL9"]],
    )] | UnsetType = UNSET
    unfixable: Annotated[Strings, Meta(
        description="Rules whose findings --fix leaves alone.", examples=[["TL901"]],
    )] = ()
    unused_noqa: Annotated[bool, Meta(
        description="Whether `# noqa` comments that hide nothing are findings.", examples=[True],
    )] = False
    output_format: Annotated[Format, Meta(
        description="How findings are printed where --output-format does not say so.", examples=["concise"],
    )] | UnsetType = UNSET
    extend_rules: Annotated[Strings, Meta(
        description="Folders with rule pages of your own.", examples=[["lint/rules"]],
    )] = ()
    strict_tests: Annotated[bool, Meta(
        description="Judge tests as programs are judged. By default, of tests is told what raises, or does nothing.",
        examples=[True],
    )] = False
    cache_dir: Annotated[str, Meta(
        description=f"The folder of the cache, in the project. By default {CACHE_FOLDER}.", examples=[".cache/torchlint"],
    )] | UnsetType = UNSET


KEYS = Settings.__struct_encode_fields__


def parse_version(text: str) -> tuple[int, int] | None:
    """The torch release "2.6" or "2.6.1" as (2, 6); None where the text is no release."""
    found = re.search(_RELEASE, text)
    return (int(found[1]), int(found[2])) if found else None
