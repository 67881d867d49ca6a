"""501 of parameters that were moved on the way into a plain list."""

from tests.torchlint.dryrun.support import holds, table

NET = """
class Net(nn.Module):
    def __init__(self, depth, device):
        super().__init__()
        self.kernels = []{mark}
        for at in range(depth):
            kernel = {made}
            {registered}
            self.kernels.append({kept})

    @staticmethod
    def new(width):
        weight = nn.Parameter(torch.empty(width, 1))
        nn.init.xavier_normal_(weight)
        return weight

    def forward(self, x):
        for kernel in self.kernels:
            x = x @ kernel
        return x
"""
BAD = "  # <- 501"


def net(mark="", **other):
    return NET.format(mark=mark, **({"made": "nn.Parameter(torch.randn(4, 1))", "registered": "pass", "kept": "kernel.to(device)"} | other))


@table({
    "as it is": net(BAD, kept="kernel"),
    "to a device": net(BAD),
    "to the GPU": net(BAD, kept="kernel.cuda()"),
    "moved where it is made": net(BAD, made="nn.Parameter(torch.randn(4, 1)).to(device)", kept="kernel"),
    "made in a method": net(BAD, made="self.new(4)"),
    "registered by itself": net(registered='self.register_parameter(f"kernel{at}", kernel)'),
    "a copy that is not to be trained": net(kept="kernel.detach().to(device)"),
    "no parameter": net(made="torch.randn(4, 1)"),
})
def test_a_moved_parameter_in_a_plain_list(code):
    holds(code)
