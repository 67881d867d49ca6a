"""The first batch of a language model as its loss sees it: what is told of it in a terminal, in a notebook, and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

import msgspec

from torchlint.report import clean
from torchlint.report.style import coloured
from torchsan.own import io
from torchsan.report.page.code import with_code
from torchsan.report.page.numbers import short

NONE = "no batch of a language model was seen"
# Why there is none, as far as the first forwards tell.
NO_FORWARD = "no forward with gradients has run yet"
NO_IDS = "the first forwards with gradients were given no ids (whole numbers in rows of several)"
NO_TARGET = "a forward was given ids, and no backward of a loss that is looked at has come after it"
NOT_THESE = "the loss asks neither for the ids that the forward was given nor for as many classes as the model embeds"
_LOOKED_FOR = (
    "looked for is a forward that is given ids, and after it torch's cross_entropy or nll_loss, or a model's own loss of `labels`, that asks for "
    "these ids, moved or not, or for as many classes as the model embeds"
)
_ROWS, _RUNS, _HEAD, _TAIL = 2, 14, 100, 50  # of what a terminal shows: rows, runs of a row, characters of a run
_WIDE = 16  # letters of the names in front of facts
_READERS = {"Letters": "the program's own table of texts"}
RELATIONS = {
    "next": "the input moved by one: each place is asked for the token after it",
    "same": "the input itself, place by place: nothing is moved, each place is asked for the token that it was given",
    "second": "the input moved by two: moved by hand, it may be, and moved again by the model",
    "filled in": "stands in the places of the input: tokens that are to be filled in",
    "other": "another text than the input",
}


class Run(msgspec.Struct, frozen=True):
    """Neighbouring tokens of one kind.

    `text` is the whole of them or their beginning, `end` then their end, with `left_out` tokens between. `role` names special
    tokens ("eos", "pad"), of which there are `times` in a row. `counts` says whether the loss asks for them; None in an
    input that is shown beside another text.
    """

    text: str
    counts: bool | None
    role: str = ""
    times: int = 1
    left_out: int = 0
    end: str = ""


class Group(msgspec.Struct, frozen=True):
    """A group of an optimizer in its first step. `whole` is the rate that a schedule starts from, where it has one."""

    optimizer: str
    rate: float | None
    whole: float | None
    decay: float | None
    values: int
    learning: int
    dtypes: tuple[str, ...]


class Parameters(msgspec.Struct, frozen=True):
    """What trains: values of parameters. `adapters` are those of them that an adapter brought; `unknown` require a gradient
    and are in no optimizer; `dtypes` and `frozen_dtypes` are told the commonest first."""

    trained: int
    frozen: int
    adapters: int
    unknown: int
    dtypes: tuple[str, ...]
    frozen_dtypes: tuple[str, ...]
    groups: tuple[Group, ...]


class FirstBatch(msgspec.Struct):
    """What was seen of the first batch. `relation` is one of RELATIONS; `step` are the counted tokens of each batch of the first
    step, as far as they are known."""

    model: str
    rows: int
    length: int
    counted: int
    asked: int
    padding: int | None
    relation: str
    moved_by_model: bool
    tokenizer: str
    computed_in: str
    shown: list[list[Run]]
    step: list[int]
    parameters: Parameters | None = None
    padding_counts: int = 0  # of the counted tokens


def facts(batch: FirstBatch) -> list[tuple[str, str]]:
    """What is said beside the tokens: a name and a sentence each."""
    told = [("target", RELATIONS[batch.relation] + (" (the model moves its `labels` itself)" if batch.moved_by_model else ""))]
    padding = "" if batch.padding is None else f"; {batch.padding:,} of the input are padding"
    if batch.padding and batch.padding_counts:
        padding += f", and {batch.padding_counts:,} of these count"
    first = " (all but the first of each row, with nothing before it)" if _all_but_the_first(batch) else ""
    rows = f"{_many(batch.rows, 'row')} of {_many(batch.length, 'token')}"
    told.append(("batch", f"{rows}, {batch.counted:,} of {batch.rows * batch.length if first else batch.asked:,} count for the loss{first}{padding}"))
    if not batch.counted:
        told.append(("loss", "no token counts: the loss has nothing to learn from in this batch"))
    if batch.step:
        several = f" ({', '.join(f'{one:,}' for one in batch.step[:8])}{' …' if len(batch.step) > 8 else ''})" if len(batch.step) > 1 else ""
        told.append(("step", f"{_many(len(batch.step), 'batch', 'batches')} in the first step, {_many(sum(batch.step), 'token')} that count{several}"))
    return [*told, *_of_parameters(batch)]


def _all_but_the_first(batch: FirstBatch) -> bool:
    return batch.relation == "next" and batch.rows * (batch.length - 1) == batch.counted <= batch.asked


def _of_parameters(batch: FirstBatch) -> Iterator[tuple[str, str]]:
    parts = batch.parameters
    if parts is None:
        yield "trained", "not known: no step of an optimizer was seen"
        return
    whole = parts.trained + parts.frozen
    share = f" ({short(100 * parts.trained / whole)} %)" if parts.frozen else ""
    inside = "all" if parts.adapters == parts.trained else f"{parts.adapters:,}"
    adapters = f", {inside} of them in adapters" if parts.adapters else ""
    unknown = f"; {parts.unknown:,} of them are in no optimizer that was seen" if parts.unknown else ""
    yield "trained", f"{parts.trained:,} of {whole:,} values{share}{adapters}, kept in {' and '.join(parts.dtypes) or 'nothing'}{unknown}"
    if parts.frozen:
        yield "frozen", f"{parts.frozen:,} values, kept in {' and '.join(parts.frozen_dtypes)}"
    if batch.computed_in:
        yield "computed", f"in {batch.computed_in} by autocast"
    for number, group in enumerate(parts.groups[:6]):
        which = "" if len(parts.groups) == 1 else f"group {number}: "
        rate = "on the device" if group.rate is None else short(group.rate)
        if group.whole is not None and group.rate is not None and group.whole != group.rate:
            rate += f" in the first step (a schedule scales {short(group.whole)})"
        decay = f", weight decay {short(group.decay)}" if group.decay else ""
        values = f"{group.values:,}" if group.learning == group.values else f"{group.learning:,} of {group.values:,}"
        yield group.optimizer, f"{which}learning rate {rate}{decay}, {values} values that train, in {' and '.join(group.dtypes)}"
    if len(parts.groups) > 6:
        yield "groups", f"and {len(parts.groups) - 6} more"


def _many(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def head(batch: FirstBatch) -> str:
    """The first line."""
    by = f", read by {_READERS.get(batch.tokenizer, batch.tokenizer)}" if batch.tokenizer else ", as ids (no tokenizer was found: `torchsan.watch(..., tokenizer=tokenizer)` gives one)"
    return clean(f"the first batch of {batch.model}, as the loss sees it{by}")


def shown(run: Run, most: tuple[int, int] | None = None) -> str:
    """A run as text on one line; `most` characters of its beginning and end."""
    text, end = _plain(run.text), _plain(run.end)
    if run.role:
        return f"⟨{clean(run.role)} {text}⟩" + (f" ×{run.times}" if run.times > 1 else "")
    if run.left_out:
        return f"{text[:most[0]] if most else text} … {run.left_out:,} tokens … {end[-most[1]:] if most else end}"
    if most is not None and len(text) > sum(most):
        return f"{text[:most[0]]} … {text[-most[1]:]}"
    return text


def _plain(text: str) -> str:
    return clean(text.replace("\r\n", "\n").replace("\n", "⏎").replace("\t", "⇥"))


_WORDS = {True: ("counts", ""), False: ("masked", "dim"), None: ("input", "")}


def lines(batch: FirstBatch) -> list[list[tuple[str, str]]]:
    """The lines of a terminal: pieces of text with their styles."""
    told: list[list[tuple[str, str]]] = [[("torchsan: ", ""), (head(batch), "bold")]]
    last = -1
    for number, row in _numbered(batch.shown):
        if number >= _ROWS:
            break
        is_target = number == last  # of the input that is shown above it
        last = number
        for at, (counts, runs) in enumerate(_alike(row)[:_RUNS]):
            word, style = _WORDS[counts]
            label = f"row {number}" if at == 0 and not is_target else ""
            line = [(f"  {label:<8}", "bold"), (f"{word:<6} ", "green" if counts else "dim"), ("│ ", "dim")]
            for run in runs:
                line.append((shown(run, (_HEAD, _TAIL)), "cyan" if run.role and counts is not False else style))
            told.append(line)
        if (more := len(_alike(row)) - _RUNS) > 0:
            told.append([(f"  {'':<8}and {more} more stretches of this row", "dim")])
    beside = facts(batch)
    wide = min(max(8, *(len(name) for name, _ in beside)), _WIDE)
    for name, text in beside:
        told.append([(f"  {clean(name):<{wide}} ", "bold"), (clean(text), "")])
    return told


def _numbered(rows: Sequence[list[Run]]) -> Iterator[tuple[int, list[Run]]]:
    """Rows with their numbers: an input that is shown beside another text has one with it."""
    number = -1
    before: list[Run] = []
    for row in rows:
        number += not (before and before[0].counts is None)
        before = row
        yield number, row


def _alike(row: Sequence[Run]) -> list[tuple[bool | None, list[Run]]]:
    """Runs of a row that count alike, together."""
    found: list[tuple[bool | None, list[Run]]] = []
    for run in row:
        if found and found[-1][0] is run.counts:
            found[-1][1].append(run)
        else:
            found.append((run.counts, [run]))
    return found


def as_text(batch: FirstBatch) -> str:
    """All of it, uncoloured."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines(batch))


