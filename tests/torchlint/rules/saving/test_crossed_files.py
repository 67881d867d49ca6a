"""905 of a schedule whose state is taken out of the file of another model."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
from torch.optim.lr_scheduler import ReduceLROnPlateau

def main(args, coder: nn.Module, loader, validate):
    state = torch.load(args.coder, map_location="cpu")
    CODER
    net = nn.Linear(4, 2)
    optimizer = torch.optim.RMSprop(net.parameters())
    scheduler = ReduceLROnPlateau(optimizer, patience=5)
    if args.reload:
        net_state = torch.load(args.file, map_location="cpu")
        net.load_state_dict(net_state["model"])
        optimizer.load_state_dict(net_state["optimizer"])
        LOADED
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        scheduler.step(validate(net))
        torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), SAVED}, args.file)
"""
OF_THE_CODER = 'coder.load_state_dict(state["model"])'
SAVED = '"scheduler": scheduler.state_dict()'


@pytest.mark.parametrize(("coder", "loaded", "saved", "told"), [
    (OF_THE_CODER, 'scheduler.load_state_dict(state["scheduler"])', SAVED, True),
    (OF_THE_CODER, 'scheduler.load_state_dict(net_state["scheduler"])', SAVED, False),
    # A file of the training beside that of the weights:
    ("print(len(state))", 'scheduler.load_state_dict(state["scheduler"])', SAVED, False),
    (OF_THE_CODER, 'scheduler.load_state_dict(state["scheduler"])', '"epoch": epoch', False),  # it is saved somewhere else
    (OF_THE_CODER, 'scheduler.load_state_dict(state["coders"])', SAVED, False),
    # A training that is gone on with in two files:
    (OF_THE_CODER + '\n    coder_optim = torch.optim.Adam(coder.parameters())\n    coder_optim.load_state_dict(state["optim"])',
     'scheduler.load_state_dict(state["scheduler"])', SAVED, False),
    (OF_THE_CODER, 'state = torch.load(args.other, map_location="cpu")\n        scheduler.load_state_dict(state["scheduler"])', SAVED, False),
])
def test_out_of_another_file(coder, loaded, saved, told):
    code = PROGRAM.replace("CODER", coder).replace("SAVED", saved)
    holds(code.replace("LOADED", loaded + "  # <- 905" * told))
