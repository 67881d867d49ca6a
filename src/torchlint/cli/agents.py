"""Whether a coding agent runs the command, as its environment tells."""

from __future__ import annotations

import os

# AI_AGENT is meant for all of them; the others are what single ones set for the commands that they run.
VARIABLES = (
    "AI_AGENT", "AUGMENT_AGENT", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CURSOR_AGENT", "GEMINI_CLI",
    "OPENCODE",
)


def agent_runs() -> bool:
    """Whether one does."""
    return any(os.environ.get(name) for name in VARIABLES)
