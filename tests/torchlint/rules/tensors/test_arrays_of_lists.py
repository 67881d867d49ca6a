"""416: lists of tensors with a graph that numpy or a plot makes arrays of. 405: several results thrown away in one line."""

from tests.torchlint.dryrun.support import holds, table

TRAINED = """
import numpy as np
import matplotlib.pyplot as plt

def main(loader):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    history = []
    for epoch in range(9):
        losses, last = [], None
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            {kept}
        {read}
    {behind}
"""


def trained(kept="losses.append(loss)  # <- 106", read="print(epoch)", behind="return history"):
    return TRAINED.format(kept=kept, read=read, behind=behind)


@table({
    "the mean of an epoch": trained(read="print(np.mean(losses))  # <- 416"),
    "an array of them": trained(read="array = np.asarray(losses)  # <- 416"),
    "the last of each epoch, plotted": trained("last = loss", "history.append(loss)  # <- 106", "plt.plot(history)  # <- 416"),
    "plotted, of one name": trained("history.append(loss)  # <- 106", behind="plt.plot(history, label='loss')  # <- 416"),
    "plotted over the epochs": trained("history.append(loss)  # <- 106", behind="plt.plot(range(9), history)  # <- 416"),
    "rows with other numbers": trained("history.append([epoch, loss])  # <- 106", behind="return np.array(history)  # <- 416"),
    "of a type": trained("history.append((epoch, loss))  # <- 106", behind="return np.array(history, dtype=np.float32)  # <- 416"),
    "of a type of Python's": trained("history.append((epoch, loss))  # <- 106", behind="return np.array(history, dtype=float)  # <- 416"),
    "with fields": trained("history.append((epoch, loss))  # <- 106", behind="return np.array(history, dtype=[('epoch', 'i4'), ('loss', 'f4')])"),
    "with fields of that name": trained("history.append((epoch, loss))  # <- 106", behind="return np.array(history, dtype=fields)"),
    "numbers": trained("losses.append(loss.item())", "print(np.mean(losses))", "plt.plot(losses)"),
    "detached": trained("losses.append(loss.detach())", "print(np.mean(losses))"),
    "by torch": trained(read="print(torch.stack(losses).mean())"),
    "numbers of the list": trained(read="print(np.mean([one.item() for one in losses]))"),
    "plotted before": trained("history.append(loss)  # <- 106").replace("    history = []", "    history = []\n    plt.plot(history)"),
    "parameters are counted": trained("history.append(loss)  # <- 106", behind="plt.plot(history)  # <- 416").replace(
        "    history = []", "    history = []\n    print(sum(p.numel() for p in net.parameters() if p.requires_grad))"),
    "parameters are frozen": trained("history.append(loss)  # <- 106", behind="plt.plot(history)  # <- 416").replace(
        "    history = []", "    history = []\n    net.bias.requires_grad = False"),
    "something else is asked": trained("history.append(loss)  # <- 106", behind="if not loss.requires_grad:\n        plt.plot(history)"),
    "without gradients": """
import numpy as np

@torch.no_grad()
def test(net, loader):
    losses = []
    for x, y in loader:
        losses.append(F.cross_entropy(net(x), y))
    return np.mean(losses)
""",
    "asked first": """
import numpy as np

def test(loader):
    net, losses = nn.Linear(4, 2), []
    for x, y in loader:
        losses.append(F.cross_entropy(net(x), y))
    return np.mean([one.detach() if one.requires_grad else one for one in losses])
""",
})
def test_lists(code):
    holds(code)


@table({
    "two in a line": """
def ratio(x):
    net, old = nn.Linear(4, 2), nn.Linear(4, 2)
    new, before = net(x), old(x)
    new.detach(), before.detach()  # <- 405, 405
    return new / before
""",
    "one of them, and a move of a model": """
def main(x):
    net = nn.Linear(4, 2)
    out = net(x)
    net.cuda(), out.clamp(0, 1)  # <- 405
    return net, out
""",
    "kept": """
def ratio(net, x):
    a, b = net(x), net(x)
    a, b = a.detach(), b.detach()
    return a / b
""",
})
def test_lines(code):
    holds(code)


def drawn(*behind, kept="history.append(loss)  # <- 106"):
    return trained(kept, behind="\n    ".join(behind))


@table({
    "of subplots": drawn("fig, ax = plt.subplots()", "ax.plot(history)  # <- 416"),
    "one of several": drawn("fig, axes = plt.subplots(1, 2)", "axes[0].plot(range(9), history)  # <- 416"),
    "of axes that are unpacked": drawn("fig, (left, right) = plt.subplots(1, 2)", "right.semilogy(history)  # <- 416"),
    "of a figure": drawn("fig = plt.figure()", "ax = fig.add_subplot(111)", "ax.scatter(range(9), history)  # <- 416"),
    "of the same as now": drawn("plt.gca().plot(history)  # <- 416"),
    "numbers": drawn("fig, ax = plt.subplots()", "ax.plot(history)", kept="history.append(loss.item())"),
    "numbers of the list": drawn("fig, ax = plt.subplots()", "ax.plot([one.item() for one in history])"),
    "axes that something else gives": drawn("import viewer", "fig, ax = viewer.subplots()", "ax.plot(history)"),
    "what a parameter may be": drawn("show(fig=None, history=history)") + """
def show(fig, history):
    fig.plot(history)
""",
    "another method": drawn("fig, ax = plt.subplots()", "ax.legend(history)"),
})
def test_axes_ask_for_arrays_as_pyplot_does(code):
    holds(code)


SUMMED = """
import matplotlib.pyplot as plt
import numpy as np

def train(net: nn.Module, loader, show):
    optimizer = torch.optim.Adam(net.parameters())
    history = []
    for epoch in range(9):
        total = {start}
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            {added}
        {kept}
    {behind}
"""
GRAPH = "  # <- 106"


def summed(added="total += loss" + GRAPH, kept="history.append(total / len(loader))" + GRAPH, behind="plt.plot(range(9), history)", start="0"):
    return SUMMED.format(start=start, added=added, kept=kept, behind=behind)


def off(line):
    return f"with torch.no_grad():\n                {line}"


@table({
    "the mean of an epoch": summed(behind="plt.plot(range(9), history)  # <- 416"),
    "the sum": summed(kept="history.append(total)", behind="plt.plot(history)  # <- 416"),
    "of a tensor": summed(start="torch.zeros(1)", behind="print(np.mean(history))  # <- 416"),
    "times the size of the batch": summed("total += loss * len(x)" + GRAPH, behind="plt.plot(range(9), history)  # <- 416"),
    "numbers": summed("total += loss.item()", "history.append(total / len(loader))"),
    "numbers, as a tensor": summed("total += loss.item() * torch.ones(1)", "history.append(total / len(loader))"),
    "detached": summed("total += loss.detach()", "history.append(total / len(loader))"),
    "the number of each epoch": summed(kept="history.append(total.item() / len(loader))"),
    "what somebody else makes of them": summed("total += show(loss)", "history.append(total / len(loader))"),
    "added without gradients": summed(off("total += loss"), "history.append(total / len(loader))"),
    "divided without gradients": summed(kept=off("history.append(total / len(loader))")),
    "added in place, without gradients": summed(
        "total = total + loss" + GRAPH, off("total += 1") + "\n        history.append(total)" + GRAPH, "plt.plot(history)  # <- 416"
    ),
    "a comparison": summed("total += loss > 3", "history.append(total / len(loader))"),
})
def test_sums_of_losses(code):
    holds(code)
