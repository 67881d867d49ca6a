"""616: what a scaler was fitted on before the data are parted, and validations that go over the training's own data."""

from tests.torchlint.dryrun.support import holds, table

SCALED = """
from sklearn.preprocessing import MinMaxScaler, LabelEncoder
from sklearn.model_selection import train_test_split

def main(frame, y):
    scaler = MinMaxScaler(feature_range=(-1, 1))
    data = frame.values
    {lines}
"""
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.drop(x))
"""
TRAINED = MODEL + """
def train(net, loader, optimizer):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def {name}(net, loader):
    net.eval()
    loss = 0
    with torch.no_grad():
        for x, y in loader:{mark}
            loss += F.cross_entropy(net(x), y).item()
    return loss

def main(first, second):
    train_loader = torch.utils.data.DataLoader(first, batch_size=8, shuffle=True)
    val_loader = torch.utils.data.DataLoader(second, batch_size=8)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        train(net, train_loader, optimizer)
        {call}
"""
GIVEN = MODEL + """
from tqdm import tqdm

def main({params}):
    {more}
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        net.train()
        for i, (x, y) in enumerate(train_loader):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for i, (x, y) in {over}:{mark}
                val_loss = F.cross_entropy(net(x), y).item()
"""
ONE_BODY = MODEL + """
def main(loaders):
    train_loader, {made} = loaders(32)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        net.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, y in train_loader:{mark}
                {counted} = F.cross_entropy(net(x), y).item()
"""
SETS = """
def loaders(root, augment, plain):
    train_set = Photos(root + "/train", augment)
    val_set = Photos(root + "/val", plain)
    train_loader = torch.utils.data.DataLoader(train_set, batch_size=8, shuffle=True)
    val_loader = torch.utils.data.DataLoader({given}, batch_size=8){mark}
    return train_loader, val_loader{more}

class Photos(torch.utils.data.Dataset):
    def __init__(self, root, transform):
        self.paths, self.transform = list_of(root), transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.transform(read(self.paths[index]))
