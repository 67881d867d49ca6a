"""132 where a method of a tensor is kept in place of what it gives."""

from tests.torchlint.dryrun.support import holds, table

KEPT = """
def train(net: nn.Module, loader, optimizer, scores):
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append({kept}){mark}
    return losses
"""


@table({
    "a number": KEPT.format(kept="loss.item", mark="  # <- 132"),
    "a tensor without its graph": KEPT.format(kept="loss.detach", mark="  # <- 132"),
    "called": KEPT.format(kept="loss.item()", mark=""),
    "an attribute of something else": KEPT.format(kept="scores.item", mark=""),
})
def test_kept_methods(code):
    holds(code)
