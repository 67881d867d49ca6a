"""905 where the state of an optimizer is taken once, before the training, and written all along."""

from tests.torchlint.dryrun.support import holds, table

RESUMED = """
def resumed(model, optimizer, path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


def main(model, loader, epochs):
    optimizer = OPTIMIZER
    FIRST
    for epoch in range(epochs):
        AGAIN
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(state, "last.pt")
"""
STATE = 'state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}'


def program(first, again="pass", made="torch.optim.Adam(model.parameters())"):
    return RESUMED.replace("OPTIMIZER", made).replace("FIRST", first).replace("AGAIN", again)


@table({
    "once": program(STATE + "  # <- 905"),
    "in each epoch": program("pass", STATE),
    "before the training and in each epoch": program(STATE, STATE),
    "put in anew": program(STATE, 'state["optimizer"] = optimizer.state_dict()'),
    "of one that remembers nothing": program(STATE, made="torch.optim.SGD(model.parameters(), lr=0.1)"),
    "behind a first step": program("model(torch.ones(1, 2)).sum().backward()\n    optimizer.step()\n    " + STATE),
    "behind what was brought back": program('resumed(model, optimizer, "last.pt")\n    ' + STATE),
    "gone on from by nobody": program(STATE).replace('    optimizer.load_state_dict(state["optimizer"])\n', ""),
})
def test_early_states(code):
    holds(code)