"""


def scaled(lines):
    return SCALED.format(lines=lines.replace("; ", "\n    "))


@table({
    "two slices in one line": scaled("data = scaler.fit_transform(data)  # <- 616\n    n = int(len(data) * 0.8); train, test = data[:n], data[n:]"),
    "two slices of what is made of it": scaled(
        "scaled = scaler.fit_transform(data)  # <- 616\n    x = windows(scaled, 8); x_train = torch.tensor(x[:80]); x_test = torch.tensor(x[80:])"
    ),
    "rows and columns": scaled("data = scaler.fit_transform(data)  # <- 616\n    train = data[:80, :]; test = data[80:, :]"),
    "columns alone": scaled("data = scaler.fit_transform(data); x_train = data[:, :3]; y_test = data[:, 3]"),
    "of a frame's columns": scaled("frame['a'] = scaler.fit_transform(frame['a'])  # <- 616\n    train, test = train_test_split(frame, test_size=0.2)"),
    "fitted on a part": scaled("train, test = data[:80], data[80:]; train = scaler.fit_transform(train); test = scaler.transform(test)"),
    "fitted on a part that is cut again": scaled("x_train = scaler.fit_transform(data[:80]); train, val = x_train[:60], x_train[60:]"),
    "an encoder of labels": scaled("y = LabelEncoder().fit_transform(y); y_train, y_test = y[:80], y[80:]"),
    "names that only look like it": scaled("data = scaler.fit_transform(data); constraints, latest = data[:80], data[80:]; train = data[:80]"),
    "no test": scaled("data = scaler.fit_transform(data); x, y_train = data[:80], data[80:]"),
    "fit, and then transform": scaled("scaler.fit(data)  # <- 616\n    data = scaler.transform(data); a, b = train_test_split(data, test_size=0.2)"),
    "fit, and then transform, and slices": scaled(
        "made = scaler.fit(data)  # <- 616\n    data = made.transform(data); x_train, y_train = windows(data, 8); x_test, y_test = windows(data[-80:], 8)"
    ),
    "fit and transform of two things": scaled("scaler.fit(data[:80]); data = scaler.transform(data); a, b = train_test_split(data, test_size=0.2)"),
    "fitted where it is made": scaled(
        "made = MinMaxScaler().fit(data)  # <- 616\n    data = made.transform(data); a, b = train_test_split(data, test_size=0.2)"
    ),
})
def test_scalers(code):
    holds(code)


@table({
    "mean and deviation": scaled("data = (data - data.mean(0)) / data.std(0)  # <- 616\n    n = int(len(data) * 0.8); train, test = data[:n], data[n:]"),
    "least and most": scaled(
        "x = (data - np.min(data, axis=0)) / (np.max(data, axis=0) - np.min(data, axis=0))  # <- 616\n    x_train, x_test = train_test_split(x)"
    ),
    "under names": scaled(
        "mean, std = data.mean(axis=0), data.std(axis=0)\n    x = (data - mean) / (std + 1e-8)  # <- 616\n    x_train = x[:80]; x_test = x[80:]"
    ),
    "under names, a root": scaled(
        "mean = np.mean(data); std = np.sqrt(data.var())\n    x = (data - mean) / std  # <- 616\n    x_train = x[:80]; x_test = x[80:]"
    ),
    "column by column": scaled(
        "for i in range(4):\n        data[:, i] = (data[:, i] - data[:, i].mean()) / data[:, i].std()  # <- 616\n    x_train = data[:80]; x_test = data[80:]"
    ),
    "parted by torch": scaled(
        "x = (data - data.mean(0)) / data.std(0)  # <- 616\n    rows = torch.utils.data.TensorDataset(torch.tensor(x), y)"
        "; train, test = torch.utils.data.random_split(rows, [80, 20])"
    ),
    "between minus one and one": scaled(
        "x = 2 * (data - data.min(0)) / (data.max(0) - data.min(0)) - 1  # <- 616\n    x_train = x[:80]; x_test = x[80:]"
    ),
    "in two statements": scaled(
        "x = torch.tensor(data)\n    x = x - x.min(0)[0]\n    x = 2 * (x / x.max(0)[0]) - 1  # <- 616\n    x_train = x[:80, :].float(); x_test = x[80:, :].float()"
    ),
    "in two statements in place": scaled(
        "data -= data.mean(axis=0)\n    data /= data.std(axis=0)  # <- 616\n    train, test = data[:80], data[80:]"
    ),
    "in two statements of names": scaled(
        "mean, std = data.mean(0), data.std(0)\n    data = data - mean\n    data = data / (std + 1e-8)  # <- 616\n    train, test = data[:80], data[80:]"
    ),
    "in two statements, of the training part": scaled(
        "data -= data[:80].mean(axis=0)\n    data /= data[:80].std(axis=0)\n    train, test = data[:80], data[80:]"
    ),
    "in two statements, row by row": scaled("data -= data.mean(1, keepdims=True)\n    data /= data.std(1, keepdims=True)\n    train, test = data[:80], data[80:]"),
    "in two statements, with another one between": scaled(
        "data -= data.mean(axis=0)\n    data = data[:80]\n    data /= data.std(axis=0)\n    train, val = data[:60], data[60:]"
    ),
    "by their largest alone": scaled("data /= data.max()\n    train, test = data[:80], data[80:]"),
    "row by row": scaled("data = (data - data.mean(1, keepdims=True)) / data.std(1, keepdims=True); train, test = data[:80], data[80:]"),
    "over the last axis": scaled("data = (data - np.mean(data, axis=-1)) / np.std(data, axis=-1); train, test = data[:80], data[80:]"),
    "of the training part": scaled("x = (data - data[:80].mean(0)) / data[:80].std(0); train, test = x[:80], x[80:]"),
    "of the training part, under names": scaled(
        "first = data[:80]; mean, std = first.mean(0), first.std(0); x = (data - mean) / std; train, test = x[:80], x[80:]"
    ),
    "of the training part, renamed": scaled(
        "mean, std = data.mean(0), data.std(0); mean, std = data[:80].mean(0), data[:80].std(0); x = (data - mean) / std; train, test = x[:80], x[80:]"
    ),
    "a part that is cut again": scaled("x_train = (y - y.mean(0)) / y.std(0); train, val = x_train[:60], x_train[60:]"),
    "read as the training part, and parted": scaled(
        "train_x = np.loadtxt(y[0])\n    mean, std = np.mean(train_x), np.std(train_x)\n    train_x = (train_x - mean) / std  # <- 616\n"
        "    n = int(0.8 * len(train_x)); first_train, first_val = train_x[:n], train_x[n:]"
    ),
    "read, cut and parted": scaled(
        "train_x = np.loadtxt(y[0])[:80]; train_x = (train_x - train_x.mean(0)) / train_x.std(0); first_train, first_val = train_x[:9], train_x[9:]"
    ),
    "read in lines, cut, and parted": scaled(
        "train_x = np.loadtxt(y[0])\n    train_x = train_x[:80]\n    train_x = (train_x - train_x.mean(0)) / train_x.std(0)\n"
        "    first_train, first_val = train_x[:9], train_x[9:]"
    ),
    "read as the test part": scaled(
        "test_x = np.loadtxt(y[0])\n    test_x = (test_x - test_x.mean(0)) / test_x.std(0)\n    first_train, first_val = test_x[:9], test_x[9:]"
    ),
    "known numbers": scaled("x = (data - 0.5) / 0.5; train, test = x[:80], x[80:]"),
    "cut into columns": scaled("x = (data - data.mean(0)) / data.std(0); x_train = x[:, :3]; y_test = x[:, 3]"),
    "never cut": scaled("x = (data - data.mean(0)) / data.std(0); return x"),
})
def test_scaled_by_hand(code):
    holds(code)


@table({
    "given to a function that validates": TRAINED.format(name="validate", mark="  # <- 616", call="print(validate(net, train_loader))"),
    "its result is a validation's": TRAINED.format(name="run", mark="  # <- 616", call="val_loss = run(net, train_loader)"),
    "its result is the training's": TRAINED.format(name="validate", mark="", call="train_loss = validate(net, train_loader)"),
    "nothing says what it is for": TRAINED.format(name="run", mark="", call="print(run(net, train_loader))"),
    "the other one is gone through, too": TRAINED.format(name="validate", mark="", call="print(validate(net, train_loader), validate(net, val_loader))"),
    "in one function, from elsewhere": ONE_BODY.format(made="val_loader", mark="  # <- 616", counted="val_loss"),
    "in one function, counted for the training": ONE_BODY.format(made="val_loader", mark="", counted="train_loss"),
    "in one function, nothing is left over": ONE_BODY.format(made="rest", mark="", counted="val_loss"),
    "given to one function": GIVEN.format(params="train_loader, val_loader", over="tqdm(enumerate(train_loader))", mark="  # <- 616", more=""),
    "given, and looked at": GIVEN.format(params="train_loader, val_loader", over="enumerate(train_loader)", mark="", more="print(len(val_loader))"),
    "perhaps not given": GIVEN.format(params="train_loader, val_loader=None", over="enumerate(train_loader)", mark="", more=""),
    "given, and gone through": GIVEN.format(params="train_loader, val_loader", over="enumerate(val_loader)", mark="", more=""),
    "a set that is forgotten": SETS.format(given="train_set", mark="  # <- 616", more=""),
    "a set that is given on": SETS.format(given="train_set", mark="", more=", val_set"),
    "a set that is used": SETS.format(given="val_set", mark="", more=""),
})
def test_forgotten(code):
    holds(code)


PARTS = """
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader

