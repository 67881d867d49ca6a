"""Text that no person would write: a short form of tools/fuzz.py, the same inputs every time, and what the long form found."""

import ast
import json
import random
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import libcst as cst
import pytest

from tests.torchlint.support import ROOT
from torchlint.catalogue.pages import catalogue
from torchlint.dryrun.source_text import Parsed
from torchlint.files.limits import MAX_CHARACTERS
from torchlint.files.parse import parse_source
from torchlint.files.source import SourceError
from torchlint.findings import Edit, Location
from torchlint.fixes.edits import EditError, apply
from torchlint.run.judge import Judge, Order
from torchlint.settings.config import Config
from torchlint.sieve.reader import read_facts

sys.path.insert(0, str(ROOT / "tools"))
from fuzzing import books, deep, grammar, mutate, watch  # noqa: E402
from fuzzing.inputs import SHARES, Input, make  # noqa: E402
from fuzzing.seeds import read_seeds  # noqa: E402
from fuzzing.trial import Trial  # noqa: E402

HANG = 60  # seconds of CPU for one step: a guard against what never ends, and no measure of speed


@pytest.fixture(scope="module")
def seeds():
    return read_seeds()


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Tries inputs in this process; one that takes for ever ends the test."""

    def late(number, frame):
        raise TimeoutError(f"more than {HANG} seconds of CPU")

    before = signal.signal(signal.SIGPROF, late)
    yield Trial(tmp_path_factory.mktemp("project"), lambda step: signal.setitimer(signal.ITIMER_PROF, HANG))
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("part", range(4))
def test_inputs_of_every_kind(trial, seeds, part):
    wrong = {}
    for number in range(part * 120, part * 120 + 120):
        item = make(7, number, seeds, large=False)
        found = trial.look(item)
        if found:
            wrong[number, item.kind] = found
    assert not wrong


def test_inputs_do_something(seeds, tmp_path):
    """The inputs are worth trying: rules speak of many of them, and fixes are applied; else the test above says nothing."""
    trial = Trial(tmp_path)
    for number in range(120):
        assert not trial.look(make(8, number, seeds, large=False))
    assert trial.counts["inputs with findings"] > 15 and trial.counts["inputs mended"] > 2
    assert 0 < trial.counts["inputs that do not parse"] < 90


def test_an_input_is_a_function_of_seed_and_number(seeds):
    for number in range(100):
        assert make(1, number, seeds, large=False) == make(1, number, seeds, large=False)
    assert {make(1, number, seeds, large=False).kind for number in range(400)} == SHARES.keys() - {"deep", "many", "long", "hypothesmith"}


def whole(trial, text, name="x.py"):
    return trial.look(Input(0, "test", name, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")))


def test_what_breaks_a_notebook_stays_as_it_is():
    """It is put into other notebooks, too, and what breaks these must not get into it."""
    before = repr(books.WRONG)
    for number in range(300):
        books.broken(random.Random(number), {"cells": []})
    assert repr(books.WRONG) == before


@pytest.mark.parametrize("kind", deep.NESTED)
def test_nesting(trial, kind):
    """Deeper than people write, and than Python's stack."""
    assert not whole(trial, deep.HEAD + deep.NESTED[kind](300)[:20_000] + deep.TAIL)


@pytest.mark.parametrize("kind", ["and", "and or", "dotted import", "plus", "unary", "attributes", "strings", "elif", "round", "if"])
def test_nesting_past_the_stack_of_the_process(trial, kind):
    """What is flat for Python's parser and nested for libcst's would take the process with it."""
    assert not whole(trial, deep.HEAD + deep.NESTED[kind](10_000)[:200_000] + deep.TAIL)


def test_a_chain_that_libcst_takes_the_cube_of_is_not_for_it(monkeypatch):
    """900 calls in a chain: 12 KB, and 10 s in libcst's parser."""
    judge, parsed = Judge(Order(tuple(catalogue()), scout=False)), []
    parse = cst.parse_module
    monkeypatch.setattr("torchlint.dryrun.source_text.cst.parse_module", lambda text: parsed.append(text) or parse(text))
    verdict = judge.content("/x/a.py", (deep.HEAD + deep.NESTED["method chain"](900) + deep.TAIL).encode())
    assert [problem.note for problem in verdict.problems] == [True]  # said, and no failure
    assert not any("view" in text for text in parsed)
    judge.content("/x/b.py", (deep.HEAD + deep.NESTED["method chain"](100) + deep.TAIL).encode())
    assert any("view" in text for text in parsed)


