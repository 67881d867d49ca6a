"""Whether a call can be of another scheduler than the one that was seen: where an option decides, the call asks for it."""

from __future__ import annotations

import re

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance


def may_be_another(event: Event, made: Instance) -> bool:
    """Whether the scheduler was built under a condition that the call does not stand under, or the call stands under a question of
    which kind it is."""
    return any(guard not in event.guards for guard in made.under) or any(asks_which(site) for site, _ in event.guards)


def asks_which(site: Site) -> bool:
    """Whether a condition asks which kind of scheduler it is."""
    return bool(re.search(r"isinstance|plateau|type\(|__class__", site.text(), re.IGNORECASE))