def main(frame, Faces):
    train_rows, {held} = train_test_split(frame, test_size=0.2)
    train_set = Faces(train_rows)
    {name} = Faces({given}){mark}
    return DataLoader(train_set, batch_size=8, shuffle=True), DataLoader({name}, batch_size=8){more}
"""


@table({
    "made of the training's rows": PARTS.format(held="test_rows", name="test_set", given="train_rows.reset_index()", mark="  # <- 616", more=""),
    "of its own": PARTS.format(held="test_rows", name="test_set", given="test_rows", mark="", more=""),
    "the other part goes on": PARTS.format(held="test_rows", name="val_set", given="train_rows", mark="", more=", test_rows"),
    "no set to evaluate on": PARTS.format(held="test_rows", name="more", given="train_rows", mark="", more=""),
    "nothing is left over": PARTS.format(held="_", name="test_set", given="train_rows", mark="", more=""),
})
def test_a_part_that_is_forgotten(code):
    holds(code)


SPLIT_AGAIN = """
from torch.utils.data import DataLoader, random_split
from torchvision import datasets


def load(root):
    faces = datasets.ImageFolder(root)
    train_set, test_set = random_split(faces, [800, 200])
    return train_set, test_set


def fit(model, optimizer, root):
    train_set, test_set = load(root)
    part, val_part = random_split(train_set, [600, 200])
    train_loader = DataLoader(part, batch_size=4, shuffle=True)
    val_loader = DataLoader({given}, batch_size=4){mark}
    for epoch in range(10):
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for x, y in val_loader:
                print(F.cross_entropy(model(x), y).item())
