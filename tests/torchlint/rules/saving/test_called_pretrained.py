"""905 of an option that is called pretrained, and whose default is the file that the training writes."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--pretrained_weights", default="DEFAULT")
parser.add_argument("--out", default="checkpoints")
opt = parser.parse_args()

def train(model: nn.Module, loader):
    if ASKED:
        model.load_state_dict(torch.load(opt.pretrained_weights, weights_only=True))MARK
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), opt.out + "/net_final.pth")
"""
BAD = "  # <- 905"


def code(default="checkpoints/net_final.pth", asked="opt.pretrained_weights", mark=""):
    return CODE.replace("DEFAULT", default).replace("ASKED", asked).replace("MARK", mark)


@table({
    "its own file": code(mark=BAD),
    "another file": code("weights/darknet.pth"),
    "none": code(""),
    "where something else is asked": code(asked="opt.pretrain"),
})
def test_called_pretrained(code):
    holds(code)
