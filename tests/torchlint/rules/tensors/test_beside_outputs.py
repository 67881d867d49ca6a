"""401: what is computed from the output of a model that was moved meets a tensor that is made on the CPU."""

from tests.torchlint.dryrun.support import holds, table

KERNEL = """
def squares(one, two):
    return (one * one).sum(1, keepdim=True) - 2 * torch.matmul(one, two.t()) + (two * two).sum(1)

def kernel(x):
    widths = 1.0 / torch.tensor([0.1, 1.0]).unsqueeze(1){put}
    return torch.matmul(widths, x.reshape(1, -1)){mark}

def train(loader, optimizer):
    net = nn.Linear(4, 4).to({device})
    for x in loader:
        out = net(x.to({device}))
        {between}
        optimizer.zero_grad()
        kernel(out).sum().backward()
        optimizer.step()
"""


def kernel(between, device='"cuda"', put="", mark=""):
    return KERNEL.format(between=between, device=device, put=put, mark=mark)


BAD = "  # <- 401"


@table({
    "divided by its mean": kernel("out = out / torch.mean(out)", mark=BAD),
    "by functions of the project": kernel("out = squares(out, out)", mark=BAD),
    "added to something": kernel("out = out + optimizer.noise", mark=BAD),
    "through a softmax": kernel("out = 2 * torch.softmax(out, 1)", mark=BAD),
    "brought to the CPU": kernel("out = out / 2\n        out = out.cpu() * 2"),
    "brought somewhere": kernel("out = (out / 2).to(optimizer.place) * 2"),
    "brought to the type of something": kernel("out = (out / 2).type_as(optimizer.noise) * 2"),
    "the other one is moved": kernel("out = out / 2", put=".to(x.device)"),
    "all on the CPU": kernel("out = out / 2", device='"cpu"'),
    "one of two": kernel("out = out / 2 if len(x) else torch.zeros(4)"),
    "of numbers": kernel("out = torch.zeros(4) + out.mean().item() / 2"),
})
def test_computed_from_outputs(code):
    holds(code)
