"""808: what a program that saves the state of a wrapper says of the wrapper elsewhere."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

SAVES = """
def train(net, loader, path):
    model = nn.DataParallel(net.cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        if i == 0:
            {first}
            continue
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), path)
"""


@pytest.mark.parametrize("first, told", [
    ("model.module(x)", True), ("model(x)", True),
    ("net = model.module", False), ("torch.save(model.module.state_dict(), path)", False), ("getattr(model, 'module').eval(); net = model.module", False),
])
def test_a_call_of_what_is_wrapped_says_nothing_of_the_names(first, told):
    assert any(number == 808 for _, number in found(IMPORTS + SAVES.format(first=first))) is told


LOADS = """
def load_net(net, path):
    net.load_state_dict(torch.load(path))

"""


@pytest.mark.parametrize("named, told", [("", True), ("print(load_net)", False)])
def test_what_nobody_calls_loads_nothing(named, told):
    assert any(number == 808 for _, number in found(IMPORTS + LOADS + SAVES.format(first=named or "pass"))) is told
