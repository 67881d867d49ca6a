"""501 of layers in a plain list whose parameters others ask for only to know them again, by their ids."""

from tests.torchlint.dryrun.support import holds, table

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 2)
        self.crops = [nn.Linear(4, 4).cuda(), nn.Linear(4, 4).cuda()]{mark}

    def forward(self, x):
        return self.out(self.crops[0](x) + self.crops[1](x))

def main(loader):
    net = Net().cuda()
    {chosen}
    optimizer = torch.optim.SGD([{{"params": net.out.parameters()}}, {{"params": some, "lr": 1.0}}], lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
"""
BAD = "  # <- 501"
KNOWN = "some = [p for p in net.parameters() if id(p) in ids]"


def net(*chosen, mark=""):
    return NET.format(chosen="\n    ".join(chosen), mark=mark)


@table({
    "ids of both": net("ids = list(map(id, net.crops[0].parameters())) + list(map(id, net.crops[1].parameters()))", KNOWN, mark=BAD),
    "ids of a comprehension": net("ids = [id(p) for p in net.crops[0].parameters()]", KNOWN, mark=BAD),
    "in a set": net("ids = {id(weight) for weight in net.crops[1].parameters()}", KNOWN, mark=BAD),
    "the parameters themselves": net("some = list(net.crops[0].parameters()) + list(net.crops[1].parameters())"),
    "ids, and the parameters": net("ids = list(map(id, net.crops[0].parameters()))", "some = [*net.crops[0].parameters(), *net.crops[1].parameters()]"),
    "the layers, for whoever wants their parameters": net("some = [p for layer in net.crops for p in layer.parameters() if id(p)]"),
})
def test_parameters_that_are_asked_for_by_id(code):
    holds(code)
