"""The objects of SARIF 2.1.0 that are written here, as the specification types them (OASIS, sarif-v2.1.0, section 3).

Fields are written in camel case, and left out where they hold their default. `tests/torchlint/report/test_machine.py` holds a log
against the official schema.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

# A role of a page's message that nobody filled. A page speaks of any program, so there the role's name stands for it.
_ROLE = re.compile(r"\{([a-z_]+)\}")

Level = Literal["none", "note", "warning", "error"]


class Object(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """What all of them are."""


class Message(Object):
    """3.11: words for people."""

    text: str


class RuleText(Object):
    """3.12: words about a rule, in plain text and in Markdown. Roles such as `{loss}` are put down to their names.

    Raises:
        ValueError: a role is left that has no name.
    """

    text: str
    markdown: str | None = None

    @classmethod
    def of(cls, text: str, markdown: str | None = None) -> RuleText:
        """The words of a page."""
        return cls(text=_ROLE.sub(r"\1", text), markdown=markdown)

    def __post_init__(self) -> None:
        if (left := _ROLE.search(self.text)) is not None:
            raise ValueError(f"{left[0]} is filled with nothing in {self.text!r}")


class Configuration(Object):
    """3.50: what a rule's level is by default."""

    level: Level


class ReportingDescriptor(Object):
    """3.49: a rule."""

    id: str
    name: str
    properties: dict[str, Any]
    short_description: RuleText | None = None
    full_description: RuleText | None = None
    help: RuleText | None = None
    help_uri: str | None = None
    default_configuration: Configuration | None = None


class ArtifactLocation(Object):
    """3.4: a file."""

    uri: str


class Region(Object):
    """3.30: lines and columns, both from 1; the end column is the one behind the last."""

    start_line: int
    start_column: int
    end_line: int | None = None
    end_column: int | None = None


class PhysicalLocation(Object):
    """3.29: a place in a file."""

    artifact_location: ArtifactLocation
    region: Region | None = None


class LogicalLocation(Object):
    """3.33: a place in words."""

    name: str
    kind: str


class Location(Object):
    """3.28: a place; `id` and `message` where it stands beside a result."""

    physical_location: PhysicalLocation
    logical_locations: list[LogicalLocation] = []
    id: int | None = None
    message: Message | None = None


class Result(Object):
    """3.27: a finding."""

    rule_id: str
    rule_index: int
    level: Level
    message: Message
    locations: list[Location]
    partial_fingerprints: dict[str, str]
    properties: dict[str, Any]
    related_locations: list[Location] = []
    occurrence_count: int = 1


class Notification(Object):
    """3.58: what could not be judged."""

    level: Level
    message: Message


class Invocation(Object):
    """3.20: how the run went."""

    execution_successful: bool
    tool_execution_notifications: list[Notification] = []


class ToolComponent(Object):
    """3.19: the tool."""

    name: str
    rules: list[ReportingDescriptor]
    information_uri: str | None = None
    version: str | None = None


class Tool(Object):
    """3.18."""

    driver: ToolComponent


class Run(Object):
    """3.14: one run of one tool."""

    tool: Tool
    invocations: list[Invocation]
    column_kind: Literal["unicodeCodePoints", "utf16CodeUnits"]
    results: list[Result]


class Log(Object):
    """3.13: a file."""

    version: Literal["2.1.0"]
    runs: list[Run]
    schema: str = msgspec.field(name="$schema")
