"""302 of one of several models that a program chooses."""

from tests.torchlint.dryrun.support import holds

CHOSEN = """
class Raw(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        return F.log_softmax(self.fc(x), dim=1)
class B(Raw): pass
class C(Raw): pass
class Soft(Raw):
    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)

def go(args, loader):
    if args.model == "cnn":
        if args.data == "a":
            net = Raw()
        elif args.data == "b":
            net = B()
        elif args.data == "c":
            net = C()
    else:
        net = Soft()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    criterion = nn.NLLLoss()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()  # <- 302
        optimizer.step()
"""


def test_one_of_four_models_where_a_choice_may_be_none_of_them():
    holds(CHOSEN)
