"""Keywords of transformers' trainers and of accelerate that are gone from the releases that a program can run on: the project asks for
a later one, or another keyword of the same file came later."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import release
from torchlint.catalogue.hosted import Span, apart, gone_by, hosted
from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.shared.asking import asks_first
from torchlint.rules.shared.written_names import expected


def found(view: View) -> Iterator[tuple[Site, dict[str, str]]]:
    """`TrainingArguments(evaluation_strategy="epoch")` in a file that also has `use_cache=`, as no release takes both; or in a project
    that asks for a release that takes it no more."""
    given = list(dict.fromkeys(keywords_given(view)))
    told = set()
    for site, name, word, span in given:
        package = name.partition(".")[0]
        by = gone_by(package, span)
        if by is None or id(site.node) in told:
            continue
        lowest = view.releases.get(package)
        newer = next(
            (f"`{other}` in this file came with {came.first}" for there, other_name, other, came in given
             if there.parsed is site.parsed and other_name.startswith(package + ".") and apart(package, span, came)),
            None,
        )
        if lowest is not None and lowest >= release(by):
            newer = "the project asks for {} {}.{} at least".format(package, *lowest)
        if newer is None:
            continue
        told.add(id(site.node))
        short = name.rpartition(".")[2]
        problem = f"`{short}` takes no `{word}` any more: {package} {span.last} did, {package} {by} does not, and {newer}"
        mend = f"write `{span.instead}`, which took its place" if span.instead else f"leave out `{word}`"
        yield site, {"problem": problem, "mend": mend}


def keywords_given(view: View) -> Iterator[tuple[Site, str, str, Span]]:
    """The keywords that came or went, where no question to the release and no `try` stands around them."""
    for event in view.of("call"):
        spans = hosted().keywords.get(event.name)
        node = event.site.node
        if not spans or not isinstance(node, cst.Call) or event.guards or expected(event.site) or asks_first(event.site):
            continue
        for arg in node.args:
            span = spans.get(arg.keyword.value) if arg.keyword is not None else None
            if span is not None:
                yield Site(event.site.parsed, arg), event.name, arg.keyword.value, span
