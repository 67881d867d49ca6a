"""905 where a training goes on from weights that a helper puts together of what was read."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
def matched(model, state):
    own = model.state_dict()
    for key in own.keys():
        if key in state and own[key].shape == state[key].shape:
            own[key] = GIVEN
    model.load_state_dict(own)

def main(args, loader):
    model = nn.Linear(4, 2)
    if args.last_checkpoint is not None:
        matched(model, torch.load(args.last_checkpoint, weights_only=True))MARK
    optimizer = torch.optim.Adam(model.parameters())
    STATE
    for epoch in range(args.epoch_start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model.state_dict(), f"epoch-{epoch}.pth")
"""


def code(given="state[key]", state="print(epochs)", mark="  # <- 905"):
    return CODE.replace("GIVEN", given).replace("STATE", state).replace("MARK", mark)


@table({
    "weights that match": code(),
    "none out of the file": code("torch.zeros_like(own[key])", mark=""),
    "the optimizer's state, too": code(state="optimizer.load_state_dict(torch.load(args.optimizer, weights_only=True))", mark=""),
})
def test_put_together(code):
    holds(code)
