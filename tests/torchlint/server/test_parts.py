"""The server's parts that need no editor: settings, turns, positions."""

import asyncio
import random
import re
import threading

import pytest

pytest.importorskip("pygls")
from lsprotocol import types as lsp  # noqa: E402
from pygls.workspace import PositionCodec  # noqa: E402

from torchlint.findings import Edit, Location  # noqa: E402
from torchlint.server import options  # noqa: E402
from torchlint.server.carrying import carried  # noqa: E402
from torchlint.server.documents import Document, deepest, path_of, rows_of  # noqa: E402
from torchlint.server.hover import codes_in  # noqa: E402
from torchlint.server.places import Places  # noqa: E402
from torchlint.server.turns import Turns  # noqa: E402


@pytest.mark.parametrize(
    "given",
    [{"run": "onSave"}, {"torchlint": {"run": "onSave"}}, {"settings": {"run": "onSave"}}, {"run": "onSave", "select": None}],
)
def test_settings_in_the_forms_that_clients_have(given):
    assert options.read(given) == ({"run": "onSave"}, [])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "the settings must be an object with keys such as 'select', not []"),
        ({"Select": []}, "there is no setting 'Select' (did you mean 'select'?)"),
        ({"run": "always"}, "the setting 'run' is left out, 'always' cannot be used: invalid enum value 'always'"),
        ({"ignore": 3}, "the setting 'ignore' is left out, 3 cannot be used: expected `array | null`, got `int`"),
        ({"delay": -1}, "the setting 'delay' is left out, -1 cannot be used: expected a number that is not negative"),
        ({"isolated": "x" * 99}, "the setting 'isolated' is left out, 'xxxxxxxxxxxxxxxx"),
    ],
)
def test_settings_that_cannot_be_used(given, complaint):
    found, complaints = options.read(given)
    assert found == {} and len(complaints) == 1 and complaints[0].startswith(complaint)


def test_settings_are_laid_over_each_other():
    assert options.made({"delay": 1, "ignore": ["TL1"]}, {"delay": 2}) == options.Options(delay=2, ignore=("TL1",))
    assert options.read({"ignore": "TL1, TL2"}) == ({"ignore": ["TL1", "TL2"]}, [])
    assert options.Options(config="x.toml").choice("/a")["settings"] == "/a/x.toml"


def turns(script):
    """What is judged, in order, where `script` says what happens while each is."""
    done = []

    async def work(name, stop):
        assert isinstance(stop, threading.Event)
        done.append(name)
        for happens in script.pop(name, []):
            happens(queue)
        await asyncio.sleep(0)
        done[-1] += "!" if stop.is_set() else ""
        return not stop.is_set()

    async def all_of_it():
        script.pop("")(queue)
        while queue._task is not None and not queue._task.done() or queue._timers:
            await asyncio.sleep(0)

    queue = Turns(work)
    asyncio.run(all_of_it())
    return done


def test_what_was_typed_into_last_is_judged_first():
    assert turns({"": lambda queue: [queue.renew("ab"), queue.at_once("c"), queue.at_once("d")]}) == ["d", "c", "a", "b"]


def test_a_renewal_makes_way_and_is_made_up_for():
    assert turns({"": lambda queue: queue.renew("a"), "a": [lambda queue: queue.at_once("b")]}) == ["a!", "b", "a"]


def test_an_answer_that_nobody_waits_for_any_more_is_stopped():
    typed = [lambda queue: queue.after("a", 0)]
    assert turns({"": lambda queue: queue.at_once("a"), "a": typed}) == ["a!", "a"]
    # Somebody waits for it, if less: it is not stopped for another one.
    assert turns({"": lambda queue: queue.at_once("a"), "a": [lambda queue: queue.at_once("b")]}) == ["a", "b"]


def test_what_is_closed_or_over_is_not_judged():
    closed = {"": lambda queue: [queue.at_once("a"), queue.after("b", 0), queue.renew("c"), *map(queue.drop, "bc")]}
    assert turns(closed) == ["a"]
    assert turns({"": lambda queue: [queue.at_once("a"), queue.renew("b")], "a": [lambda queue: queue.stop()]}) == ["a!"]


