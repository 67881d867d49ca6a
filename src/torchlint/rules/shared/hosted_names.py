"""Names of transformers that are gone from every release that the project can run on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import Gone, release
from torchlint.catalogue.hosted import gone_names
from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.shared.asking import asks_first
from torchlint.rules.shared.hosted_arguments import keywords_given
from torchlint.rules.shared.written_names import calls, imports

_INSTEAD = {
    "transformers.AdamW": "torch.optim.AdamW",
    "transformers.AutoModelForVision2Seq": "transformers.AutoModelForImageTextToText",
    "transformers.AutoModelWithLMHead": "transformers.AutoModelForCausalLM",
}


def gone(view: View) -> Iterator[tuple[Site, dict[str, str]]]:
    """`from transformers import AdamW` in a project that asks for a later release, or in a file that uses one."""
    table = gone_names()
    named = [(event.site, name) for event, name in calls(view) if not event.guards and isinstance(event.site.node.func, cst.Attribute)]
    for site, name in (*imports(view, table.get), *named):
        found = table.get(name)
        if found is None or asks_first(site):
            continue
        package = name.partition(".")[0]
        why = _later(view, site, package, found)
        if why is not None:
            then = f"; use `{_INSTEAD[name]}`" if name in _INSTEAD else ""
            yield site, {"name": name, "package": package, "after": found.after, "by": found.by, "then": f", and {why}{then}"}


def _later(view: View, site: Site, package: str, found: Gone) -> str | None:
    """What says that the program runs on a release without the name."""
    lowest = view.releases.get(package)
    if lowest is not None and lowest >= release(found.by):
        return "the project asks for {} {}.{} at least".format(package, *lowest)
    for there, name, word, span in keywords_given(view):
        if there.parsed.facts is site.parsed.facts and name.startswith(package + ".") and release(span.first) >= release(found.by):
            return f"`{word}` in this file came with {span.first}"
    return None
