"""101: a second backward and step under a condition, behind the step of each turn."""

from tests.torchlint.dryrun.support import holds, table

TURN = """
def train(model: nn.Module, other: nn.Module, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        if i % 10 == 0:
            {before}
            loss = criterion(model({given}), y)
            loss.backward(){mark}
            {step}
"""
MARK = "  # <- 101"


def turn(mark=MARK, before="pass", given="x", step="optimizer.step()"):
    return TURN.format(mark=mark, before=before, given=given, step=step)


@table({
    "it adds to what the step has used": turn(),
    "the next turn clears before anybody steps": turn("", step="pass"),
    "it clears": turn("", "optimizer.zero_grad()"),
    "the model clears": turn("", "model.zero_grad()"),
    "it may clear": turn("", "if y.any(): optimizer.zero_grad()"),
    "somebody who is not seen may clear": turn("", "reset(optimizer)"),
    "for another's step": turn("", "second.zero_grad()", "other(x)", "second.step()"),
})
def test_under_a_condition(code):
    holds(code)
