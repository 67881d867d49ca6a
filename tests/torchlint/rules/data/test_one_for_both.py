"""616: a loader to evaluate with that goes through the data set of the training."""

from tests.torchlint.dryrun.support import holds, table

FIT = """
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

{before}

def fit(model, data, options):
    {made}
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(9):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            {evaluated}
"""
TRAIN = "train_loader = DataLoader(data, batch_size=8, shuffle=True)\n    "
TEST = "test_loader = DataLoader(data, batch_size=8)"
FOUND = TRAIN + TEST + "  # <- 616"
GOES = "print(sum((model(x).argmax(1) == y).sum().item() for x, y in {}))"


def fit(made, evaluated=GOES.format("test_loader"), before=""):
    return FIT.format(made=made, evaluated=evaluated, before=before)


@table({
    "what a function is given": fit(FOUND),
    "pictures of a folder": fit("data = datasets.ImageFolder('pictures', transforms.ToTensor())\n    " + FOUND),
    "by keyword": fit(TRAIN + "val_loader = DataLoader(dataset=data, batch_size=4)  # <- 616", "show(model, val_loader)"),
    "outside of a function": """
from torch.utils.data import DataLoader
from pictures import Pictures

pictures = Pictures("folder")
trainloader = DataLoader(pictures, batch_size=8, shuffle=True)
testloader = DataLoader(pictures, batch_size=8)  # <- 616

def fit(model, optimizer):
    for x, y in trainloader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in testloader:
            print(F.cross_entropy(model.eval()(x), y).item())
""",
})
def test_one_data_set(code):
    holds(code)


@table({
    "two of them": fit(TRAIN + "test_loader = DataLoader(options.held_out, batch_size=8)"),
    "parts of one": fit(
        "data, held = torch.utils.data.random_split(data, [0.8, 0.2])\n    " + TRAIN + "test_loader = DataLoader(held, batch_size=8)"
    ),
    "by samplers": fit(
        "train_loader = DataLoader(data, sampler=options.train)\n    test_loader = DataLoader(data, sampler=options.test)"
    ),
    "called for the training": fit(TRAIN + "train_eval_loader = DataLoader(data, batch_size=8)", GOES.format("train_eval_loader")),
    "one or the other": fit(
        "if options.train:\n        " + TRAIN + "    optimizer = 0\n    else:\n        " + TEST, "pass",
    ),
    "another by the same name": fit(TRAIN + "data = options.held_out\n    " + TEST),
    "told which part is meant": fit(TRAIN + TEST, "data.use('test')\n            " + GOES.format("test_loader")),
    "gone through nowhere": fit(TRAIN + TEST, "print(len(test_loader))"),
    "a toy": fit("toy_data = data\n    " + (TRAIN + TEST).replace("(data", "(toy_data")),
})
def test_not_one_for_certain(code):
    holds(code)
