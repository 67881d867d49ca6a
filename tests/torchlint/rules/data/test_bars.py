"""603 of a loop that goes through a loader in one of several ways, a bar around it or none: it is the same loader, whichever is chosen."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from torchvision import datasets, transforms
from tqdm import tqdm

def train(model, shown, epochs=10):
    data = datasets.CIFAR10("data", train=True, transform=transforms.ToTensor())
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle={shuffle}){mark}
    other = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        {chosen}
        for i, (x, y) in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""
TOLD = "  # <- 603"


def program(chosen, mark="", shuffle=False):
    return PROGRAM.format(chosen=chosen, mark=mark, shuffle=shuffle)


@table({
    "a bar or none": program("batches = tqdm(enumerate(loader)) if shown else enumerate(loader)", TOLD),
    "a bar or none, in branches": program("""if shown:
            batches = enumerate(tqdm(loader))
        else:
            batches = enumerate(loader)""", TOLD),
    "a bar or none, of what is mixed": program("batches = tqdm(enumerate(loader)) if shown else enumerate(loader)", shuffle=True),
    "another one, without a bar": program("batches = tqdm(enumerate(loader)) if shown else enumerate(other)"),
})
def test_whichever_is_chosen(code):
    holds(code)