"""


@table({
    "two parts of what was split off": SPLIT_AGAIN.format(given="val_part", mark=""),
    "the part that is trained on": SPLIT_AGAIN.format(given="part", mark="  # <- 616"),
})
def test_a_part_that_is_split_again(code):
    holds(code)


TESTED = MODEL + """
def score(net, loader):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in loader), 0.0

def main(net, train_loader, val_loader, {given}):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        net.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        {validated} = score(net, val_loader)
        {tested}
    {more}
"""


def scored(line, given="test_loader", validated="val_right, val_loss", more="return net"):
    return TESTED.format(tested=line, given=given, validated=validated, more=more)


@table({
    "the same call": scored("test_right, test_loss = score(net, val_loader)  # <- 616"),
    "made, and handed out with others": scored(
        "test_right, _ = score(net, val_loader)  # <- 616", given="loaders", more="return net"
    ).replace("    optimizer =", "    train_loader, val_loader, test_loader = loaders(32)\n    optimizer ="),
    "the test has its own": scored("test_right, test_loss = score(net, test_loader)"),
    "tested behind the loop": scored("test_right, _ = score(net, val_loader)", more="return score(net, test_loader)"),
    "nothing is left over": scored("test_right, _ = score(net, val_loader)", given="rest"),
    "perhaps not given": scored("test_right, _ = score(net, val_loader)", given="test_loader=None"),
    "a test is what the validation is called": scored("print(epoch)", validated="test_right, test_loss"),
    "another question": scored("test_right = len(val_loader)"),
    "of the training": scored("train_right, _ = score(net, val_loader)"),
})
def test_the_test_on_the_validation(code):
    holds(code)


TWICE = """
from torchvision import datasets, transforms
from torch.utils.data import DataLoader
from mydata import PhotoDataset

def loaders(root, flips, plain):
    train_set = {first}
    {between}
    val_set = {second}{mark}
    {behind}
    train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=8{options})
    return train_loader, val_loader
"""


def twice(first="PhotoDataset(root, 64)", second="PhotoDataset(root, 64)", between="pass", behind="pass", options="", mark=""):
    return TWICE.format(first=first, second=second, between=between, behind=behind, options=options, mark=mark)


BAD = "  # <- 616"


@table({
    "of the same": twice(mark=BAD),
    "of torchvision": twice("datasets.CIFAR10(root, transform=flips)", "datasets.CIFAR10(root, transform=plain)", mark=BAD),
    "over several lines, by keywords": twice("PhotoDataset(\n        root=root,\n        size=64)", mark="").replace(
        "val_set = PhotoDataset(root, 64)", "val_set = PhotoDataset(  # <- 616\n        root=root,\n        size=64)"),
    "of the same, transformed otherwise": twice("PhotoDataset(root, transform=flips)", "PhotoDataset(root, transform=plain)", mark=BAD),
    "its length is asked for": twice(behind="print(len(val_set), train_set.classes)", mark=BAD),
    "of another part": twice("PhotoDataset(root, train=True)", "PhotoDataset(root, train=False)"),
    "of another place": twice(between="root = root + '/val'"),
    "of another place, set with others": twice(between="rest, root = root, rest"),
    "what they are made of is told something": twice(between="root.take(0.1)"),
    "told its part later": twice(behind="val_set.part = 'val'"),
    "told its part later, by a method": twice(behind="val_set.hold_out(0.1)"),
    "handed to a function": twice(behind="cut(train_set, val_set)"),
    "a sampler takes its part": twice(options=", sampler=held_out"),
    "parted behind": twice(behind="val_set = torch.utils.data.Subset(val_set, range(9))"),
    "drawn": twice("PhotoDataset(random_rows(root))", "PhotoDataset(random_rows(root))"),
    "of nothing": twice("PhotoDataset()", "PhotoDataset()"),
    "names of files": twice("'a.csv'", "'a.csv'"),
    "a function makes them": twice("photos(root)", "photos(root)"),
    "the loader is for training": twice().replace("val_loader", "train_val_loader"),
})
def test_made_twice(code):
    holds(code)


LOOPS = """
from torchvision import datasets, transforms
from torch.utils.data import DataLoader

