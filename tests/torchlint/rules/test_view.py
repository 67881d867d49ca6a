"""What a rule sees of a run: the methods of a class share what its __init__ did."""

from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine
from torchlint.rules.base import View

NET = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, x):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        x.clamp(0, 1)

    def one(self, x):
        x.clamp(0, 1)
        return self.layer(x)

    def two(self, x):
        return self.layer(x)
"""


def seen(text, monkeypatch):
    """By root: the rows of what was thrown away, as `of` and as `new` give them; and the findings' rows."""
    told = {}

    class Kept(View):
        def __init__(self, run, *rest):
            super().__init__(run, *rest)
            if run.root is not None:
                rows = [[event.site.location().row for event in asked("discarded")] for asked in (self.of, self.new)]
                told.setdefault(run.root.name, rows)

    monkeypatch.setattr("torchlint.rules.base.View", Kept)
    engine = Engine([rule for rule in catalogue() if rule.code == 405], sieve=False)
    return told, [one.location.row for one in engine.check("net.py", text).findings]


def test_each_event_of_an_init_is_new_once(monkeypatch):
    told, found = seen(NET, monkeypatch)
    assert told["__init__"] == [[7, 9], [7, 9]]  # the call of the base, too
    assert told["one"] == [[7, 9, 12], [12]] and told["two"] == [[7, 9], []]
    assert found == [9, 12]


def test_an_init_that_is_inherited_is_new_with_the_first_method(monkeypatch):
    text = NET.replace("class Net(nn.Module)", "class Base(nn.Module)").replace("    def one", "\nclass Net(Base):\n    def one")
    told, found = seen(text, monkeypatch)
    assert 9 in told["one"][1] and found == [9, 14]
