"""202 of what is no loop: a look at the test data behind the training, one picture, an epoch's samples; and `volatile=True`."""

from tests.torchlint.dryrun.support import holds, table

TRAINED = """
def main(loader, x_test, y_test):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


@table({
    "behind the training": TRAINED + """
    model.eval()
    print((model(x_test).argmax(1) == y_test).sum().item())  # <- 202
""",
    "in a program that lets cuDNN choose": TRAINED.replace("(loader, x_test, y_test):", "(loader, picture):\n    torch.backends.cudnn.benchmark = True") + """
    model.eval()
    print(model(picture).argmax(1).item())  # <- 202
""",
    "in a program that measures times": TRAINED.replace("(loader, x_test, y_test):", "(loader, picture, benchmark):") + """
    model.eval()
    benchmark(model)
    print(model(picture).argmax(1).item())
""",
    "behind the training, in no mode, of data that are called held out": TRAINED + """
    print((model(x_test).argmax(1) == y_test).sum().item())  # <- 201, 202
""",
    "behind the training, of what may be training data": TRAINED + """
    print((model(y).argmax(1) == y).sum().item())
""",
    "without gradients": TRAINED + """
    model.eval()
    with torch.no_grad():
        print((model(x_test).argmax(1) == y_test).sum().item())
""",
    "the output goes on to a training of its own": TRAINED + """
    model.eval()
    loss = F.cross_entropy(model(x_test), y_test)
    print(loss.item())
    loss.backward()
""",
    "one picture, by weights from a file": """
def main(path, image):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    net.load_state_dict(torch.load(path))
    net.eval()
    print(net(image).data.cpu().numpy())  # <- 202
""",
    "a try whether it runs": """
def main():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    net.eval()
    print(net(torch.randn(2, 3, 8, 8)).detach().numpy())
""",
    "a try with weights, on noise": """
def main(path):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    net.load_state_dict(torch.load(path))
    net.eval()
    print(net(torch.randn(2, 3, 8, 8)).detach().numpy())
""",
    "beside an export": """
import onnx

def main(path, image):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    net.load_state_dict(torch.load(path))
    net.eval()
    torch.onnx.export(net, image, "net.onnx")
    print(net(image).detach().numpy())
""",
    "of a model that is given": """
def embed(model, image):
    model.eval()
    return model(image).detach().cpu().numpy()  # <- 202
""",
    "by a function that others train with, too": """
class Solver:
    def __init__(self):
        self.net = nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def solve(self, x, y):
        return self.net(torch.cat((x, y), 1))

    def fit(self, x, y, u):
        for _ in range(9):
            self.optimizer.zero_grad()
            F.mse_loss(self.solve(x, y), u).backward()
            self.optimizer.step()

    def post(self, x, y):
        self.net.eval()
        print(self.solve(x, y).data.cpu().numpy())  # <- 202

def main(x, y, u):
    solver = Solver()
    solver.fit(x, y, u)
    solver.post(x, y)
""",
    "of a model that is given, in no mode": """
def predict(model, image):
    return model(image).detach().cpu().numpy()
""",
    "the output is kept with its graph": """
class Map:
    def __init__(self, model):
        self.model = model

    def predict(self, image):
        self.model.eval()
        self.out = self.model(image)
        return self.out.argmax(1).item()
""",
    "somebody else is given the model": """
from maps import explain

def look(model, image):
    model.eval()
    print(model(image).argmax(1).item())
    return explain(model, image)
""",
    "somebody else is given the output": """
from graphviz_of import draw

def look(model, image):
    model.eval()
    out = model(image)
    print(out.argmax(1).item())
    draw(out)
""",
})
def test_one_forward(code):
    holds(code)


EPOCHS = """
class GAN:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 2))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def train(self, loader):
        for epoch in range(9):
            for x, _ in loader:
                self.net.train()
                self.optimizer.zero_grad()
                self.net(x).mean().backward()
                self.optimizer.step()
            {epoch}