@pytest.mark.parametrize(("before", "row"), [("y = 1\n" + "\\\n" * 3, None), ("y = 1 + \\\n\\\n2\n", 6)])
def test_rows_that_libcst_loses(before, row):
    """It leaves out rows of nothing but a backslash in front of a statement: then it would tell of other rows."""
    judge = Judge(Order(tuple(catalogue())))
    text = deep.HEAD.replace("import torch\n", f"{before}import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(x, batch_size=2)\n")
    verdict = judge.content("/x/a.py", f"{text}for x in loader:\n    model(x).sum().backward()\n    optimizer.step()\n".encode())
    assert {one.location.row for one in verdict.findings if one.code == "TL601"} == (set() if row is None else {row})
    assert [problem.note for problem in verdict.problems] == ([True] if row is None else [])


@pytest.mark.parametrize("kind", deep.MANY)
def test_much_of_something(trial, kind):
    assert not whole(trial, deep.HEAD + deep.MANY[kind](6) + deep.TAIL)


@pytest.mark.parametrize("kind", deep.LONG)
def test_long_lines(trial, kind):
    assert not whole(trial, deep.HEAD + deep.LONG[kind](10_000) + deep.TAIL)
    cells = [{"cell_type": "code", "source": text} for text in (deep.HEAD, deep.LONG[kind](10_000), "%time\n" + deep.LONG[kind](3_000))]
    assert not whole(trial, json.dumps({"cells": cells}), "x.ipynb")


def test_files_of_megabytes():
    judge = Judge(Order(tuple(catalogue())))
    for text in ("import torch\nx = [" + "1, " * 600_000 + "]\n", "x = '" + "a" * 5_000_000 + "'\n", "import torch\n" + "#" * 5_000_000):
        verdict = judge.content("/x/a.py", text.encode())
        assert not any(problem.internal for problem in verdict.problems)
        assert bool(verdict.problems) is (len(text) > MAX_CHARACTERS)


@pytest.mark.parametrize("magic", books.MAGICS, ids=lambda magic: magic[:12])
def test_magics(trial, magic):
    for text in (f"x = 1\n{magic}\ny = 2", f"{magic}\nmodel.eval"):
        cells = [{"cell_type": "code", "source": part} for part in ("import torch\nmodel = torch.nn.Linear(1, 1)", text)]
        assert not whole(trial, json.dumps({"cells": cells}), "x.ipynb")


@pytest.mark.parametrize("wrong", books.WRONG, ids=repr)
def test_values_that_do_not_belong_in_notebooks(trial, wrong):
    sound = {"cell_type": "code", "source": "import torch\n", "metadata": {}, "outputs": []}
    for book in (
        wrong, {"cells": wrong}, {"cells": [wrong, sound]}, {"cells": [{**sound, "source": wrong}]}, {"cells": [{**sound, "cell_type": wrong}]},
        {"cells": [sound], "metadata": wrong}, {"cells": [sound], "metadata": {"kernelspec": wrong}}, {"worksheets": wrong},
        {"cells": None, "worksheets": [wrong]}, {"cells": [{"cell_type": "code", "input": wrong, "language": wrong}]},
    ):
        assert not whole(trial, json.dumps(book), "x.ipynb")


@pytest.mark.parametrize("codec", mutate.CODECS, ids=repr)
def test_encodings(trial, codec):
    for cookie in mutate.COOKIES[:2]:
        for body in (deep.HEAD.encode(), (deep.HEAD + "model.eval\n# é\n").encode(), b"model.eval\n\xff\xfe\0", b""):
            assert not whole(trial, cookie.format(codec).encode() + b"\n" + body)


def test_programs_of_hypothesmith(trial, seeds):
    pytest.importorskip("hypothesmith", reason="hypothesmith is not installed")
    rng = random.Random(1)
    for text in grammar.hypothesmith_programs(1, 25):
        assert not whole(trial, grammar.mixed(rng, text, seeds.blocks))


def test_made_up_programs_mostly_parse():
    parsed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(100):
            try:
                ast.parse(grammar.program(random.Random(number)))
                parsed += 1
            except SyntaxError:
                pass
    assert parsed > 50


# -- the watch itself -------------------------------------------------------------------------------------------------


def tried(monkeypatch, seeds, look, numbers=3):
    monkeypatch.setattr(Trial, "look", look)
    counts = Counter()
    return list(watch.try_all(watch.Plan(0, 0, numbers, large=False), seeds, counts)), counts


