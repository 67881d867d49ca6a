"""202 of functions that show what a model gives, and that nobody calls: the file's body, a file of weights or a caller has the model."""

from tests.torchlint.dryrun.support import holds, table

BODY = """
import matplotlib.pyplot as plt

net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4))
{learns}


def noise(size):
    return torch.zeros(size, 8).normal_(0, 1)


"""
LOADED = BODY.format(learns='net.load_state_dict(torch.load("net.pt"))')
OPTIMIZED = BODY.format(learns="optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)")


@table({
    "its weights are loaded in the body": LOADED + """
def plot_images():
    images = net(noise(20))  # <- 202
    plt.imshow(images.detach().cpu().numpy())
""",
    "an optimizer has it": OPTIMIZED + """
def plot_images():
    images = net(noise(20)).data  # <- 202
    plt.imshow(images.cpu().numpy())
""",
    "called by forward": LOADED + """
def plot_images():
    plt.imshow(net.forward(noise(20)).detach().numpy())  # <- 202
""",
    "in a loop": LOADED + """
def interpolate(start, step):
    images = []
    for _ in range(40):
        start = start + step
        images.append(net(torch.tensor(start)).detach().numpy())  # <- 202
    imageio.mimsave("out.gif", images)
""",
    "as it was made": BODY.format(learns="") + """
def plot_images():
    plt.imshow(net(noise(20)).detach().cpu().numpy())
""",
    "another of that name": LOADED + """
def plot_images():
    net = nn.Linear(8, 4)
    plt.imshow(net(noise(20)).detach().cpu().numpy())
""",
    "given back": LOADED + """
def make_images():
    plt.plot([1])
    return net(noise(20)).detach()
""",
    "not cut by hand": LOADED + """
def plot_images():
    plt.imshow(net(noise(20)).argmax(1))
""",
    "its gradient is wanted": LOADED + """
def plot_saliency(x):
    x.requires_grad_()
    plt.imshow(net(x).detach().cpu().numpy())
""",
    "a model out of a file, along a line": """
import matplotlib.pyplot as plt

x = torch.unsqueeze(torch.linspace(-1, 1, 100), dim=1)


def restore():
    net = torch.load("net.pkl", weights_only=False)
    prediction = net(x)  # <- 202
    plt.plot(x.numpy(), prediction.data.numpy())


restore()
""",
    "weights out of a file, along a line": """
import matplotlib.pyplot as plt

x = torch.unsqueeze(torch.linspace(-1, 1, 100), dim=1)


def restore():
    net = nn.Linear(1, 1)
    net.load_state_dict(torch.load("net.pt"))
    prediction = net(x)  # <- 202
    plt.plot(x.numpy(), prediction.data.numpy())


restore()
""",
    "a try on noise": """
def restore():
    net = nn.Linear(1, 1)
    net.load_state_dict(torch.load("net.pt"))
    print(net(torch.rand(4, 1)).data.numpy())
""",
    "an evaluation of the body's model": """
from models import Net

model = Net()
criterion = nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)


def test():
    total = 0
    for x, y in testing_data_loader:
        total += 10 / criterion(model(x), y).item()  # <- 202
    print(total)
""",
    "one that is decorated": """
from models import Net
from tools import task

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)


@task
def test():
    for x, y in testing_data_loader:
        print(F.l1_loss(model(x), y).item())
""",
    "one whose model learns nothing here": """
from models import Net

model = Net()


def test():
    for x, y in testing_data_loader:
        print(F.l1_loss(model(x), y).item())
""",
    "held-out data, and a model that is handed over": """
def run(model, x_test):
    return model(x_test).data.numpy()  # <- 202
""",
    "a state that the model itself begins with": """
def predict(net, text):
    net.eval()
    state = net.init_hidden(1)
    out, state = net(text, state)  # <- 202
    print(out.item())
""",
    "something that it may do with its input": """
def predict(net, text):
    net.eval()
    text = net.attack_step(text)
    out = net(text)
    print(out.item())
""",
    "measured by its own method": """
from models import Autoencoder

net = Autoencoder()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
for x, _ in train_data:
    optimizer.zero_grad()
    F.mse_loss(net(x), x).backward()
    optimizer.step()
total = 0
for x, _ in test_data:
    total += net.evaluate(net(x), x)  # <- 202
print(total)
""",
    "a model that is handed over": """
import matplotlib.pyplot as plt


def show(generator, labels):
    images = generator(torch.randn(4, 8), labels).detach().cpu()  # <- 202
    plt.imshow(images.numpy())
""",
    "one that is handed over, in a loop": """
import matplotlib.pyplot as plt


def show(model, loader):
    for x, _ in loader:
        plt.imshow(model(x).detach().cpu().numpy())  # <- 202
""",
    "a function that is handed over": """
import matplotlib.pyplot as plt


def show(transform, loader):
    for x, _ in loader:
        plt.imshow(transform(x).detach().cpu().numpy())
""",
    "drawn and given back": """
import matplotlib.pyplot as plt


def show(model, x):
    y = model(x)
    plt.imshow(y.detach().cpu().numpy())
    return y
""",
})
def test_shown(code):
    holds(code)