def tell(batch: FirstBatch, out: TextIO) -> None:
    """Print it, coloured where that is wanted."""
    if not coloured(out):
        text = as_text(batch)
        encoding = getattr(out, "encoding", None) or "utf-8"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True, force_terminal=True, force_jupyter=False)
    for line in lines(batch):
        console.print(Text.assemble(*line))


def as_html(batch: FirstBatch) -> str:
    """The rows and the facts as HTML, everything escaped. Classes are those of the page's style."""
    from markupsafe import Markup, escape

    out = io.StringIO()
    for row in batch.shown:
        out.write('<p class="tokens">')
        for run in row:
            kind = {True: "counts", False: "masked", None: "given"}[run.counts] + (" role" if run.role else "")
            title = {True: "counts for the loss", False: "does not count for the loss", None: "input"}[run.counts]
            out.write(str(Markup('<span class="{}" title="{}">').format(kind, title)))
            text = shown(run).replace("⟨", "", 1).replace("⟩", "", 1) if run.role else shown(run)
            out.write(str(escape(text).replace("⏎", Markup("<i>⏎</i><br>"))))
            out.write("</span>")
        out.write("</p>")
    out.write('<table class="list facts">')
    for name, text in facts(batch):
        out.write(str(Markup("<tr><th>{}</th><td>{}</td></tr>").format(clean(name), with_code(clean(text)))))
    out.write("</table>")
    return out.getvalue()


