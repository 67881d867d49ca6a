"""Changes of a tensor in place that are given their factor first: `p.add_(-lr, p.grad)`."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.catalogue.apis import NUMBER_FIRST
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Instance, Seq
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import second_choice


def numbers_first(view: View) -> Iterator[tuple[Site, str, str]]:
    """The calls, as they are written and as they are to be written."""
    if view.torch_version is not None and view.torch_version < (1, 5):
        return
    told = set()
    for event in view.of("method"):
        if event.name not in NUMBER_FIRST or event.site in told or isinstance(event.subject, (Const, Instance, Seq)):
            continue
        node, parsed = event.site.node, event.site.parsed
        count, keyword = NUMBER_FIRST[event.name]
        if len(node.args) != count or any(arg.keyword is not None or arg.star for arg in node.args) or second_choice(event.site):
            continue
        told.add(event.site)
        first, *rest = (parsed.text(arg.value) for arg in node.args)
        owner = parsed.text(node.func.value)
        short = owner if len(owner) <= _LONG else "tensor"
        yield event.site, f"{short}.{event.name}({first}, ...)", f"{short}.{event.name}({', '.join(rest)}, {keyword}={first})"


_LONG = 30
