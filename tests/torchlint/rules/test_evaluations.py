"""Evaluations as people write them: without eval(), with the mode as an argument, read out in other ways; 201 and 202."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "202: behind the training, over data of any name": """
def main(batches, others):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    model.eval()
    hits = 0
    for x, y in others:
        hits += (model(x).argmax(1) == y).sum().item()  # <- 202
    print(hits)
""",
    "202: behind the training, in training mode": """
def main(batches, others):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    found = []
    for x in others:
        found.append(model(x).data.numpy())  # <- 202
    print(found)
""",
    "202: answers before the training that comes": """
def main(batches, states):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        actions = [model(x).argmax(1).item() for x in states]  # <- 202
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    print(actions)
""",
    "202: answers of a model that somebody else has trained": """
def respond(encoder, decoder, words, start):
    states, state = encoder(words)
    token, answer = start, []
    for _ in range(20):
        scores, state = decoder(token, state, states)  # <- 202
        token = scores.argmax(dim=1)
        answer.append(token.item())
    return answer
""",
    "202: samples whose graph is cut off when it is built already": """
class GAN:
    def __init__(self):
        self.generator = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))

    def sample(self, size):
        images = []
        while len(images) < size:
            batch = self.generator(torch.randn(4, 8)).data.cpu()  # <- 202
            images.extend(batch.numpy())
        return images
""",
    "202: an array of what has a graph raises, so it has none": """
class GAN:
    def __init__(self, generator):
        self.generator = generator

    def sample(self, size):
        images = []
        while len(images) < size:
            images.extend(self.generator(torch.randn(4, 8)).cpu().numpy())
        return images
""",
    "202: the indices of a maximum have no graph": """
def test(net: nn.Module, loader):
    net.eval()
    guesses = []
    for x, y in loader:
        output = net(x)  # <- 202
        best, index = torch.max(output, 1)
        guesses.append(index.cpu().numpy())
    return guesses
""",
    "202: a method of a model is called under what its caller says": """
class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def generate(self, x, state):
        words = []
        for _ in range(20):
            state = self.cell(x, state)
            words.append(state.argmax(dim=1).item())
        return words
""",
    "202: a module that trains itself is a program": """
class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.GRU(4, 8), nn.Linear(8, 1)
        self.optimizer = torch.optim.Adam(self.parameters())

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            for x, y in batches:
                self.learn(x, y)
            print(self.test(batches))

    def learn(self, x, y):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.decoder(self.encoder(x)[0]), y)
        loss.backward()
        self.optimizer.step()

    def test(self, batches):
        total = 0
        for x, y in batches:
            out, _ = self.encoder(x)  # <- 202
            total += abs(self.decoder(out).cpu().data.numpy() - y.numpy()).mean()
        return total
""",
    "202: a module that others train is none": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.GRU(4, 8), nn.Linear(8, 1)

    def look(self, batches):
        print(self.test(batches))

    def test(self, batches):
        total = 0
        for x, y in batches:
            out, _ = self.encoder(x)
            total += abs(self.decoder(out).cpu().data.numpy() - y.numpy()).mean()
        return total
""",
    "202: the loss is added up over some batches": """
def group_loss(output, target):
    return (output - target).abs().mean()

def validate(net: nn.Module, loader, every):
    net.eval()
    total, first = 0, True
    for i, (x, y) in enumerate(loader):
        output = net(x)  # <- 202
        if i % every:
            part = group_loss(output, y)
            if first:
                loss = part
                first = False
            else:
                loss += part
        else:
            loss = loss / every
            first = True
            total += loss.item()
    return total
""",
    "202: the mode is an argument, and the model infers besides": """
def run(model, loader, optimizer, mode):
    if mode == "train":
        model.train()
    else:
        model.eval()
    total = 0
    for x, y in loader:
        output = model(x)  # <- 202
        guess = model.inference(x)
        loss = F.cross_entropy(output, y)
        total += loss.item() + (guess - y).abs().mean().item()
        if mode == "train":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return total

def fit(model: nn.Module, loader, held_out, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        run(model, loader, optimizer, "train")
        print(run(model, held_out, optimizer, "val"))
""",
    "201: read out where the graph is cut off": """
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
    for x, y in held_out:
        output = net(x)  # <- 201, 202
        guess = output.cpu().detach().numpy()
        errors.append(abs(guess - y.numpy()).mean())
""",
})
def test_evaluations(code):
    holds(code)