_STYLE = """<style>
.torchsan-batch .tokens { font-family: monospace; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.6; }
.torchsan-batch .counts { background: rgba(46, 160, 67, .25); } .torchsan-batch .masked { opacity: .5; }
.torchsan-batch .role { border: 1px solid; border-radius: 4px; font-size: 85%; }
.torchsan-batch th, .torchsan-batch td { text-align: left; }
</style>"""


_KEY = (
    '<small><span class="counts">marked</span> tokens count for the loss, <span class="masked">dimmed</span> ones do not; '
    '<span class="role">framed</span> ones are special</small>'
)


class Shown:
    """What `san.batch()` gives: told as text or, in a notebook, as HTML. `batch` is None where none was seen; `why` says why, then."""

    def __init__(self, batch: FirstBatch | None, why: str = NO_FORWARD):
        self.batch, self.why = batch, why

    def __repr__(self) -> str:
        return f"torchsan: {NONE}: {self.why}\n  {_LOOKED_FOR}" if self.batch is None else as_text(self.batch)

    def _repr_html_(self) -> str:
        from markupsafe import escape

        if self.batch is None:
            return f"<div>torchsan: {escape(NONE)}: {escape(self.why)}<br><small>{with_code(_LOOKED_FOR)}</small></div>"

        return f'{_STYLE}<div class="torchsan-batch"><b>torchsan</b> · {escape(head(self.batch))}{as_html(self.batch)}{_KEY}</div>'
