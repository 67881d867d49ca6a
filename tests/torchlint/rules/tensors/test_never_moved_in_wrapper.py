"""401: a model in a DataParallel whose weights nobody brings to the GPU."""

from tests.torchlint.dryrun.support import holds, table

NETS = """
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x)


class Parted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.DataParallel(nn.Linear(4, 2), device_ids=[0, 1])

    def forward(self, x):
        return self.body(x){inside}

"""
FIT = NETS + """
def fit(loader, helper):
    net = {made}
    {then}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward(){mark}
        optimizer.step()
"""
WRAP = "net = nn.DataParallel(net)"
KEPT = NETS + """
class Trainer:
    def __init__(self):
        self.net = nn.DataParallel(Plain())

    def fit(self, loader):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            optimizer.step()
"""


def fit(made="Plain()", then=WRAP, inside="", mark=""):
    return FIT.format(made=made, then=then, inside=inside, mark=mark)


@table({
    "a model": fit(mark="  # <- 401"),
    "of several GPUs": fit(then=f"if torch.cuda.device_count() > 1:\n        {WRAP}", mark="  # <- 401"),
    "a part of one": fit("Parted()", "pass", inside="  # <- 401"),
})
def test_nobody_moves_it(code):
    holds(code)


@table({
    "moved": fit(then=f"{WRAP}.cuda()"),
    "moved before": fit(then=f"net.cuda()\n    {WRAP}"),
    "a part of one that is moved": fit("Parted()", "net.cuda()"),
    "by somebody who is not seen": fit(then=f"{WRAP}\n    helper.prepare(net)"),
    "meant for the CPU": fit(then=f"net.load_state_dict(torch.load('net.pt', map_location='cpu'))\n    {WRAP}"),
    "made elsewhere": fit("helper.net()"),
    "a default": fit(then=f"torch.set_default_device('cuda')\n    {WRAP}"),
    "no wrapper": fit(then="pass"),
    "kept for its owner": KEPT.format(inside=""),
})
def test_it_may_be_moved(code):
    holds(code)
