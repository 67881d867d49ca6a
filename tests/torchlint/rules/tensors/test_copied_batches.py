"""412: what a loader has made a tensor of already, and is copied once more."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
from torch.utils.data import DataLoader
from data import Pictures

def run(model):
    loader = DataLoader(Pictures(), batch_size=8{more})
    for {target} in loader:
        {body}
        model(x, y).backward()
"""


def loop(body, target="x, y", more=""):
    return LOOP.format(body=body, target=target, more=more)


@table({
    "one of two": loop("x = torch.tensor(x)  # <- 412"),
    "and moved": loop("y = torch.tensor(y).cuda()  # <- 412"),
    "with a dtype": loop("y = torch.tensor(y, dtype=torch.float32)  # <- 412"),
    "by its place": loop("x, y = torch.tensor(batch[0]), batch[1]  # <- 412", "batch"),
    "by its name": loop("x, y = torch.tensor(batch['x']), batch['y']  # <- 412", "batch"),
    "of its numbers": loop("x = torch.tensor(x.numpy())"),
    "a list of it": loop("x = torch.tensor([len(x)])"),
    "put together by the program": loop("x = torch.tensor(x)", more=", collate_fn=Pictures.collate"),
    "one at a time": loop("x = torch.tensor(x)", more="").replace("batch_size=8", "batch_size=None"),
    "of one sample, which may be a list": loop("x = torch.tensor(x)").replace("batch_size=8", "batch_size=1"),
    "of one sample, since nothing is said": loop("x = torch.tensor(x)").replace(", batch_size=8", ""),
    "the whole batch": loop("x, y = torch.tensor(batch), 1", "batch"),
    "asked first": loop("x = torch.tensor(x) if isinstance(x, list) else x"),
})
def test_batches(code):
    holds(code)
