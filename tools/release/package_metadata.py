"""Hatchling's hook for what the package tells of itself: its addresses, and README with links that lead somewhere from there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<before>!?\[[^\]]*\]\()(?P<target>(?!https?://|#)[^)\s]+)(?P<after>\))")


class PackageMetadata(MetadataHookInterface):
    """Fills `urls` and `readme` from src/torchlint/addresses.py, the one place that has addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """While the addresses are empty there are no urls, and README is taken as it is."""
        told = runpy.run_path(str(Path(self.root, "src", "torchlint", "addresses.py")))
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["urls"] = urls(told["SITE"], told["REPOSITORY"])
        metadata["readme"] = {"content-type": "text/markdown", "text": linked(text, told["REPOSITORY"])}


def urls(site: str, repository: str) -> dict[str, str]:
    """`[project.urls]`; empty while both addresses are."""
    found = {}
    if site:
        found |= {"Documentation": f"{site}/"}
    if repository:
        found |= {
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        }
    return found


def linked(text: str, repository: str) -> str:
    """`text` with its links to files of the repository made whole; as it is while there is no address."""
    if not repository:
        return text

    def whole(link: re.Match[str]) -> str:
        kind = "raw" if link["before"].startswith("!") else "blob"
        return f"{link['before']}{repository}/{kind}/main/{link['target']}{link['after']}"

    return _LINK.sub(whole, text)