def test_the_watch_goes_on_after_a_death(monkeypatch, seeds):
    def look(self, item):
        if item.number == 1:
            signal.raise_signal(signal.SIGSEGV)
        return ["wrong"] if item.number == 2 else []

    found, counts = tried(monkeypatch, seeds, look)
    assert [one.number for one in found] == [0, 1, 2] and counts["deaths"] == 1
    assert not found[0].wrong and "SIGSEGV" in found[1].wrong[0] and found[2].wrong == ["wrong"]


def test_the_watch_ends_what_does_not_end(monkeypatch, seeds):
    def look(self, item):
        self._limit("judge")
        while item.number == 0:
            pass
        return []

    monkeypatch.setattr(watch, "STEP_SECONDS", 0.2)
    found, _ = tried(monkeypatch, seeds, look, 2)
    assert "SIGPROF (judge)" in found[0].wrong[0] and "in look" in found[0].wrong[0] and not found[1].wrong


def test_the_watch_bounds_memory(monkeypatch, seeds):
    def look(self, item):
        try:
            bytearray(3 << 30)
        except MemoryError:
            return ["no memory"]
        return [str(resource.getrlimit(resource.RLIMIT_AS))]

    found, _ = tried(monkeypatch, seeds, look, 1)
    assert found[0].wrong == ["no memory"]


# -- what the long form found -----------------------------------------------------------------------------------------


def test_notebook_that_is_broken_where_nobody_reads(tmp_path):
    """The outputs are not UTF-8: it is judged, and not written to."""
    raw = b'{"cells": [{"cell_type": "code", "outputs": ["\xff"], "source": "import torch\\n"}]}'
    assert parse_source("x.ipynb", raw).text
    for broken in (raw, raw.replace(b"\xff", b"\\ud8"), raw[:-2], b'{"cells": [' + b"[" * 100_000):
        with pytest.raises(EditError):
            apply("x.ipynb", broken, [Edit(Location("x.ipynb", 1, 1, 1, 1, cell=1), "x")])


def test_encodings_that_cannot_hold_a_comment():
    for codec in ("idna", "punycode", "undefined", "utf-7"):
        raw = f"# coding: {codec}\nx".encode()
        try:
            parse_source("x.py", raw)
            assert apply("x.py", raw, [Edit(Location("x.py", 2, 2, 2, 2), "  # noqa: TL101" + "é" * 100)])
        except (EditError, SourceError):
            pass


def test_blanks_in_notebooks_are_gone_through_once(trial):
    """A magic makes each line be looked at for IPython's syntax: with patterns that overlapped, for hours."""
    for text in ("x" + " " * 200_000 + "y", " " * 200_000 + "= !ls", "a " * 100_000 + "?", "? x" + " " * 200_000 + "y", "%%time\n" * 50_000):
        book = {"cells": [{"cell_type": "code", "source": "!ls\n" + text}, {"cell_type": "code", "source": text + "\n!ls"}]}
        assert not whole(trial, json.dumps(book), "x.ipynb")


def test_findings_in_code_too_deep_to_be_shown(trial):
    """libcst's positions take Python's stack: what is said of other functions stays."""
    tuples, lambdas = "y = " + "(" * 95 + "x" + ",)" * 95, "for y in x:\n        y = " + "lambda: " * 600 + "0"
    for body in (tuples, lambdas):
        text = deep.HEAD + f"def f(model, x):\n    {body}\n    model.eval\n\n\ndef g(model):\n    model.eval\n"
        verdict = trial._judge.content(str(Path("/x/a.py")), text.encode())
        notes = [problem.note for problem in verdict.problems]
        assert all(notes) and (notes or body is tuples)  # said, and no failure; how deep is too deep is Python's business
        assert [(one.code, one.location.row) for one in verdict.findings][-1] == ("TL132", text.count("\n"))


def test_code_too_deep_to_be_shown_has_no_places():
    """Not even those that libcst had found when it ran out of the stack: they end too early."""
    facts = read_facts("a.py", "for y in x:\n    y = " + "lambda: " * 600 + "0\n")
    parsed = Parsed(facts, facts.body[0])
    for _ in range(2):
        with pytest.raises(RecursionError):
            parsed.location(parsed.body[0])


def test_an_error_that_cannot_be_told_is_one_line():
    class Untold(Exception):
        def __str__(self):
            raise RecursionError

    def make(order):
        raise Untold

    (problem,) = Judge(Order(()), make).content("/x/a.py", b"import torch\n").problems
    assert problem.internal and "Untold" in problem.message and "\n" not in problem.message


def test_config_is_made_for_no_place(tmp_path):
    """The trial's imports are looked for in its own folder and no further up."""
    Trial(tmp_path)
    assert (tmp_path / ".git").is_dir() and Config(tmp_path).root == tmp_path
