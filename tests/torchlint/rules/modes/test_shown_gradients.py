"""202: an evaluation that shows the gradients that the training has left needs none of its own."""

from tests.torchlint.dryrun.support import holds, table

SHOWN = """
net, criterion = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2)), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(loader):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()


def test(loader, writer, epoch):
    net.eval()
    total = 0.0
    for x, y in loader:
        total += criterion(net(x), y).item(){mark}
    writer.add_scalar("loss", total, epoch)
    {behind}


def main(loader, test_loader, writer):
    for epoch in range(9):
        train(loader)
        test(test_loader, writer, epoch)
"""


@table({
    "of each parameter": SHOWN.format(mark="  # <- 202", behind="""for name, value in net.named_parameters():
        writer.add_histogram(name + '/grad', value.grad, epoch)"""),
    "their norms": SHOWN.format(mark="  # <- 202", behind="""for p in net.parameters():
        writer.add_scalar("norm", p.grad.norm().item(), epoch)"""),
    "autograd is asked": SHOWN.format(mark="", behind="""for p in net.parameters():
        print(torch.autograd.grad(net(x).sum(), p)[0], p.grad)"""),
    "of the input": SHOWN.format(mark="", behind="writer.add_image('saliency', x.grad, epoch)"),
})
def test_gradients_that_are_shown(code):
    holds(code)
