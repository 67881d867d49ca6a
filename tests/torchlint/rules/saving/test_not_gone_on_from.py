"""905: checkpoints that a program loads, and does not go on from."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
net, start_epoch = nn.Linear(4, 2), 0
if args.resume:
    checkpoint = torch.load("a.pt")
    net.load_state_dict(checkpoint["net"])
    start_epoch = checkpoint["epoch"]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

def train(epoch):
    for x, y in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()

def save(epoch):
    state = {"net": net.state_dict(), "epoch": epoch}
    torch.save(state, "a.pt")MARK

if ASKED:
    for epoch in range(start_epoch, start_epoch + 10):
        train(epoch)
        save(epoch)
"""


@pytest.mark.parametrize(("asked", "mark"), [("not args.resume", ""), ("True", "  # <- 905"), ("not args.test", "  # <- 905")])
def test_trained_only_where_nothing_was_loaded(asked, mark):
    holds(PROGRAM.replace("ASKED", asked).replace("MARK", mark))
