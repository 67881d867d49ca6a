"""202 in static methods, and in classes whose bases stand in the same file and do not call the method."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
class Program:
    def __init__(self, loader):
        self.loader = loader

    {above}

class Ensemble({base}):
    {decorated}
    def evaluate({params}loader, model):
        hits = 0
        for x, y in loader:
            hits += (model(x).argmax(dim=1) == y).sum().item(){mark}
        return hits
"""
MARK = "  # <- 202"


@table({
    "static": CODE.format(above="pass", base="object", decorated="@staticmethod", params="", mark=MARK),
    "static, of a class with a base": CODE.format(above="pass", base="Program", decorated="@staticmethod", params="", mark=MARK),
    "of a class": CODE.format(above="pass", base="Program", decorated="@classmethod", params="cls, ", mark=MARK),
    "a method": CODE.format(above="pass", base="Program", decorated="", params="self, ", mark=MARK),
    "one that the base calls": CODE.format(
        above="def run(self):\n        with torch.no_grad():\n            return self.evaluate(self.loader, self.model)",
        base="Program", decorated="", params="self, ", mark="",
    ),
    "of a framework's class": CODE.format(above="pass", base="pl.LightningModule", decorated="", params="self, ", mark=""),
    "decorated by what nobody sees": CODE.format(above="pass", base="Program", decorated="@quietly", params="self, ", mark=""),
})
def test_evaluations(code):
    holds(code)
