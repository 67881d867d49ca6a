"""A file is judged anew for a change of another one where it had looked at what has changed, and only there."""

from pathlib import Path

import pytest

from torchlint.run.runner import Runner
from torchlint.settings.choice import Choice
from torchlint.sieve.added import may_ask_for
from torchlint.sieve.looks import glimpse_of, holds
from torchlint.sieve.reader import read_facts

HELPER = """import torch


def prepare(model, rate):
    # as the paper has it
    return torch.optim.SGD(model.parameters(), rate)


def other(model):
    return model.state_dict()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

    def info(self):
        return 1
"""
MAIN = """import torch
from helper import Net, prepare

model = Net()
optimizer = prepare(model, 0.1)
for x in torch.rand(3, 2):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
"""
ALONE, BOTH = {"helper.py"}, {"helper.py", "main.py"}
EDITS = {
    "a comment on top": ("import torch\n", "# a comment\nimport torch\n", ALONE),
    "a comment in a function that is called": ("    # as the paper has it\n", "    # as we\n    # have it\n", ALONE),
    "a function that nobody calls": ("return model.state_dict()", "return model.state_dict(), 1", ALONE),
    "a method that nobody calls": ("return 1", "return 1 + 1", ALONE),
    "a function that is called": ("model.parameters(), rate", "model.parameters(), rate * 2", BOTH),
    "a method that is called": ("return self.layer(x)", "return self.layer(x.detach())", BOTH),
    "what a method is called with": ("def forward(self, x):", "def forward(self, x, y=None):", BOTH),
    "a new function": ("\n\nclass Net", "\n\ndef more(x=1):\n    pass\n\n\nclass Net", ALONE),
    "a new function that is called where nobody looks, and the words count": (
        "return model.state_dict()\n", "return more(model)\n\n\ndef more(model):\n    return model.state_dict()\n", BOTH
    ),
    "a new function that somebody names": ("\n\nclass Net", "\n\ndef loss():\n    pass\n\n\nclass Net", BOTH),
    "a new function that is registered": ("\n\nclass Net", "\n\n@torch.no_grad\ndef more():\n    pass\n\n\nclass Net", BOTH),
    "a new function whose default is made": ("\n\nclass Net", "\n\ndef more(x=torch.rand(1)):\n    pass\n\n\nclass Net", BOTH),
    "a new function that hides another": ("\n\nclass Net", "\n\ndef other(model):\n    pass\n\n\nclass Net", BOTH),
    "a new function in the place of Python's": ("\n\nclass Net", "\n\ndef sum(x):\n    pass\n\n\nclass Net", BOTH),
    "a new function where all names are asked for": (
        "import torch\n", "import torch\n\nNAMES = sorted(globals())\n\n\ndef more():\n    pass\n", BOTH
    ),
    "a new function where a module is asked for all": (
        "import torch\n", "import os\n\nimport torch\n\nNAMES = sorted(os.__dict__)\n\n\ndef more():\n    pass\n", BOTH
    ),
    "a new function that is called": ("model.parameters(), rate)", "model.parameters(), more())\n\n\ndef more():\n    return 1", BOTH),
    "another import": ("import torch\n", "import torch\nimport numpy\n", BOTH),
    "an import in the place of what is used": ("import torch\n", "import torch\nfrom json import loads as prepare\n", BOTH),
    "an import of what is used": ("import torch\n", "import torch\nfrom json import loads as model\n", BOTH),
    "another base": ("torch.nn.Module)", "object)", BOTH),
}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judges some files of a project, and gives the findings, and the files that nothing was known of."""
    monkeypatch.chdir(tmp_path)
    Path("setup.cfg").touch()
    Path("main.py").write_text(MAIN)

    def run(*paths, **how):
        config, *rest = Choice().load([tmp_path])
        runner = Runner(config, *rest)
        outcome = runner.run(map(str, paths), jobs=1, **how)
        return outcome.findings, {Path(look.path).name for look in runner.looks}

    return run


@pytest.mark.parametrize(("old", "new", "again"), EDITS.values(), ids=EDITS)
def test_what_is_judged_anew(judged, old, new, again):
    Path("helper.py").write_text(HELPER)
    assert judged(".")[1] == BOTH
    assert old in HELPER
    Path("helper.py").write_text(HELPER.replace(old, new, 1))
    found, looked_at = judged("helper.py")
    assert looked_at == again
    assert found == judged("helper.py", use_cache=False)[0]
    assert judged(".")[1] == set()  # and the cache knows it again


def test_a_finding_in_the_file_that_has_changed_is_found_again(judged):
    helper = HELPER.replace("    # as the paper has it", "    model.eval")
    Path("helper.py").write_text(helper)
    assert [one.location.row for one in judged("helper.py")[0] if one.code == "TL132"] == [5]
    Path("helper.py").write_text("# a comment\n" + helper)
    assert [one.location.row for one in judged("helper.py")[0] if one.code == "TL132"] == [6]


def look(before, after, *asked, others=()):
    """Whether what was asked of one text holds in another; `asked` are what was asked, and of which function, `others` other texts
    that counted."""
    facts = read_facts("a.py", before)
    for kind, name in asked:
        facts.seen.units[kind].add(facts.functions[name])
    glimpse = glimpse_of(facts)
    return holds(glimpse, read_facts("a.py", after), lambda: others)


def test_what_was_asked_of_a_function_is_told_apart():
    before, after = "def f(x):\n    return x + 1\n", "def f(x):\n    y = x + 1\n    return y\n"
    assert look(before, after) and look(before, after, ("gives", "f"))
    assert not look(before, after, ("words", "f")) and not look(before, after, ("tree", "f")) and not look(before, after, ("binds", "f"))


def test_the_same_tree_in_other_rows():
    before, after = "\n\ndef f(x):\n    return x\n", "import os  # why\n\n\n\ndef f(x):\n    # so\n    return x  # there\n"
    assert look("import os\n" + before, after, ("tree", "f"))
    facts = read_facts("a.py", "import os\n" + before)
    facts.seen.rows = True
    assert not holds(glimpse_of(facts), read_facts("a.py", after))


def test_a_comment_in_a_call_is_part_of_its_text():
    assert not look("def f(x):\n    return g(\n        x\n    )\n", "def f(x):\n    return g(\n        x  # y\n    )\n", ("tree", "f"))


def test_all_was_looked_at_where_lines_were():
    facts = read_facts("a.py", "x = 1\n")
    assert glimpse_of(facts) is not None
    assert facts.lines and glimpse_of(facts) is None


def test_every_definition_of_a_name_counts():
    before = "def f(x):\n    return 1\n\n\ndef f(x):\n    return 2\n"
    facts = read_facts("a.py", before)
    facts.seen.units["tree"].add(facts.again["f"][0])
    glimpse = glimpse_of(facts)
    assert holds(glimpse, read_facts("a.py", before.replace("2", "3")))
    assert not holds(glimpse, read_facts("a.py", before.replace("1", "3")))


USED = "import torch\n\n\ndef f(x):\n    return x + 1\n"


@pytest.mark.parametrize(("new", "held"), {
    "import json\n": True, "from json import dumps, loads as read\n": True, "import os.path\n": True, "import numpy\n": False,
    "from . import json\n": False, "import json, numpy\n": False, "from json import loads as x\n": False,
    "import json\n\n\ndef more(path):\n    return json.load(path)\n\n\n": True, "if 1:\n    import json\n": False,
}.items())
def test_a_new_import(new, held):
    assert look(USED, new + USED, ("tree", "f"), others=["import json\nimport os\n"]) is held
    assert not look(USED, new + USED.replace("+ 1", "+ 2"), ("tree", "f"))


def test_the_words_of_a_file_are_more_with_an_import():
    facts = read_facts("a.py", USED)
    assert facts.words
    assert not holds(glimpse_of(facts), read_facts("a.py", "import json\n" + USED), lambda: ())


@pytest.mark.parametrize(("text", "asks"), {
    "print(more)": True, "x.more = 1": True, "def __getattr__(name):\n    pass": True, "names = vars(losses)": True,
    "import losses\nnames = losses.__dict__": True, "from a import (b)\nself.__dict__.update(a=1)": False,
    "moreover = 1": False, "dir = 'x'": False, "class A:\n    def __getattr__(self, name):\n        pass": False,
}.items())
def test_who_may_ask_for_a_new_function(text, asks):
    assert may_ask_for(["more"], [], "", [text]) is may_ask_for(["more"], [], text, []) is asks


@pytest.mark.parametrize(("text", "asks"), {
    "import os\nos.path": False, "from helper import os": True, "from helper import (\n    a,\n    os,\n)": True, "helper.os.path": True,
    "from helper import *\nos.path": True, "from helper import *": False, "from helper import (a)\nimport os": False,
}.items())
def test_who_may_ask_for_a_new_import(text, asks):
    assert may_ask_for([], ["os"], "", [text]) is asks
