"""Places of nodes: the same as libcst's own, in half the time."""

import random

import libcst as cst
import pytest
from libcst.metadata import PositionProvider

from tests.torchlint.support import ROOT
from torchlint.dryrun import source_text
from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import children, walk
from torchlint.sieve.facts import FileFacts, Unit

FILES = sorted((ROOT / "src" / "torchlint" / "dryrun").glob("*.py")) + sorted((ROOT / "fixtures").rglob("*.py"))[:40]
TEXT = '''@f  # one
async def g(a, /, *b: int, c=(1,), **d) -> "x":

    """Two
    rows."""
    async with ( a as b , c , ) : pass
    return  f'{a!r:{b}}' f"{c}" \\
        "d"
    x [ 1 : 2 , ... ] = yield from  lambda * , k = 1 : ( k , )


    # three
class A ( B , metaclass = C ) :
\tif 1 :  # four
\t\tx : int = 5 ; del x
\telif not  a is not b : pass
\telse : x = [ i async for i in a if i ] @ { ** a , 1 : 2 }
match a :
    case { "x" : 1 , ** rest } | [ 1 , * _ ] : pass
'''


@pytest.mark.parametrize("text", [TEXT, "", "# nothing", "x = 1", *(path.read_text() for path in FILES)])
def test_places_are_those_of_libcst(text):
    lines = text.splitlines(keepends=True)
    parsed = Parsed(FileFacts("a.py", lines), Unit("<module>", 1, len(lines)))
    theirs = PositionProvider()
    theirs._gen_impl(parsed.module)
    for node, at in theirs._computed.items():
        ours = parsed.location(node)
        assert (ours.row, ours.column - 1, ours.end_row, ours.end_column - 1) == (
            at.start.line, at.start.column, at.end.line, at.end.column)  # fmt: skip


def test_what_is_in_a_node_are_nodes():
    assert all(isinstance(child, cst.CSTNode) for node in walk(cst.parse_module(TEXT)) for child in children(node))


def test_what_is_counted_in_haste_is_no_less(monkeypatch):
    """A text that is dismissed by its bytes has few words and signs that nest, too."""
    monkeypatch.setattr(source_text, "MOST_LEVELS", 20)
    draw = random.Random(0)
    for _ in range(500):
        text = "".join(draw.choices(["and ", "elif ", "for ", "ändern ", "else:", "x", "\n", "(", ".", "~", "await ", "not"], k=draw.randint(5, 60)))
        assert source_text._may_nest(text) == (len(source_text._NESTING.findall(text)) > 20)


MIXED = "def train(net):\n        if net:\n    \t    b = net(1)\n    \t    c = (b,\n \t b)\n        return c\n"


def test_what_begins_with_tabs_and_spaces_stands_where_it_is_written():
    """Python takes four spaces and a tab for eight columns; libcst by itself does not parse that."""
    compile(MIXED, "a.py", "exec")
    with pytest.raises(cst.ParserSyntaxError):
        cst.parse_module(MIXED)
    lines = MIXED.splitlines(keepends=True)
    parsed = Parsed(FileFacts("a.py", lines), Unit("train", 1, len(lines)))
    for node in walk(parsed.module):
        if isinstance(node, (cst.Name, cst.Integer)):
            at = parsed.location(node)
            assert lines[at.row - 1][at.column - 1 : at.end_column - 1] == node.value
