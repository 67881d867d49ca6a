"""309 and 308: targets that are a column of a table, before they are tensors."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import numpy as np
import pandas as pd
from sklearn.datasets import fetch_california_housing, load_diabetes, make_regression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch.utils.data import DataLoader, Dataset, TensorDataset

model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
WHOLE = """
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss({output}, y){mark}
    loss.backward()
    optimizer.step()
"""
BATCHES = """
for epoch in range(5):
    for a, b in DataLoader({data}, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(a), b){mark}
        loss.backward()
        optimizer.step()
"""
TOLD = "  # <- 309"
CSV = 'frame = pd.read_csv("a.csv")\n'
X = 'X = torch.tensor(frame.drop("price", axis=1).values, dtype=torch.float32)\n'


def whole(code, mark=TOLD, output="model(X)"):
    return HEAD + code + WHOLE.format(mark=mark, output=output)


def batches(code, mark=TOLD, data="TensorDataset(X, y)"):
    return HEAD + code + BATCHES.format(mark=mark, data=data)


@table({
    "a column of a frame": whole(CSV + X + 'y = torch.tensor(frame["price"].values, dtype=torch.float32)'),
    "in batches": batches(CSV + X + 'y = torch.tensor(frame["price"].values, dtype=torch.float32)'),
    "as an attribute": whole(CSV + X + "y = torch.from_numpy(frame.price.to_numpy()).float()"),
    "by its place": whole(CSV + "X = torch.tensor(frame.iloc[:, :-1].values).float()\ny = torch.tensor(frame.iloc[:, -1].values).float()"),
    "behind a condition on the rows": whole(
        CSV + 'frame = frame[frame["year"] > 2000].dropna()\n' + X + 'y = torch.tensor(np.array(frame["price"])).float()'
    ),
    "taken out": whole(CSV + 'y = torch.tensor(frame.pop("price").values).float()\nX = torch.tensor(frame.values).float()'),
    "of the numbers of a frame": whole('data = pd.read_csv("a.csv").values\nX = torch.Tensor(data[:, 0:8])\ny = torch.Tensor(data[:, 8])'),
    "of what NumPy read": whole(
        'data = np.loadtxt("a.csv", delimiter=",", dtype=np.float32)\nX = torch.from_numpy(data[:, :-1])\ny = torch.from_numpy(data[:, -1])'
    ),
    "put together with what is not known, and mixed": whole(
        "from mine import read\na, b = read()\nall = np.concatenate([a, b.reshape((-1, 1))], axis=-1)\n"
        "all = all[np.random.permutation(all.shape[0]), :]\nX = torch.FloatTensor(all[:, :-1])\ny = torch.FloatTensor(all[:, -1])"
    ),
    "parted for a test": whole(
        CSV + 'a, b, c, d = train_test_split(frame.drop(columns=["price"]), frame["price"], test_size=0.2)\n'
        "X, y = torch.FloatTensor(a.values), torch.FloatTensor(c.values)"
    ),
    "arrays, parted": whole(
        CSV + 'a, b, c, d = train_test_split(frame.drop(columns=["price"]).values, frame["price"].values)\n'
        "X, y = torch.FloatTensor(a), torch.FloatTensor(c)"
    ),
    "data that come with scikit-learn": whole(
        "data = fetch_california_housing()\nX = torch.tensor(StandardScaler().fit_transform(data.data)).float()\n"
        "y = torch.tensor(data.target).float()"
    ),
    "as a pair": whole("X, y = load_diabetes(return_X_y=True)\nX, y = torch.tensor(X).float(), torch.tensor(y).float()"),
    "made up": whole("X, y = make_regression(n_features=8)\nX, y = torch.tensor(X).float(), torch.tensor(y).float()"),
    "a data set of the project": batches("""
class Rows(Dataset):
    def __init__(self, path):
        data = np.loadtxt(path, delimiter=",", dtype=np.float32)
        self.x, self.y = torch.from_numpy(data[:, 1:]), torch.from_numpy(data[:, 0])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]
""", data='Rows("a.csv")'),
})
def test_columns(code):
    holds(code)


@table({
    "a loss that takes only one shape raises": HEAD + CSV + X + """
y = torch.tensor(frame["price"].values).float()
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.binary_cross_entropy_with_logits(model(X), y)  # <- 308
    loss.backward()
    optimizer.step()
""",
})
def test_one_shape(code):
    holds(code)


@table({
    name: whole(CSV + X + f"y = {code}", mark="", output=output) for name, code, output in (
        ("made a column", 'torch.tensor(frame["price"].values, dtype=torch.float32).reshape(-1, 1)', "model(X)"),
        ("with a dimension more", 'torch.tensor(frame["price"].values[:, None]).float()', "model(X)"),
        ("NumPy makes it one", 'torch.tensor(np.expand_dims(frame["price"].values, 1)).float()', "model(X)"),
        ("a frame of one column", 'torch.tensor(frame[["price"]].values).float()', "model(X)"),
        ("the last columns", "torch.tensor(frame.iloc[:, -1:].values).float()", "model(X)"),
        ("scaled", 'torch.tensor(StandardScaler().fit_transform(frame["price"].values.reshape(-1, 1))).float()', "model(X)"),
        ("one-hot", 'torch.tensor(OneHotEncoder().fit_transform(frame[["price"]]).toarray()).float()', "model(X)"),
        ("the output is flat, too", 'torch.tensor(frame["price"].values).float()', "model(X).squeeze(1)"),
        ("its cells may be lists", 'torch.tensor(frame["price"].tolist()).float()', "model(X)"),
        ("a stack of cells", 'torch.tensor(np.stack(frame["price"].values)).float()', "model(X)"),
        ("a name that is not seen", "torch.tensor(frame[open('name').read()].values).float()", "model(X)"),
        ("pieces of a large file", 'torch.tensor(next(pd.read_csv("a.csv", chunksize=9))["price"].values).float()', "model(X).squeeze(1)"),
    )
})
def test_sound(code):
    holds(code)


@table({
    "cells that are lists, one for each label": HEAD + """
class Texts(Dataset):
    def __init__(self, path):
        frame = pd.read_csv(path)
        frame["labels"] = frame[frame.columns[2:]].values.tolist()
        self.one, self.two = frame.labels, frame["labels"].values
        self.three = np.array(frame["labels"])

    def __len__(self):
        return len(self.one)

    def __getitem__(self, i):
        given = (self.one[i], self.two[i], self.three[i])
        return torch.rand(8), *(torch.tensor(each, dtype=torch.float) for each in given)


net = nn.Linear(8, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, one, two, three in DataLoader(Texts("a.csv"), batch_size=32, shuffle=True):
    optimizer.zero_grad()
    out = net(x)
    loss = F.mse_loss(out, one) + F.binary_cross_entropy_with_logits(out, two) + F.mse_loss(out, three)
    loss.backward()
    optimizer.step()
""",
})
def test_cells(code):
    holds(code)