"""


@table({
    "once an epoch, in a method": EPOCHS.format(epoch="self.show(epoch)") + """
    def show(self, epoch):
        self.net.eval()
        images = self.net(torch.randn(4, 8))  # <- 202
        save_image(images.data, f"{epoch}.png")
""",
    "once a batch, in a method": EPOCHS.format(epoch="    self.show(epoch)") + """
    def show(self, epoch):
        self.net.eval()
        images = self.net(torch.randn(4, 8))  # <- 202
        save_image(images.data, f"{epoch}.png")
""",
    "once an epoch, without gradients": EPOCHS.format(epoch="self.show(epoch)") + """
    @torch.no_grad()
    def show(self, epoch):
        self.net.eval()
        images = self.net(torch.randn(4, 8))
        save_image(images.data, f"{epoch}.png")
""",
    "once an epoch, and learned from": EPOCHS.format(epoch="self.show(epoch)") + """
    def show(self, epoch):
        self.net.eval()
        images = self.net(torch.randn(4, 8))
        save_image(images.data, f"{epoch}.png")
        images.mean().backward()
""",
})
def test_in_the_midst_of_training(code):
    holds("from torchvision.utils import save_image\n" + code)


@table({
    "one picture": """
from torch.autograd import Variable

def stylize(path, image):
    net = nn.Sequential(nn.Conv2d(3, 8, 3))
    net.load_state_dict(torch.load(path))
    image = Variable(image.unsqueeze(0), volatile=True)  # <- 942
    red, green = torch.chunk(net(image).data[0], 2)  # <- 202
    return torch.cat((green, red)).clamp(0, 255).numpy()
""",
    "by way of a helper": """
from torch.autograd import Variable

def variable(x, volatile=False):
    return Variable(x, volatile=volatile)  # <- 942

def features(net: nn.Module, batches):
    return [net(variable(x, volatile=True)).data.cpu().numpy() for x in batches]  # <- 202
""",
    "switched off": """
from torch.autograd import Variable

def features(net: nn.Module, batches):
    return [net(Variable(x, volatile=False)).data.cpu().numpy() for x in batches]
""",
    "without gradients, too": """
from torch.autograd import Variable

@torch.no_grad()
def features(net: nn.Module, batches):
    return [net(Variable(x, volatile=True)).data.cpu().numpy() for x in batches]  # <- 942
""",
})
def test_volatile(code):
    holds(code)


@table({
    "by multinomial": """
def generate(decoder, start, hidden):
    token, found = start, []
    for _ in range(20):
        scores, hidden = decoder(token, hidden)  # <- 202
        token = torch.multinomial(scores.data.view(-1).div(0.8).exp(), 1)[0]
        found.append(chr(token))
    return found

def main(pairs, start, hidden):
    decoder = nn.GRU(3, 3)
    optimizer = torch.optim.Adam(decoder.parameters())
    for x, y in pairs:
        optimizer.zero_grad()
        F.mse_loss(decoder(x)[0], y).backward()
        optimizer.step()
        print(generate(decoder, start, hidden))
""",
    "by a distribution": """
from torch.distributions import Categorical

def generate(decoder: nn.Module, start, hidden):
    token, found = start, []
    for _ in range(20):
        scores, hidden = decoder(token, hidden)  # <- 202
        token = Categorical(torch.softmax(scores, 0)).sample()
        found.append(token.item())
    return found
""",
    "and the probability is kept": """
from torch.distributions import Categorical

def generate(decoder: nn.Module, start, hidden, kept):
    token, found = start, []
    for _ in range(20):
        scores, hidden = decoder(token, hidden)
        drawn = Categorical(torch.softmax(scores, 0))
        token = drawn.sample()
        kept.append(drawn.log_prob(token))
        found.append(token.item())
    return found
""",
})
def test_tokens_are_drawn(code):
    holds(code)


SCRIPT = """
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 10)

    def forward(self, x):
        return self.fc(x)

