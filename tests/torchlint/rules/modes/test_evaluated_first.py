"""203 where each epoch begins with an evaluation: the training never runs in training mode, though train() is called."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def check(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    %s
    return right

def main(batches, others):
    model.train()
    for epoch in range(10):
        %s
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)%s
            loss.backward()
            optimizer.step()
"""


@table({
    "each epoch begins with it": PROGRAM % ("", "print(check(model, others))", "  # <- 203"),
    "some do": PROGRAM % ("", "if epoch % 2 == 0: print(check(model, others))", "  # <- 203"),
    "it puts the mode back": PROGRAM % ("model.train()", "print(check(model, others))", ""),
    "evaluation mode on purpose, in the training itself": PROGRAM % ("", "model.eval()", ""),
})
def test_evaluated_first(code):
    holds(code)


@table({
    "the training asks which mode it is in": """
def main(args, batches, others):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        if args.weights == "finetune":
            model.train()
        elif args.weights == "freeze":
            model.eval()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(sum((model(x).argmax(1) == y).sum().item() for x, y in others))
""",
    "it asks something else": """
def main(args, batches, others):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for epoch in range(10):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()  # <- 203
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(sum((model(x).argmax(1) == y).sum().item() for x, y in others))
""",
})
def test_a_mode_that_is_chosen(code):
    holds(code)


LAYERS = """
from collections import OrderedDict

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(OrderedDict({"first": nn.Linear(4, 4), "second": %s}))

    def forward(self, x):
        return self.layers(x)

    def loss(self, x, y):
        self.eval()
        return F.mse_loss(self(x), y)%s

def main(batches):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    net.train()
    for x, y in batches:
        optimizer.zero_grad()
        net.loss(x, y).backward()
        optimizer.step()
"""


@table({
    "layers that know no mode": LAYERS % ("nn.Tanh()", ""),
    "one that does": LAYERS % ("nn.Dropout()", "  # <- 203"),
})
def test_layers_of_a_dict(code):
    holds(code)


CONTINUED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), {layer}

    def forward(self, x):
        return self.last(self.first(x))

def main(args, batches, others):
    net = {made}
    if args.resume:
        net = torch.load(args.resume)["net"].cpu()  # <- 901
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(10):
        net.train()
        for step, (x, y) in enumerate(batches):
            if step == 100:
                net.eval()
                with torch.no_grad():
                    print(F.cross_entropy(net(others), y).item())
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
"""


def continued(made="Net()", layer="nn.Linear(4, 2)", mark=""):
    return CONTINUED.format(made=made, layer=layer).replace("loss = F.cross_entropy(net(x), y)", f"loss = F.cross_entropy(net(x), y){mark}")


@table({
    "a model without modes, or one that a file has": continued(),
    "the same in a wrapper": continued(made="nn.DataParallel(Net())"),
    "a model with dropout, or one that a file has": continued(layer="nn.Dropout()", mark="  # <- 203"),
})
def test_a_model_out_of_a_file(code):
    holds(code)


BEHIND_THE_FORWARD = """
def fit(critic, opt, other, loader):
    critic = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for x, y in loader:
        {first}
        scores = critic(x){mark}
        critic.eval()
        loss = F.mse_loss(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@table({
    "each turn begins in training mode": BEHIND_THE_FORWARD.format(first="critic.train()", mark=""),
    "only the first one does": BEHIND_THE_FORWARD.format(first="pass", mark="  # <- 203"),
})
def test_a_mode_behind_the_forward(code):
    holds(code)
