"""What `--fix` would make of a document, as edits: applied in memory, judged again, taken back where it does harm."""

from __future__ import annotations

import difflib
import io
import json
import tokenize
from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from torchlint.findings import Finding
from torchlint.fixes.fixer import Fixer
from torchlint.run.runner import Runner
from torchlint.server.answers import Answer
from torchlint.server.documents import rows_of


class _OfRule(Fixer):
    """Mends what one rule says, or all of them where none is named."""

    def __init__(self, runner: Runner, code: str | None, unsafe: bool):
        super().__init__(runner, unsafe)
        self._code = code

    def applicable(self, finding: Finding) -> bool:
        return super().applicable(finding) and self._code in (None, finding.code)


def mended(known: Answer, runner: Runner, code: str | None, unsafe: bool) -> dict[str, list[lsp.TextEdit]]:
    """The edits that mend a document, by the name of the text or cell that they go to. Other documents count as they are on
    disk.

    Args:
        known: what is known of the document.
        runner: judges it.
        code: the rule whose findings are mended; all where None.
        unsafe: by unsafe fixes, too.
    """
    one = known.one
    given = [item for item in known.verdict.findings if item.fix is not None]
    done = _OfRule(runner, code, unsafe).mend(one.path, one.raw, given)
    if done is None:
        return {}
    if one.cells is None:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(done.after).readline)
        texts = {one.uri: done.after.decode(encoding)}
    else:
        cells = json.loads(done.after)["cells"]
        texts = {name: cell["source"] for name, cell in zip(one.cells, cells)}
    edits = {name: list(_edits(one.rows[name], rows_of(text), known)) for name, text in texts.items()}
    return {name: some for name, some in edits.items() if some}


def _edits(old: Sequence[str], new: Sequence[str], known: Answer) -> Iterator[lsp.TextEdit]:
    """What changes, row by row: the cursor and all that is not touched stay where they are."""
    for kind, first, last, begin, stop in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            at = lsp.Range(known.places.end(old, first), known.places.end(old, last))
            yield lsp.TextEdit(at, "".join(new[begin:stop]))