{made}
net = nn.Linear(784, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in {over}:
        optimizer.zero_grad()
        F.cross_entropy(net(x.flatten(1)), y).backward()
        optimizer.step()
with torch.no_grad():
    print(sum((net(x.flatten(1)).argmax(1) == y).sum() for x, y in {asked}))
"""


def loops(first, second, over="digits", asked="digits_test"):
    return LOOPS.format(made=f"{over} = {first}\n{asked} = {second}", over=over, asked=asked)


@table({
    "trained on by its loop": loops(
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8)  # <- 616"),
    "one says the default, the other does not": loops(
        "DataLoader(datasets.FashionMNIST('data', True, download=True), 8, shuffle=True)",
        "DataLoader(datasets.FashionMNIST(root='data', transform=transforms.ToTensor()), 8)  # <- 616", over="loader", asked="test"),
    "called the loader of the test": loops(
        "DataLoader(datasets.CIFAR10('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.CIFAR10('data', train=True), batch_size=8)  # <- 616", over="batches", asked="loader_test"),
    "the test's own part": loops(
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('data', train=False), batch_size=8)"),
    "the other way round": loops(
        "DataLoader(datasets.MNIST('data', train=False), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('data'), batch_size=8)"),
    "other pictures": loops(
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('other', train=True), batch_size=8)"),
    "a sampler takes its part": loops(
        "DataLoader(datasets.MNIST('data', train=True), 8, sampler=torch.utils.data.SubsetRandomSampler(range(50000)))",
        "DataLoader(datasets.MNIST('data', train=True), 8, sampler=torch.utils.data.SubsetRandomSampler(range(50000, 60000)))"),
    "nothing says that it is for a test": loops(
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8)", asked="in_order"),
    "asked how well it has been learnt": loops(
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8, shuffle=True)",
        "DataLoader(datasets.MNIST('data', train=True), batch_size=8)", asked="train_eval"),
})
def test_made_twice_and_trained_on(code):
    holds(code)


def test_what_a_test_learns_from_is_no_test():
    code = loops("DataLoader(datasets.MNIST('data'), batch_size=8, shuffle=True)", "DataLoader(datasets.MNIST('data'), batch_size=8)")
    holds(code.replace("for epoch in range(3):\n", "for x, y in digits_test:\n    F.cross_entropy(net(x.flatten(1)), y).backward()\nfor epoch in range(3):\n"))


HOOKS = """
import lightning as L
from torch.utils.data import DataLoader, random_split
from torchvision.datasets import MNIST

class Digits(L.LightningModule):
    def __init__(self, root):
        super().__init__()
        self.root = root

    def train_dataloader(self):
        {trained}

    def val_dataloader(self):
        {held}
"""


def hooks(held, trained="digits = MNIST(self.root, train=True, download=True)\n        return DataLoader(digits, 8, shuffle=True)"):
    return HOOKS.format(trained=trained, held=held)


@table({
    "given at once": hooks("return DataLoader(MNIST(self.root, train=True), batch_size=8)  # <- 616"),
    "by a name": hooks("held_out = MNIST(self.root, transform=plain)  # <- 616\n        return DataLoader(dataset=held_out, batch_size=8)"),
    "one of several": hooks(
        "return DataLoader(MNIST('data'), batch_size=8)  # <- 616",
        "if self.root:\n            data = MNIST('data')\n        else:\n            data = Other()\n        return DataLoader(data, 8, shuffle=True)"),
    "the test's own part": hooks("return DataLoader(MNIST(self.root, train=False), batch_size=8)"),
    "parted": hooks("_, held_out = random_split(MNIST(self.root), [50000, 10000])\n        return DataLoader(held_out, batch_size=8)"),
    "parted in the training": hooks(
        "return DataLoader(MNIST('data'), batch_size=8)",
        "digits = MNIST('data')\n        digits, _ = random_split(digits, [50000, 10000])\n        return DataLoader(digits, 8, shuffle=True)"),
    "a sampler takes its part": hooks("return DataLoader(MNIST(self.root), 8, sampler=self.held_out)"),
    "a sampler takes the training's part": hooks(
        "return DataLoader(MNIST('data'), batch_size=8)", "return DataLoader(MNIST('data'), 8, sampler=self.rest)"),
    "of names of their own": hooks(
        "root = 'val'\n        return DataLoader(MNIST(root), 8)", "root = 'train'\n        return DataLoader(MNIST(root), 8, shuffle=True)"),
    "set in between": hooks("self.root = 'val'\n        return DataLoader(MNIST(self.root), batch_size=8)"),
})
def test_made_twice_by_hooks(code):
    holds(code)


SOLVER = """
class Solver:
    def __init__(self, net, train_loader, valid_loader, test_loader):
        self.net, self.path = net, "best.pt"
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.test_loader = test_loader
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def score(self, x, y):
        return (self.net(x).argmax(1) == y).sum().item()

    def fit(self):
        best = 0
        for epoch in range(9):
            self.net.train()
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                F.cross_entropy(self.net(x), y).backward()
                self.optimizer.step()
            self.net.eval()
            right = 0
            with torch.no_grad():
                for i, (x, y) in enumerate(self.valid_loader):
                    right += self.score(x, y)
            if right > best:
                best = right
                torch.save(self.net.state_dict(), self.path)
        {heading}
        {weights}
        self.net.eval()
        right = 0
        with torch.no_grad():
            for i, (x, y) in enumerate({over}):{mark}
                right += self.score(x, y)
        print(right)
"""
LOADS = "self.net.load_state_dict(torch.load(self.path, weights_only=True))"


def solver(heading="# ---- Test ----", weights=LOADS, over="self.valid_loader", mark=""):
    return SOLVER.format(heading=heading, weights=weights, over=over, mark=mark)


@table({
    "a heading": solver(mark="  # <- 616"),
    "a word that is printed": solver(heading="print('Testing the best one')", mark="  # <- 616"),
    "the test's": solver(over="self.test_loader"),
    "the best score again": solver(heading="# the best one's score on the validation set"),
    "nothing said": solver(heading="pass"),
    "a latest": solver(heading="# the latest"),
    "nothing loaded": solver(weights="pass"),
    "asked for elsewhere": solver() + "\n    def test(self):\n        return sum(self.score(x, y) for x, y in self.test_loader)\n",
})
def test_second_loop_of_a_solver(code):
    holds(code)


@table({
    "the same scaler": scaled("x_train = scaler.fit_transform(data[:80])\n    x_test = scaler.fit_transform(x_test)"),
    "the same scaler, of what is called the training's": scaled(
        "x_train = scaler.fit_transform(x_train)\n    x_test = scaler.fit_transform(x_test.reshape(-1, 1))  # <- 616"
    ),
    "fitted before": scaled("scaler.fit(x_train)\n    x_val = scaler.fit_transform(x_val)  # <- 616"),
    "used on the test data": scaled("x_train = scaler.fit_transform(x_train); x_test = scaler.transform(x_test)"),
    "another scaler": scaled("x_train = scaler.fit_transform(x_train); x_test = MinMaxScaler().fit_transform(x_test)"),
    "the labels' encoder": scaled("encoder = LabelEncoder(); y_train = encoder.fit_transform(y_train); y_test = encoder.fit_transform(y_test)"),
    "both together": scaled("both = scaler.fit_transform(join(x_train, x_test))"),
})
def test_fitted_anew(code):
    holds(code)
