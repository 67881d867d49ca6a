"""What was not there to be seen, where a watch has seen no step: to find nothing and to see nothing are not the same."""

from __future__ import annotations

from typing import Any

from torchsan.report.printing import counted

NEVER = "the watch was never started (`with torchsan.watch(model):` around the training, or its `start()`, starts it)"


def why(ledger: Any) -> str:
    """Why there was no step, by the watch's ledger."""
    passes = counted(ledger.backwards, "backward call")
    if ledger.met_any:
        return f"an optimizer was seen, and no step of it ({passes})"
    if ledger.backwards:
        return f"no optimizer was seen in {passes}: of weights that are updated by hand only a part can be judged"
    return "no optimizer was seen, and no backward call"
