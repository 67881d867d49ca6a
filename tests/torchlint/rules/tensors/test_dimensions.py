"""408: whose sizes are given to a view, and in which order."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "products of sizes": """
def f(x):
    b, c, h, w = x.shape
    a = x.reshape(b, h * w, c)  # <- 408
    d = x.reshape(b, w * h, c)  # <- 408
    e = x.reshape(b * c, h * w)
    g = x.reshape(b, c * h * w)
    return a, d, e, g, x.reshape(b, h * 2, w // 2, c), x.reshape(b, 1, c, h, w)
""",
    "sizes of something else": """
def f(x, y):
    b, c, h, w = y.shape
    x = x.view(b, h, w, c)
    b, c, h, w = x.size()
    x = x.permute(0, 2, 3, 1)
    return x.reshape(b, h, w, c)
""",
    "one by one": """
def f(x):
    u = x.view(x.size(0), x.size(2), x.size(1))  # <- 408
    v = x.view((x.shape[0], x.shape[2], x.shape[1]))  # <- 408
    return u, v, x.view(x.size(0), -1, x.size(2)), x.view(-1, x.size(-1))
""",
    "what is left over": """
def f(x):
    b, c, h, w = x.shape
    first, *others = x.shape
    return x.view(b, -1, c), x.view(b, c, -1), x.view(-1, w), x.view(b, -1, h, w), x.view(first, -1)  # <- 408
""",
    "numbers": """
def f():
    x = torch.randn(8, 3, 32, 20)
    y = torch.zeros(2, 3, 4)
    a, b = x.view(8, 32, 20, 3), x.view(8, 3, 20, 32)  # <- 408, 408
    return a, b, x.view(32, 3, 8, 20), y.view(4, 3, 2), x.view(8, 3, 640)
""",
    "a size of one, a branch, a shift": """
conv = nn.Conv2d(8, 1, 3)

def f(x, flag):
    x = conv(x)
    b, c, h, w = x.shape
    return x.view(b, h, w, c)

def g(x):
    b, c, n = x.shape
    if c == n:
        return x.view(b, n, c)
    x = x.view(c, b, n)
    return x[1:]
""",
})
def test_dimensions(code):
    holds(code)