def test_rows_end_where_editors_say():
    assert rows_of("a\x0cb\u2028c\x1cd\x85\ne\r\nf\rg") == ["a\x0cb\u2028c\x1cd\x85\n", "e\r\n", "f\r", "g"]
    assert rows_of("") == []


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 6), ("utf-16", 4), ("utf-32", 3)])
def test_ranges_in_the_units_of_the_client(encoding, column):
    codec = PositionCodec(encoding)
    text = Document("file:///a.py", "a\U0001f600bc\r\nd", position_codec=codec)
    at = lsp.Range(lsp.Position(0, column), lsp.Position(0, 99))
    text.apply_change(lsp.TextDocumentContentChangePartial(at, "x"))
    assert text.source == "a\U0001f600bx\r\nd"
    text.apply_change(lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(1, 1), lsp.Position(9, 0)), "\n"))
    assert text.source == "a\U0001f600bx\r\nd\n"
    text.apply_change(lsp.TextDocumentContentChangeWholeDocument("new"))
    assert text.source == "new"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_typed_at_random(encoding):
    """Against a count of its own: ends of rows by a pattern, columns by what Python encodes."""
    draw, codec = random.Random(encoding), PositionCodec(encoding)
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]

    def position(text, offset):
        starts = [0, *(one.end() for one in re.finditer(r"\r\n|\r|\n", text[:offset] + text[offset:]) if one.end() <= offset)]
        row = text[starts[-1]:offset]
        return lsp.Position(len(starts) - 1, len(row.encode(encoding if width == 1 else f"{encoding}-le")) // width)

    def some():
        return "".join(draw.choice(["a", "\n", "\r\n", "\u00e4", "\U0001f600", "\x0c", "\u2028", "\x1c"]) for _ in range(draw.randrange(6)))

    text, document = "", Document("file:///a.py", "", position_codec=codec)
    for _ in range(300):
        places = [at for at in range(len(text) + 1) if text[at - 1:at + 1] != "\r\n"]
        begin, end = sorted(draw.choices(places, k=2))
        new = some()
        at = lsp.Range(position(text, begin), position(text, end))
        document.apply_change(lsp.TextDocumentContentChangePartial(at, new))
        text = (text[:begin] + new + text[end:])
        assert document.source == text
        if len(text) > 60:
            text = text[:20].rstrip("\r")
            document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text))


def test_places_in_files_that_are_not_open(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes("# \u00e4\r\nx = '\U0001f600'; y\r\n".encode())
    places = Places([], PositionCodec("utf-16"))
    assert places.name(Location(str(path), 1)) == path.as_uri()
    assert places.range(Location(str(path), 2, 10, 2, 11)) == lsp.Range(lsp.Position(1, 10), lsp.Position(1, 11))
    assert places.range(Location(str(path), 1, 3)) == lsp.Range(lsp.Position(0, 2), lsp.Position(0, 3))
    assert places.range(Location(str(path), 9, 9)) == lsp.Range(lsp.Position(2, 0), lsp.Position(2, 0))
    assert places.range(Location(str(tmp_path / "gone.py"), 3, 4)).start == lsp.Position(0, 0)
    assert places.text_edit(Edit(Location(str(path), 2, 1, 2, 1), "z\n")).range.start == lsp.Position(1, 0)


def test_paths_of_what_is_open(tmp_path):
    assert path_of((tmp_path / "a b.py").as_uri(), "/x") == str(tmp_path / "a b.py")
    assert path_of("untitled:Untitled-1", "/x") == "/x/Untitled-1.py"
    assert path_of("git:/a.py?x", "/x") is None and path_of("vscode-notebook-cell:/a.ipynb#1", "/x") is None
    assert deepest("/a/b/c.py", ["/a", "/a/b", "/a/bb"]) == "/a/b" and deepest("/c.py", ["/a"]) is None


def test_codes_in_comments():
    row = "x = 'TL101'  # noqa: TL203, TL204"
    assert codes_in(row, row.index("TL204") + 2) == ("TL204", row.index("TL204"), len(row))
    assert codes_in(row, row.index("TL101") + 1) is None and codes_in("# TL101", 3) is None


def test_what_was_told_is_carried_with_its_rows():
    told = [lsp.Diagnostic(lsp.Range(lsp.Position(row, 1), lsp.Position(end, 2)), str(row)) for row, end in ((0, 0), (1, 2), (3, 3))]
    old = ["a\n", "b\n", "c\n", "d\n"]

    def rows(new):
        return [(one.message, one.range.start.line, one.range.end.line) for one in carried(told, old, new)]

    assert rows(["new\n", *old]) == [("0", 1, 1), ("1", 2, 3), ("3", 4, 4)]
    assert rows(["a\n", "b\n", "between\n", "c\n", "d\n"]) == [("0", 0, 0), ("3", 4, 4)]
    assert rows(["a\n", "d changed\n"]) == [("0", 0, 0)]
