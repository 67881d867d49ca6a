"""202: whoever takes the graph off the output by hand has gradients on, in single forwards in no mode, and in a table that is filled."""

from tests.torchlint.dryrun.support import holds, table

GAN = """
import matplotlib.pyplot as plt


class GAN:
    def __init__(self, loader):
        self.loader = loader
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4))
        self.judge = nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.fixed = torch.randn(4, 8)
"""


@table({
    "what an optimizer has is trained by another method": GAN + """
    def show_results(self):
        self.net.eval()
        plt.imshow(self.net(self.fixed).cpu().data.numpy())  # <- 202
""",
    "what no optimizer has": GAN + """
    def show_results(self):
        self.judge.eval()
        plt.imshow(self.judge(torch.rand(4, 4)).cpu().data.numpy())
""",
    "in no mode, cut by hand": GAN + """
    def show_results(self):
        plt.imshow(self.net(self.fixed).detach().cpu().numpy())  # <- 202
""",
    "in no mode, as it comes": GAN + """
    def show_results(self):
        plt.imshow(make_image(self.net(self.fixed).argmax(1)))
""",
    "given to somebody who is not seen": GAN + """
    def show_results(self, improver):
        images = self.net(self.fixed)
        plt.imshow(images.detach().cpu().numpy())
        improver.step_on(images)
""",
    "given back": GAN + """
    def show_results(self):
        images = self.net(self.fixed)
        plt.imshow(images.detach().cpu().numpy())
        return images
""",
    "the last lines of a script": """
import matplotlib.pyplot as plt

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.rand(20, 1), torch.rand(20, 1)
for _ in range(100):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
plt.plot(x.numpy(), model(x).detach().numpy())
""",
    "the last lines of a script, where the output gets a name with its graph": """
import matplotlib.pyplot as plt

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y, points = torch.rand(20, 1), torch.rand(20, 1), torch.rand(500, 1)
for _ in range(100):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
curve = model(points)  # <- 202
for i in range(500):
    plt.plot([points[i, 0]], [curve[i].detach().numpy()])
""",
    "so named before the training, or with something that is handed the graph": """
import matplotlib.pyplot as plt
from project import improve

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y, points = torch.rand(20, 1), torch.rand(20, 1), torch.rand(500, 1)
curve = model(points)
plt.plot(points, curve.detach().numpy())
for _ in range(100):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
last = model(points)
plt.plot(points, last.detach().numpy())
improve(last)
""",
    "a model as it was made": """
def main(image, images):
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    print(model(image).data.cpu().numpy())
    for x, y in images:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
""",
    "a loop, and one more in the same evaluation": """
def main(loader, path, show, noise):
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load(path))
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())  # <- 202
    print(model(noise).argmax(1).tolist())
""",
    "beside the training": """
def main(args, image, images):
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load(args.path))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if args.testing:
        made = model(image)  # <- 202
        print(made.data.cpu().numpy())
    else:
        for x, y in images:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
""",
    "said where it is asked for, of what several share": GAN + """
    def encoded(self, x):
        return self.net(x)

    def learn(self):
        for x in self.loader:
            self.optimizer.zero_grad()
            self.encoded(x).mean().backward()
            self.optimizer.step()

    def generate(self):
        print(self.encoded(self.fixed).detach().numpy())  # <- 202
""",
})
def test_one_look(code):
    holds(code)


TABLE = """
def neighbours(net, bank, train_loader, test_loader, again):
    net.{mode}()
    features = bank.t()
    if again:
        for i, (x, y) in enumerate(train_loader):
            n = x.size(0)
            out = net(x){mark}
            features[:, i * n : i * n + n] = {kept}
            {behind}
    with torch.no_grad():
        for x, y in test_loader:
            print(torch.mm(net(x), features).argmax(1).eq(y).sum().item())

def main(net: nn.Module, bank, train_loader, test_loader, optimizer):
    for epoch in range(3):
        net.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        neighbours(net, bank, train_loader, test_loader, epoch == 2)
"""


@table({
    "a table of what is cut off": TABLE.format(mode="eval", kept="out.data.t()", behind="", mark="  # <- 202"),
    "detached": TABLE.format(mode="eval", kept="out.detach().t()", behind="", mark="  # <- 202"),
    "with its graph": TABLE.format(mode="eval", kept="out.t()", behind="", mark=""),
    "given to somebody who is not seen": TABLE.format(mode="eval", kept="out.data.t()", behind="improve(out, y)", mark=""),
    "a loss of it is gone backward through": TABLE.format(mode="eval", kept="out.data.t()", behind="F.cross_entropy(out, y).backward()", mark="")
    .replace("    net.eval()", "    net.zero_grad()\n    net.eval()"),
})
def test_tables(code):
    holds(code)


WALK = """
import matplotlib.pyplot as plt

def walk(score, points, steps=100):
    for _ in range(steps):
        points = points + 0.05 * {asked}
        points = points + torch.randn_like(points) * 0.1
    return points

def fit(batches):
    net = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters())
    for points in batches:
        optimizer.zero_grad()
        net(points).square().sum().backward()
        optimizer.step()
    {around}
        found = walk(net, torch.rand(64, 2))
        {then}
"""


@table({
    "each step of it": WALK.format(asked="score(points).detach()  # <- 202", around="if True:", then="plt.scatter(*found.detach().numpy().T)"),
    "with gradients off": WALK.format(asked="score(points).detach()", around="with torch.no_grad():", then="plt.scatter(*found.detach().numpy().T)"),
    "through the steps": WALK.format(asked="score(points)", around="if True:", then="found.sum().backward()"),
})
def test_a_walk(code):
    holds(code)


NESTED = """
import matplotlib.pyplot as plt

def show(net, density, mesh):
    {asked}
    plt.quiver(mesh, drawn)

    def slope(x):
        x = x.detach().requires_grad_(True)
        return torch.autograd.grad(density.log_prob(x).sum(), x)[0]

    plt.quiver(mesh, slope(mesh).numpy())

def fit(batches, density, mesh):
    net = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters())
    for points in batches:
        optimizer.zero_grad()
        net(points).square().sum().backward()
        optimizer.step()
    show(net, density, mesh)
"""


@table({
    "of something else": NESTED.format(asked="drawn = net(mesh).detach().numpy()  # <- 202"),
    "of the input": NESTED.format(asked="mesh.requires_grad_(True); out = net(mesh); out.sum().backward(); drawn = out.detach().numpy() * mesh.grad.numpy()"),
})
def test_gradients_beside_it(code):
    holds(code)
