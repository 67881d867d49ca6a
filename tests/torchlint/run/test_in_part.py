"""What is too large for one dry run is judged in parts, and that is said: nothing is dropped in silence."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.torchlint.support import ROOT, write
from torchlint.catalogue.pages import catalogue
from torchlint.cli import main
from torchlint.dryrun import interpreter, large_calls, parts, roots
from torchlint.engine import Engine
from torchlint.run.judge import Judge, Order

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
LOSS = "def loss_of(logits, y):\n    return F.cross_entropy(logits.softmax(1), y)  # 301\n\n\n"
TRAIN = (
    "def train(model, optimizer, data):\n    for x, y in data:\n        loss = loss_of(model(x), y)\n"
    "        loss.backward()  # 101\n        optimizer.step()\n\n\n"
)


def long_main(rows=500, more=0):
    """A `main` that calls `train` and does more than one run may, with what it calls besides."""
    numbers = "0," * 80
    work = "".join(f"    x{row % 7} = torch.relu(x{row % 7 - 1 if row % 7 else 6}, [{numbers}])\n" for row in range(rows))
    if more:
        return f"def other(x6):\n{work[: len(work) // rows * more]}\n\n" + long_main(rows).replace("    train(", "    other(x6)\n    train(", 1)
    return f"def main(model, optimizer, data, x6):\n    train(model, optimizer, data)\n{work}\n\nif __name__ == '__main__':\n    main()\n"


def judged(text, rules=None, path="/x/train.py"):
    return Judge(Order(tuple(rules or catalogue()))).content(path, text.encode())


def numbers(verdict):
    return [(one.number, one.location.row) for one in verdict.findings if one.number in (101, 301)]


def rows_of(text):
    return [(int(row.rpartition("# ")[2]), number) for number, row in enumerate(text.split("\n"), 1) if row.endswith(("# 101", "# 301"))]


def test_what_a_long_main_calls_is_judged(low):
    low(run=30_000)
    text = HEAD + LOSS + TRAIN + long_main()
    verdict = judged(text)
    assert sorted(numbers(verdict)) == sorted(rows_of(text)) != []
    (note,) = verdict.problems
    assert note.note and not note.internal
    assert note.message == (
        "judged in part: the body of the file is too large for one dry run; its parts were judged by themselves; "
        "main() is too large to be judged whole"
    )


@pytest.fixture
def low(monkeypatch):
    def set_bounds(run=10**9, file=10**9):
        monkeypatch.setattr(interpreter.Run, "most_steps", run)
        monkeypatch.setattr(parts, "MOST_STEPS_OF_FILE", file)

    return set_bounds


def test_functions_that_a_dropped_run_had_come_to_are_judged(low):
    """`loss_of` and `step` were run to their end when `train` grew too large."""
    low(run=120)
    more = "".join(f"        x = torch.relu(x + {row})\n" for row in range(40))
    text = HEAD + LOSS + TRAIN.replace("        loss.backward()", more + "        loss.backward()") + "train(1, 2, 3)\n"
    verdict = judged(text)
    assert (301, 6) in numbers(verdict)
    assert verdict.problems[0].message.startswith("judged in part: ") and "train() is too large" in verdict.problems[0].message


def test_a_root_alone_follows_no_call(low):
    """`main` is small, what it calls is not."""
    low(run=200)
    big = "def big(x):\n" + "".join(f"    x = torch.relu(x + {row})\n" for row in range(100)) + "    return x\n\n\n"
    text = HEAD + big + "def main(logits, y):\n    big(y)\n    return F.cross_entropy(logits.softmax(1), y)  # 301\n"
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text)
    (note,) = verdict.problems
    assert note.message == "judged in part: main() is too large for one dry run; its parts were judged by themselves"
    assert note.row == text.split("\n").index("def main(logits, y):") + 1


def test_methods_that_a_dropped_method_had_come_to_are_judged(low):
    low(run=150)
    more = "".join(f"        x = torch.relu(x + {row})\n" for row in range(60))
    text = HEAD + (
        "class Trainer:\n    def fit(self, x, y):\n        self.loss(x, y)\n" + more + "\n"
        "    def loss(self, x, y):\n        return F.cross_entropy(x.softmax(1), y)  # 301\n"
    )
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text)
    assert verdict.problems[0].message == "judged in part: Trainer.fit() is too large to be judged whole" and verdict.problems[0].row == 6


def test_methods_of_a_class_whose_init_is_too_much_are_judged(low):
    low(run=150)
    more = "".join(f"        x = torch.relu(x + {row})\n" for row in range(60))
    text = HEAD + (
        "class Trainer:\n    def __init__(self, x):\n" + more + "        self.x = x\n\n"
        "    def loss(self, x, y):\n        return F.cross_entropy(x.softmax(1), y)  # 301\n"
    )
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text)
    assert verdict.problems[0].message == "judged in part: Trainer.__init__() is too large to be judged whole"


def test_a_method_too_long_to_be_run_for_what_it_sets_ends_one_root_only(low):
    """`first` and `second` read what only `fit` sets. That `fit` is too much is found out once, and told of the first."""
    low(run=200)
    more = "".join(f"        x = torch.relu(x + {row})\n" for row in range(80))
    text = HEAD + (
        "class Trainer:\n    def fit(self, x):\n" + more + "        self.scale = x\n\n"
        "    def first(self, x, y):\n        print(self.scale)\n        return F.cross_entropy(x.softmax(1), y)  # 301\n\n"
        "    def second(self, x, y):\n        print(self.scale)\n        return self.loss(x.softmax(1), y)\n\n"
        "    def loss(self, x, y):\n        return F.cross_entropy(x, y)  # 301\n"
    )
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text)
    (note,) = verdict.problems
    assert "Trainer.first()" in note.message and "Trainer.second()" not in note.message


def test_what_filled_a_run_that_was_too_much_is_not_run_whole_again(low, monkeypatch):
    """The body calls `start`, that calls `main`, and that is too much: known from the first run."""
    low(run=300)
    started = []
    finish = roots._finish

    def spy(run, work, func, facts):
        done = finish(run, work, func, facts)
        started.append((func.name, run.alone, run.steps > 0))
        return done

    monkeypatch.setattr(roots, "_finish", spy)
    more = "".join(f"    x = torch.relu(x + {row})\n" for row in range(100))
    text = HEAD + LOSS + "def main(x, y):\n    loss_of(x, y)\n" + more + "\n\ndef start():\n    main(1, 2)\n\n\nstart()\n"
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text)
    assert sorted((name, alone) for name, alone, ran in started if ran and name != "loss_of") == [("main", True), ("start", True)]
    assert "start()" in verdict.problems[0].message and "main()" in verdict.problems[0].message


def test_the_first_roots_do_not_take_the_steps_of_the_last(low):
    low(run=60_000, file=30_000)
    more = "".join(f"    x = torch.relu(x + {row})\n" for row in range(3_000))
    mains = "".join(f"def main{number}(x):\n    x.softmax(1).backward()\n{more}\n\n" for number in range(3))
    text = HEAD + mains + LOSS.replace("loss_of", "a") + LOSS.replace("loss_of", "b")
    verdict = judged(text)
    assert numbers(verdict) == rows_of(text) and len(rows_of(text)) == 2
    assert "main2()" in verdict.problems[0].message


def test_what_no_budget_is_left_for_is_told(low):
    low(file=2_000)
    text = HEAD + "".join(LOSS.replace("loss_of", f"f{number}") for number in range(40))
    verdict = judged(text)
    found = len(numbers(verdict))
    assert 5 < found < 40
    (note,) = verdict.problems
    assert note.message.endswith("more are too large to be judged whole")


@pytest.mark.parametrize(
    "body, why",
    [
        ("    \\\n    \\\n    return F.relu(x.softmax(1))", "is not judged: libcst loses rows that hold nothing but a backslash"),
        ("    if x:\n        \\\n            return F.relu(x.softmax(1))", "is not judged: libcst cannot parse that"),
        (f"    return x{' + x' * 1_200}", "is nested too deeply to be judged whole"),
    ],
    ids=["rows", "syntax", "depth"],
)
def test_what_stands_in_the_way_is_told_where_it_is_not_the_size(body, why):
    (note,) = judged(f"{HEAD}def f(x):\n    x = F.cross_entropy(x.softmax(1), x)\n{body}\n").problems
    assert note.note and note.message == f"judged in part: f() {why}"


def test_a_run_that_is_nested_too_deeply_is_not_said_to_be_too_large():
    """Brackets may not be as deep, but a long way from one `elif` to the next, each within the one before."""
    steps = "".join(f"    elif x > {number}:\n        x = x.relu()\n" for number in range(400))
    (note,) = judged(f"{HEAD}def f(x):\n    if x > 0:\n        x = F.cross_entropy(x.softmax(1), x)\n{steps}    return x\n").problems
    assert "nested too deeply" in note.message and "too large" not in note.message


def test_a_method_kept_under_its_own_name_is_the_one_of_the_class():
    text = HEAD + (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.forward = self.forward\n\n"
        "    def forward(self, x):\n        return x.softmax(1)\n\n\n"
        "def loss_of(x, y):\n    return F.cross_entropy(Net().forward(x), y)  # 301\n"
    )
    verdict = judged(text)
    assert verdict.problems == () and numbers(verdict) == [(301, text[: text.index("# 301")].count("\n") + 1)]


def test_nothing_is_said_of_what_is_judged_whole():
    assert judged(HEAD + LOSS + TRAIN).problems == ()


def test_cells(low):
    low(run=30)
    book = {"cells": [{"cell_type": "code", "source": HEAD}, {"cell_type": "code", "source": "\n" + LOSS.replace("return", "y = y + 1 + 2 + 3\n    " * 30 + "return")}]}
    (note,) = judged(json.dumps(book), path="/x/a.ipynb").problems
    assert (note.cell, note.row) == (2, 2)


@pytest.fixture(scope="module")
def whole():
    """All blocks of the rule pages and the programs of the fixtures, and what is found in them."""
    rules = tuple(catalogue())
    texts = [(f"/x/{page.code}.py", block.code) for page in rules for block in page.examples()]
    texts += [(str(path), path.read_text()) for path in sorted((ROOT / "fixtures").rglob("*.py"))]
    engine = Engine(rules)
    return [(*one, found(engine, *one)) for one in texts]


@pytest.mark.parametrize(("bound", "first"), [(250, 0), (60, 1)], ids=["250", "60"])
def test_parts_say_nothing_that_the_whole_does_not(low, whole, bound, first):
    """Each text with one of two bounds."""
    low(run=bound)
    in_parts(whole[first::2])


def test_sparing_says_nothing_that_the_whole_does_not(monkeypatch, whole):
    """As if nearly nothing were left of what a root may do: no call of five steps is run twice."""
    monkeypatch.setattr(large_calls, "_LEAST", 5)
    monkeypatch.setattr(large_calls, "_LATE", ((0, 0.0, 0, 5),))
    in_parts(whole[::2])


def test_where_data_come_from_is_not_asked_of_a_part_whose_caller_was_too_much(low):
    """`start` shows that they are in memory; `fit` and `Runs.load` would be told to have workers."""
    more = "".join(f"    x = torch.relu(x + {row})\n" for row in range(80))
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n\n"
        "def fit(data):\n    return DataLoader(data)\n\n\n"
        "class Runs:\n    def load(self, data):\n        return DataLoader(data)\n\n\n"
        "def other(data):\n    return DataLoader(data)\n\n\n"
        "def start(x):\n" + more + "    data = TensorDataset(x)\n    Runs().load(data)\n    return fit(data)\n"
    )
    rules = [rule for rule in catalogue() if rule.code == 601]

    def rows():
        return [one.location.row for one in judged(text, rules).findings]

    assert rows() == [15]
    low(run=200)
    assert rows() == [15] and judged(text, rules).problems


def test_roots_alone_say_nothing_that_the_whole_does_not(monkeypatch, whole):
    """As if no root with a call in it could be run whole."""
    finish, run_file = roots._finish, interpreter.Run.run_file

    def never_whole(run, *rest):
        return finish(run, *rest) and run.most_depth == 1

    def never_the_body(run, *rest):
        run_file(run, *rest)
        if run.most_depth:
            raise interpreter.TooMuch

    monkeypatch.setattr(roots, "_finish", never_whole)
    monkeypatch.setattr(interpreter.Run, "run_file", never_the_body)
    in_parts(whole)


def in_parts(whole):
    engine, fewer = Engine(tuple(catalogue())), 0
    for path, text, findings in whole:
        now = found(engine, path, text)
        assert now <= findings, path
        fewer += now != findings
    assert fewer > 10, "the bound is met"


def found(engine, path, text):
    try:
        judged = engine.check(path, text)
    except SyntaxError:
        return set()
    return {(one.code, one.location.filename, one.location.row) for one in judged.findings}


# -- how it is told ---------------------------------------------------------------------------------------------------

LATER = "def later(model):\n    model.eval  # 132\n\n\n"
PROGRAM = HEAD + LOSS + TRAIN + LATER + long_main(20)
NOTE = "judged in part: the body of the file is too large for one dry run"


@pytest.fixture
def lint(tmp_path, monkeypatch, capfd, low):
    low(run=600)
    write(tmp_path, {"pyproject.toml": "", "train.py": PROGRAM, "small.py": HEAD + "x = torch.ones(1)\n"})
    monkeypatch.chdir(tmp_path)

    def lint(*args):
        status = main(list(args))
        told = capfd.readouterr()
        return status, told.out, told.err

    return lint


@pytest.mark.parametrize("form", ["full", "concise", "json", "github", "sarif", "junit"])
def test_every_format_tells_it_and_it_is_no_failure(lint, form):
    status, out, err = lint("--no-cache", "-j1", "--output-format", form, ".")
    assert status == 1 and err.count("\n") == 1
    assert err.startswith(f"torchlint: note: train.py:1: {NOTE}")
    if form == "json":
        *findings, note = json.loads(out)
        assert {one["code"] for one in findings} == {"TL301", "TL101", "TL132"}
        assert (note["code"], note["severity"], note["filename"], note["location"]["row"]) == ("judged-in-part", "note", "train.py", 1)
        assert note["message"].startswith(NOTE) and note.keys() == findings[0].keys() - {"fix"}
    if form == "sarif":
        (call,) = json.loads(out)["runs"][0]["invocations"]
        assert call["executionSuccessful"] is True
        (told,) = call["toolExecutionNotifications"]
        assert told["level"] == "note" and NOTE in told["message"]["text"]
    if form == "junit":
        top = ElementTree.fromstring(out)
        assert top.get("errors") == "0" and top.get("tests") == str(len(top.findall(".//testcase")))
        assert NOTE in top.find(".//system-out").text
    if form == "github":
        assert f"::notice title=torchlint (judged-in-part),file=train.py,line=1::train.py:1: {NOTE}" in out


def test_without_findings_it_is_no_failure_either(lint, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM.replace("loss.backward()", "optimizer.zero_grad()\n        loss.backward()"))
    status, out, err = lint("--no-cache", "-j1", "--select", "TL101", "train.py", "small.py")
    assert status == 0 and NOTE in err and out == "No mistakes found in what could be judged of 2 files.\n"
    assert lint("--no-cache", "-j1", "--select", "TL101", "-q", ".") == (0, "", "")


def test_known_verdicts_say_it_again(lint):
    cold = lint("-j1", ".")
    assert NOTE in cold[2] and lint("-j1", ".") == cold


def test_each_of_many_files_says_it_once(lint, low, tmp_path):
    """In processes of their own, too, which have the bounds that count."""
    low(run=interpreter.MOST_STEPS, file=parts.MOST_STEPS_OF_FILE)
    program = long_main(1_000, 1_000)  # no function of it has more characters than may be read
    third = program[: program.index("def main")].replace("other", "third", 1)
    text = HEAD + LOSS + TRAIN + LATER + third + program.replace("    other(x6)\n", "    other(x6)\n    third(x6)\n", 1)
    write(tmp_path, {f"m{number}.py": text for number in range(2)})
    told = lint("--no-cache", "-j2", "--output-format", "concise", "m0.py", "m1.py")
    assert told[2].count(NOTE) == 2 and told[1].count("TL301") == told[1].count("TL101") == 2
    assert lint("--no-cache", "-j1", "--output-format", "concise", "m0.py", "m1.py") == told


def test_what_was_judged_in_part_is_mended_all_the_same(lint, tmp_path):
    assert "1 finding" in lint("--no-cache", "-j1", "--fix", "--unsafe-fixes", "--select", "TL132,TL101", ".")[2]
    assert (tmp_path / "train.py").read_text() == PROGRAM.replace("model.eval", "model.eval()")


def builders(count=60, imported="timm.models"):
    """Many functions that build one model in many sizes, through some that differ no more."""
    text = f"import torch\nfrom torch import nn\nfrom {imported} import load\n\n\n"
    text += "class Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.head = nn.Linear(width, 10)\n\n"
    text += "    def forward(self, x):\n        return self.head(x).softmax(1)\n\n\n"
    text += "def make(name, width, pretrained=False):\n    return load(Net(width), name, pretrained=pretrained)\n\n\n"
    for kind in range(4):
        text += f"def _kind_{kind}(name, width, pretrained=False):\n    return make(name, {kind + 1} * width, pretrained=pretrained)\n\n\n"
    for size in range(count):
        text += f"def net_{size}(pretrained=False):\n    return _kind_{size % 4}('net {size}', {size}, pretrained=pretrained)\n\n\n"
    return text


def test_functions_that_differ_in_what_they_pass_are_run_once(low):
    low(file=5_000)
    assert not judged(builders()).problems
    assert judged(builders(imported="torchvision.models")).problems  # there each may ask for another model's weights


def test_layers_that_are_handed_on_make_no_other_builder(low):
    """As long as nothing is trained there."""
    low(file=5_000)
    layers = "".join(f"class Norm{kind}(nn.Module):\n    pass\n\n\n" for kind in range(60))
    text = builders().replace("def make", layers + "def make").replace("Net(width)", "Net(width, norm)").replace("width, pretrained=False", "width, pretrained=False, norm=None")
    for size in range(60):
        text = text.replace(f"'net {size}', {size}, ", f"'net {size}', {size}, norm=Norm{size}, ")
    assert "norm=Norm59" in text and not judged(text).problems


TWO_MODELS = """
import torch
from torch import nn
from torch.nn import functional as F


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(x)


class Sure(Plain):
    def forward(self, x):
        return F.softmax(self.head(x), dim=1)


def fit(kind, loader):
    model = kind()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def plain(loader):
    fit(Plain, loader)


def sure(loader):
    fit(Sure, loader)
"""


def test_a_model_that_is_handed_on_to_a_training_makes_another_one():
    assert "TL301" in {finding.code for finding in judged(TWO_MODELS).findings}
