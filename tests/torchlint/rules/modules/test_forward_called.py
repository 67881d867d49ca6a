"""504 of what is on an object, and is known for a module by what another method asks of it."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

JUDGE = Engine(tuple(rule for rule in catalogue() if rule.code == 504))
EPOCH = """
class Epoch:
    def __init__(self, model):
        self.model = model

    def start(self):
        {asks}

    def update(self, x):
        return self.model.forward({given})
"""


@pytest.mark.parametrize(("asks", "given", "told"), [
    ("self.model.train()", "x", True), ("return self.model.parameters()", "x", True),
    ("self.model.set_input(1)", "x", False), ("self.other.model.train()", "x", False), ("self.model.train()", "", False),
])
def test_known_by_what_is_asked(asks, given, told):
    assert found(IMPORTS + EPOCH.format(asks=asks, given=given), judge=JUDGE) == ([(13, 504)] if told else [])
