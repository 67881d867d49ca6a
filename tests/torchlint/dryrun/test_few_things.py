"""Models and optimizers in dicts and lists that are gone through one by one, and generators that never end."""

from .support import holds, table


@table({
    "in a dict that another one is made of": """
def build():
    return {"a": nn.Linear(3, 1), "b": nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())}


def train(loader):
    models = {name: model.to("cuda") for name, model in build().items()}
    optimizers = {name: torch.optim.Adam(model.parameters()) for name, model in models.items()}
    for x, y in loader:
        loss = F.binary_cross_entropy_with_logits(models["b"](x.cuda()), y.cuda())  # <- 303
        loss.backward()  # <- 101
        optimizers["b"].step()
""",
    "in a dict that a loop fills": """
def train(loader):
    models = {"a": nn.Linear(3, 1), "b": nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())}
    optimizers = {}
    for name, model in models.items():
        optimizers[name] = torch.optim.Adam(model.parameters())
    for x, y in loader:
        loss = F.binary_cross_entropy_with_logits(models["b"](x), y)  # <- 303
        loss.backward()  # <- 101
        optimizers["b"].step()
""",
    "in two lists side by side": """
def train(loader):
    models = [nn.Sequential(nn.Linear(3, 3), nn.Softmax(1)), nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Softmax(1))]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    for x, y in loader:
        for number, (model, optimizer) in enumerate(zip(models, optimizers)):
            loss = F.cross_entropy(model(x), y)  # <- 301
            loss.backward()  # <- 101
            optimizer.step()
""",
    "each is put into a mode": """
def train(loader, test):
    first, second = nn.Sequential(nn.Linear(3, 3), nn.Dropout()), nn.Linear(3, 2)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for epoch in range(3):
        for model in (first, second):
            model.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(second(first(x)), y).backward()
            optimizer.step()
        for model in (first, second):
            model.eval()
        with torch.no_grad():
            print(sum((second(first(x)).argmax(1) == y).sum().item() for x, y in test))
""",
    "each optimizer of a list is cleared": """
def train(loader):
    first, second = nn.Linear(3, 3), nn.Linear(3, 2)
    optimizers = [torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.SGD(second.parameters(), lr=0.1)]
    for x, y in loader:
        for optimizer in optimizers:
            optimizer.zero_grad()
        F.cross_entropy(second(first(x)), y).backward()
        for optimizer in optimizers:
            optimizer.step()
""",
})
def test_each_of_a_few_things_is_known(code):
    holds(code)


CYCLE = """
def cycle(loader):
    while True:
        for batch in loader:
            yield batch

"""


@table({
    "what stands behind the call is run": """
def train(loader):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches, losses = cycle(loader), []
    for step in range(1000):
        x, y = next(batches)
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # <- 101
        optimizer.step()
        losses.append(loss)  # <- 106
""",
    "in a loop": """
def train(loader):
    model = nn.Sequential(nn.Linear(3, 2), nn.Softmax(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(cycle(loader)):
        loss = F.cross_entropy(model(x), y)  # <- 301
        loss.backward()  # <- 101
        optimizer.step()
        if step > 1000:
            break
    torch.save(model, "model.pt")  # <- 902
""",
    "a sound one": """
def train(loader):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = cycle(loader)
    for step in range(1000):
        x, y = next(batches)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
})
def test_an_endless_generator_does_not_end_its_caller(code):
    holds(CYCLE + code)


@table({
    "an evaluation behind it": """
def fit(model: nn.Module, loaders, clock):
    optimizer = torch.optim.Adam(model.parameters())
    for split in ["train", "valid", "test"]:
        total = 0.0
        for inputs, labels in loaders[split]:
            loss = F.cross_entropy(model(inputs), labels)  # <- 202
            if split == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item()
        print(split, total / len(loaders[split]))
        if clock.is_over():
            break
""",
    "what was written before it is there behind the loop": """
def fit(loader, clock):
    scores, chosen = None, nn.Linear(3, 3)
    for model in (nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Softmax(1))):
        chosen = nn.Sequential(model, nn.Softmax(1))
        if clock.is_over():
            break
        chosen = nn.Sequential(nn.Softmax(1))
    for x, y in loader:
        print(F.cross_entropy(chosen(x), y))  # <- 301
""",
    "what the later turns write is not there where it left": """
def fit(loader, clock):
    chosen = nn.Linear(3, 3)
    for model in (nn.Linear(3, 3), nn.Linear(3, 3)):
        if clock.is_over():
            break
        chosen = nn.Sequential(model, nn.Softmax(1))
    for x, y in loader:
        print(F.cross_entropy(chosen(x), y))
""",
    "none of its turns comes to an end": """
def fit(loader):
    for model in (nn.Sequential(nn.Linear(3, 3), nn.Softmax(1)), nn.Linear(3, 3)):
        break
    for x, y in loader:
        print(F.cross_entropy(model(x), y))  # <- 301
""",
    "what stands in the else": """
def fit(loader, clock):
    for model in (nn.Linear(3, 3), nn.Linear(3, 3)):
        if clock.is_over():
            chosen = nn.Linear(3, 3)
            break
    else:
        chosen = nn.Sequential(model, nn.Softmax(1))
    for x, y in loader:
        print(F.cross_entropy(chosen(x), y))
""",
})
def test_a_loop_over_a_few_things_that_may_be_left(code):
    holds(code)


EACH_ONE_OF_SEVERAL = """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width))

    def forward(self, x):
        return self.layers(x)


def build(name):
    if name == "small":
        return Net(8), nn.Linear(8, 2)
    if name == "middle":
        return Net(16), nn.Linear(16, 2)
    if name == "large":
        return Net(32), nn.Linear(32, 2)
    return Net(64), nn.Linear(64, 2)


def main(name, loader, others):
    net, head = build(name)
    optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": head.parameters()}], lr=0.1)
    for epoch in range(10):
        _, _ = [part.train() for part in (net, head)]
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(head(net(x)), y).backward()
            optimizer.step()
        EVALUATES
        right = 0
        with torch.no_grad():
            for x, y in others:
                right += (head(net(x)).argmax(1) == y).sum().item()MARK
        print(right)
"""


@table({
    "both are evaluated": EACH_ONE_OF_SEVERAL.replace("EVALUATES", "_, _ = [part.eval() for part in (net, head)]").replace("MARK", ""),
    "in a loop": EACH_ONE_OF_SEVERAL.replace("EVALUATES", "for part in (net, head):\n            part.eval()").replace("MARK", ""),
    "one of them is": EACH_ONE_OF_SEVERAL.replace("EVALUATES", "_ = [part.eval() for part in (head,)]").replace("MARK", "  # <- 201"),
})
def test_each_of_a_few_things_is_one_of_several(code):
    holds(code)
