"""Evaluations by what their data are called or are part of, and by what becomes of the output: 202; and 207 beside a training."""

from tests.torchlint.dryrun.support import holds, table

HELD_OUT = """
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

first, second = DataLoader(MNIST("d", train=True), 8, shuffle=True), DataLoader(MNIST("d", {part}), 8, shuffle=True)

def fit(net, loader_train, loader_val, loaders):
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x, y in loader_train:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        total = 0.0
        for i, (x, y) in enumerate({over}):
            total += F.cross_entropy(net(x), y).item(){mark}
        print(total / (i + 1))
"""


@table({
    "named the other way round": HELD_OUT.format(part="train=False", over="loader_val", mark="  # <- 202"),
    "by a key": HELD_OUT.format(part="train=False", over='loaders["val"]', mark="  # <- 202"),
    "the part of a data set": HELD_OUT.format(part="train=False", over="second", mark="  # <- 202"),
    "the part to train on, which is only looked at": HELD_OUT.format(part="train=True", over="second", mark="  # <- 202"),
    "an iteration of something, which is only looked at": HELD_OUT.format(part="train=False", over="loader_train.data_values", mark="  # <- 202"),
})
def test_data_that_are_held_out(code):
    holds(code)


@table({
    "two outputs added up": """
def fit(net, loader, test_loader):
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x in loader:
            opt.zero_grad()
            first, second = net(x)
            (first + second).backward()
            opt.step()
        mean = 0.0
        for i, x in enumerate(test_loader):
            first, second = net(x)  # <- 202
            mean += (first + second - mean) / (i + 1)
""",
    "without gradients": """
def fit(net, loader, test_loader):
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x in loader:
            opt.zero_grad()
            first, second = net(x)
            (first + second).backward()
            opt.step()
        mean = 0.0
        with torch.no_grad():
            for i, x in enumerate(test_loader):
                first, second = net(x)
                mean += (first + second - mean) / (i + 1)
""",
})
def test_what_an_evaluation_adds_up(code):
    holds(code)


LOADED = """
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters())

def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def show(x):
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    {first}
    print(net(x).argmax(1)){mark}

{calls}
"""


@table({
    "a training that is not called": LOADED.format(first="pass", calls="show(torch.randn(1, 4))", mark="  # <- 207"),
    "put in its mode": LOADED.format(first="net.eval()", calls="with torch.no_grad():\n    show(torch.randn(1, 4))", mark=""),
    "trained again": LOADED.format(first="pass", calls="with torch.no_grad():\n    show(torch.randn(1, 4))\ntrain([])", mark=""),
})
def test_a_model_that_is_loaded_beside_its_training(code):
    holds(code)


@table({
    "a step by hand": """
def fit(net, batches, x_val, y_val):
    for x, y in batches:
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        for p in net.parameters():
            p.data.add_(p.grad.data, alpha=-0.1)
        hits = (torch.max(net(x_val), 1)[1] == y_val).sum()  # <- 202
        print(hits.item())
""",
})
def test_an_evaluation_beside_a_step_by_hand(code):
    holds(code)


BODY = """
from torch.utils.data import DataLoader

model = nn.Linear(4, 2)
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)
train_loader, test_loader = DataLoader(first, shuffle=True), DataLoader(second)

for epoch in range(9):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.mse_loss(x, y)
        loss.backward()
        optimizer.step()
    total = 0
    for x, y in {over}:
        total += F.mse_loss(model(x).float(), y).item() / len(test_loader){mark}
    print(total)
"""


@table({
    "what the optimizer has, whatever the training makes of it": BODY.format(optimizer="Adam", over="test_loader", mark="  # <- 202"),
    "other data": BODY.format(optimizer="Adam", over="batches", mark=""),
})
def test_in_the_body(code):
    holds(code)


SUM = """
def {name}(net, loader, criterion, log):
    total = 0
    for x, y in loader:
        {sum} += criterion(net(x), y){mark}
    {behind}
"""


@table({
    "a number of it": SUM.format(name="evaluate", sum="total", behind="return total.item() / len(loader)", mark="  # <- 202"),
    "printed": SUM.format(name="validate", sum="total", behind="print(total / len(loader))", mark="  # <- 202"),
    "given back with its graph": SUM.format(name="evaluate", sum="total", behind="return total / len(loader)", mark=""),
    "gone backward from": SUM.format(name="evaluate", sum="total", behind="total.backward()\n    print(total.item())", mark=""),
    "given to somebody": SUM.format(name="evaluate", sum="total", behind="log.keep(total)\n    print(total.item())", mark=""),
    "kept on an object": SUM.format(name="evaluate", sum="log.total", behind="print(log.total.item())", mark=""),
    "no evaluation": SUM.format(name="measure", sum="total", behind="print(total.item())", mark=""),
})
def test_a_loss_that_is_added_up(code):
    holds(code)


@table({
    "what a helper measures of what was cut off": """
def share(output, target):
    right = output.topk(5, 1)[1].eq(target.view(-1, 1)).float()
    return [right.sum() / len(target)]


def check(net, source, log):
    net.eval()
    total = count = 0
    while source.goes_on:
        x, y = source.next_batch()
        output = net(x)  # <- 202
        total += share(output.detach(), y)[0]
        count += 1
    log.info((total / count).numpy())
""",
    "the sum is given away": """
def check(net, source, log):
    net.eval()
    total = 0
    while source.goes_on:
        x, y = source.next_batch()
        total += (net(x) - y).abs().mean()
    log.keep(total)
    print(total.item())
""",
})
def test_what_is_added_up_in_a_loop_of_its_own(code):
    holds(code)


