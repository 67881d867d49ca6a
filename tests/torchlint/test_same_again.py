"""The same text is judged the same, whatever else lies in memory: what is taken of several is the first of the run."""

from tests.torchlint.dryrun.support import IMPORTS, RULES
from torchlint.engine import Engine

CODE = IMPORTS + """
def fit(model, loader, held_out, optimizer):
    model.train()
    for epoch in range(10):
        for x, y, z in loader:
            optimizer.zero_grad()
            a = model(x)
            b = model(y)
            c = model(z)
            (F.cross_entropy(a, b.detach()) + F.mse_loss(b, c) + F.mse_loss(a, c)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y, z in held_out:
                print(model(x).sum().item())
"""


def test_the_first_of_several_forwards():
    kept, rows = [], set()
    for count in range(12):
        found = Engine(RULES).check("a.py", CODE).findings
        rows.add(tuple(finding.location.row for finding in found if finding.number == 203))
        kept.append([object() for _ in range(997 * count)])  # what comes next lies elsewhere
    assert rows == {(CODE[: CODE.index("a = model")].count("\n") + 1,)}
