"""904 where the best state is written while training goes on: at once, or in other turns than it is taken in."""

from tests.torchlint.dryrun.support import holds, table

TRAINING = """
def fit(net: nn.Module, loader, epochs):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    least, best = 9.0, None
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if total < least:
            least = total
            best = {taken}{mark}
            {at_once}
        {later}
"""


def training(later, mark="  # <- 904", at_once="pass", taken="net.state_dict()"):
    return TRAINING.format(taken=taken, mark=mark, at_once=at_once, later=later)


@table({
    "every ten epochs": training('if epoch % 10 == 0:\n            torch.save(best, "best.pt")'),
    "in each epoch": training('torch.save({"best": best, "last": net.state_dict()}, "last.pt")'),
    "at once": training("print(total)", mark="", at_once='torch.save(best, "best.pt")'),
    "one of two ways to take it": training('torch.save(best, "last.pt")', mark="").replace("if total < least", 'if hasattr(net, "module")').replace(
        "        torch.save", "        else:\n            best = net.state_dict()\n        torch.save"
    ).replace("least = total", "pass"),
    "one of two ways, by how many": training('torch.save(state, "last.pt")', mark="").replace("total < least", "len(loader) > 0").replace(
        "            best = net", "            state = net"
    ).replace("        torch.save", "        else:\n            state = net.state_dict()\n        torch.save").replace("least = total", "pass"),
    "a copy": training('torch.save(best, "best.pt")', mark="", taken="{name: value.clone() for name, value in net.state_dict().items()}"),
})
def test_saved_in_turns(code):
    holds(code)