@table({
    "together": """
def fit(x, y, xtest):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(100):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
    predicted = net(xtest)  # <- 202
    print(predicted.detach().numpy())
""",
    "of a script": """
x, y, xtest = torch.rand(9, 4), torch.rand(9, 1), torch.rand(9, 4)
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(100):
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
print(net(xtest).detach().numpy())  # <- 202
print(net(x).detach().numpy())
""",
    "of a script, with a line behind it": """
x, y, Xtest_ = torch.rand(9, 4), torch.rand(9, 1), torch.rand(9, 4)
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(100):
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
print(net(Xtest_).detach().numpy())  # <- 202
""",
})
def test_names_in_one_word(code):
    holds(code)


LOADED = """
from torch.utils.data import DataLoader

{net}
net.load_state_dict(torch.load("net.pt"))
head = nn.Linear(4, 2)
optimizer = torch.optim.Adam(head.parameters())
loader, test_loader = DataLoader(first, shuffle=True), DataLoader(second)

for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(head(x), y).backward()
        optimizer.step()
    hits = 0
    for x, y in {over}:
        hits += (net(x).argmax(1) == y).sum().item(){mark}
    print(hits)
"""
PLAIN, WITH_DROPOUT = "net = nn.Linear(4, 2)", "net = nn.Sequential(nn.Dropout(), nn.Linear(4, 2))"


@table({
    "with gradients": LOADED.format(net=PLAIN, over="test_loader", mark="  # <- 202"),
    "in training mode": LOADED.format(net=WITH_DROPOUT, over="test_loader", mark="  # <- 201, 202"),
    "over other data": LOADED.format(net=WITH_DROPOUT, over="batches", mark=""),
    "in evaluation mode": LOADED.format(net=WITH_DROPOUT + "\nnet.eval()", over="test_loader", mark="  # <- 202"),
    "as it was made": LOADED.format(net=WITH_DROPOUT, over="test_loader", mark="  # <- 202").replace("net.load_state_dict", "print"),
})
def test_a_model_that_is_loaded_and_another_that_is_trained(code):
    holds(code)


SPEAKS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 9)

    def forward(self, x):
        return self.body(x)

net, best = Net(), Net()
optimizer = torch.optim.Adam(net.parameters())
{before}
for x, y in batches:
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
{behind}
word = torch.rand(1, 4)
for _ in range(100):
    scores = best(word){mark}
    word = words[torch.multinomial(scores.exp(), 1)[0]]
    print(word)
"""
LOADS = "best.load_state_dict(torch.load('net.pt'))"


@table({
    "behind the training": SPEAKS.format(before="", behind=LOADS, mark="  # <- 202"),
    "before it": SPEAKS.format(before=LOADS, behind="", mark="  # <- 202"),
    "as it was made": SPEAKS.format(before="", behind="", mark=""),
    "without gradients": SPEAKS.format(before="", behind=LOADS + "\ntorch.set_grad_enabled(False)", mark=""),
    "and goes backward": SPEAKS.format(before="", behind=LOADS, mark="") + "    scores.sum().backward()\n",
})
def test_a_model_that_is_loaded_and_speaks(code):
    holds(code)


@table({
    "a model that came whole out of a file goes on": """
from torch.utils.data import DataLoader

net = nn.Linear(4, 2)
net.load_state_dict(torch.load("net.pt"))
head = torch.load("head.pt", weights_only=False)
test_loader = DataLoader(second)
for epoch in range(9):
    head.train(epoch)
    hits = 0
    for x, y in test_loader:
        found = net(x)  # <- 202
        if head(found) == y.numpy()[0]:
            hits += 1
    print(hits)
""",
    "something that is not seen goes on": """
from torch.utils.data import DataLoader
from elsewhere import head

net = nn.Linear(4, 2)
net.load_state_dict(torch.load("net.pt"))
test_loader = DataLoader(second)
for epoch in range(9):
    head.train(epoch)
    hits = 0
    for x, y in test_loader:
        found = net(x)
        if head.judge(found) == y.numpy()[0]:
            hits += 1
    print(hits)
""",
})
def test_what_goes_on_with_the_output(code):
    holds(code)


HANDED = """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), LAYER, nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


def curves(model, optimizer, train_loader, OVER, epochs):
    for _ in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        total, hits = 0.0, 0
        for x, y in OVER:
            scores = model(x)MARK
            total += F.cross_entropy(scores, y, reduction="sum").item()
            hits += (scores.argmax(1) == y).sum().item()
        print(total, hits)
"""


def _handed(layer, over, mark):
    return HANDED.replace("LAYER", layer).replace("OVER", over).replace("MARK", mark)


@table({
    "beside models with dropout": _handed("nn.Dropout(0.5)", "test_loader", "  # <- 201, 202"),
    "beside models that know no modes": _handed("nn.ReLU()", "test_loader", "  # <- 202"),
    "on data that are not called held out": _handed("nn.Dropout(0.5)", "batches", "  # <- 202"),
})
def test_a_model_that_is_handed_over_and_put_in_training_mode(code):
    holds(code)


@table({
    "the model": ("model.parameters()", "  # <- 201, 202"),
    "noise that is added to its input": ("[noise]", "  # <- 202"),
})
def test_what_is_trained_beside_held_out_data(code):
    params, mark = code
    holds(f"""
from models import Dropout


def fit(model, noise, loader, test_loader):
    optimizer = torch.optim.Adam({params})
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x + noise), y).backward()
        optimizer.step()
    hits = 0
    for x, y in test_loader:
        hits += (model(x).argmax(1) == y).sum().item(){mark}
    print(hits)
""")
