"""708, and its like, of names that a function imports for itself."""

from tests.torchlint.dryrun.support import holds

CODE = """
def train(net: nn.Module, optimizer, loader, half, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        if not half:
            loss = F.cross_entropy(net(x), y)
        else:
            FROM
            with NAME():MARK
                loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""


def test_an_old_name_that_a_branch_imports():
    for imported, name in (("from torch.cuda.amp import autocast", "autocast"), ("from torch.cuda.amp import autocast as cast", "cast"), ("from torch.cuda import amp", "amp.autocast")):
        holds(CODE.replace("FROM", imported).replace("NAME", name).replace("MARK", "  # <- 708"))
    holds(CODE.replace("FROM", "from elsewhere import autocast").replace("NAME", "autocast").replace("MARK", ""))