train_loader, other = DataLoader(CIFAR10("d"), 4, shuffle=True), DataLoader(CIFAR10("d", train=False), 4)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(9):
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
torch.save(net.state_dict(), "net.pt")
net = Net()
net.load_state_dict(torch.load("net.pt"))
{code}
"""


@table({
    "a batch of the test data": SCRIPT.format(code="""
images, labels = next(iter(other))
outputs = net(images)  # <- 202
print(torch.max(outputs, 1)[1])
"""),
    "with an iterator of its own": SCRIPT.format(code="""
batches = iter(other)
images, labels = next(batches)
outputs = net(images.float())  # <- 202
print(torch.max(outputs, 1)[1])
hits = 0
with torch.no_grad():
    for images, labels in other:
        hits += (net(images).argmax(1) == labels).sum().item()
print(hits)
"""),
    "of the training data": SCRIPT.format(code="""
images, labels = next(iter(train_loader))
outputs = net(images)
print(torch.max(outputs, 1)[1])
"""),
    "in a function that trains the model that it is given": """
def fit(net, loader, test_loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    images, labels = next(iter(test_loader))
    print(net(images).argmax(1))  # <- 202
""",
    "in a function that only asks it": """
def show(net, test_loader):
    images, labels = next(iter(test_loader))
    print(net(images))
""",
})
def test_a_batch_of_what_is_held_out(code):
    holds(code)


EXPORTED = """
from elsewhere import read
x_train, y_train, x_test, y_test = read()
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(9):
    optimizer.zero_grad()
    F.cross_entropy(net(x_train), y_train).backward()
    optimizer.step()
{asked}
torch.onnx.export(net, x_train[:1], "net.onnx")
"""


@table({
    "measured, and exported as well": EXPORTED.format(asked="print((net(x_test).argmax(1) == y_test).float().mean())  # <- 202"),
    "asked for an output to compare with": EXPORTED.format(asked="expected = net(x_train[:1])\nprint(expected)"),
})
def test_beside_an_export(code):
    holds(code)


@table({
    "a metric of another package": TRAINED + """
    scores = model(x_test)  # <- 201, 202
    print(r2_score(y_test.numpy(), scores.detach().numpy()))
""",
    "without gradients": TRAINED + """
    with torch.no_grad():
        scores = model(x_test)  # <- 201
    print(r2_score(y_test.numpy(), scores.numpy()))
""",
    "in evaluation mode": TRAINED + """
    model.eval()
    with torch.no_grad():
        scores = model(x_test)
    print(r2_score(y_test.numpy(), scores.numpy()))
""",
    "before the training": TRAINED.replace("    for epoch", "    print(model(x_test).argmax(1).tolist())  # <- 202\n    for epoch"),
    "a model that knows no modes": TRAINED.replace("nn.Dropout(), ", "") + """
    with torch.no_grad():
        scores = model(x_test)
    print(r2_score(y_test.numpy(), scores.numpy()))
""",
    "of what may be training data": TRAINED + """
    with torch.no_grad():
        scores = model(x)
    print(r2_score(y.numpy(), scores.numpy()))
""",
    "many answers, of a dropout that stays on": TRAINED + """
    with torch.no_grad():
        model.train()
        scores = model(x_test)
    print(r2_score(y_test.numpy(), scores.numpy()))
""",
})
def test_201_of_a_single_forward(code):
    holds(code)


BESIDE = """
def loss_of(net, x, y):
    return F.mse_loss(net(x), y)

def fit(batches, x_val, y_val):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for step, (x, y) in enumerate(batches):
        {first}
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        if {asked}:
            {then}
"""
LOOK = "print(F.mse_loss(net(x_val), y_val).item())"
BY_A_HELPER = BESIDE.replace("F.mse_loss(net(x), y).backward()", "loss_of(net, x, y).backward()")


@table({
    "every hundredth step": BESIDE.format(first="pass", asked="step % 100 == 0", then=LOOK + "  # <- 201, 202"),
    "by a helper": BY_A_HELPER.format(first="pass", asked="step % 9 == 0", then="print(loss_of(net, x_val, y_val).item())  # <- 201, 202"),
    "on what it learns from": BESIDE.format(first="pass", asked="step % 100 == 0", then="print(F.mse_loss(net(x), y).item())  # <- 202"),
    "in its mode": BESIDE.format(first="net.train()", asked="step % 100 == 0", then="net.eval(); " + LOOK + "  # <- 202"),
    "as a part of the step": BESIDE.format(first="soft = net(x_val).detach()  # <- 202", asked="step % 100 == 0", then="print(soft.mean().item())"),
})
def test_201_beside_the_step(code):
    holds(code)


LATER = """
from torch.utils.data import DataLoader

if __name__ == "__main__":
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train_loader, test_loader = DataLoader(train, 4, shuffle=True), DataLoader(test, 4)
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    x, y = next(iter(test_loader))
    {first}
    for x, y in test_loader:
        {then}
"""


@table({
    "one batch, and then all": LATER.format(
        first="print(torch.max(net(x), 1)[1])  # <- 202", then="print((net(x).argmax(1) == y).sum().item())  # <- 202",
    ),
    "the second alone without gradients": LATER.format(
        first="with torch.no_grad(): print(torch.max(net(x), 1)[1])", then="print((net(x).argmax(1) == y).sum().item())  # <- 202",
    ),
})
def test_a_batch_before_all(code):
    holds(code)


@table({
    "a batch of the test data": """
def test_titles(test_iter, net, names):
    x, y = next(iter(test_iter))
    print([names[i] for i in net(x).argmax(dim=1).cpu().numpy()])  # <- 202
""",
    "a batch of any data": """
def test_titles(batches, net, names):
    x, y = next(iter(batches))
    print([names[i] for i in net(x).argmax(dim=1).cpu().numpy()])
""",
    "for a caller that is not seen": """
def _test_titles(test_iter, net, names):
    x, y = next(iter(test_iter))
    print([names[i] for i in net(x).argmax(dim=1).cpu().numpy()])
""",
    "given back": """
def test_titles(test_iter, net, names):
    x, y = next(iter(test_iter))
    scores = net(x)
    print(scores.argmax(dim=1).cpu().numpy())
    return scores
""",
})
def test_of_somebody(code):
    holds(code)


GRAPH = """
from somewhere import Net, get_accuracy

def fit(nodes, labels, model_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        loss = F.cross_entropy(model(nodes), labels)
        {between}
        {asked}
        model.train()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@table({
    "between the forward and the step": GRAPH.format(between="model.eval()", asked="print(get_accuracy(model(nodes), labels))  # <- 202"),
    "a part of the loss": GRAPH.format(between="model.eval()", asked="loss = loss + F.mse_loss(model(nodes), labels)"),
    "shown by what is not seen": """
from somewhere import Net, display_images

def fit(loader):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        model.eval()
        display_images(torch.cat((x, model(x))))  # <- 202
""",
})
def test_in_an_epoch(code):
    holds(code)


FITS = """
class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.2), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).view(-1)

    def fit(self, loader):
        optimizer = torch.optim.Adam(self.{whose}parameters(), lr=0.01)
        for x, y in loader:
            self.train()
            optimizer.zero_grad()
            F.mse_loss(self.forward(x), y).backward()
            optimizer.step()

    def predict(self, test_loader):
        self.eval()
        x, _ = next(iter(test_loader))
        scores = self.forward(x){cut}
        return scores
"""


@table({
    "a model that another of its methods trains": FITS.format(whose="", cut=".cpu().detach()  # <- 202"),
    "that gives its graph back": FITS.format(whose="", cut=".cpu()"),
    "that trains somebody else": FITS.format(whose="pupil.", cut=".cpu().detach()"),
})
def test_a_model_that_fits_itself(code):
    holds(code)
