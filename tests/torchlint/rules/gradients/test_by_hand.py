"""101 and 123: weights that are updated by hand."""

from tests.torchlint.dryrun.support import holds, table

OWN = """
x, y = torch.randn(50, 3), torch.randn(50, 1)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(100):
    {before}
    loss = ((x.mm(w) + b - y) ** 2).mean()
    loss.backward(){mark}
    {update}
    {behind}
"""
MARK = "  # <- 101"


def own(update, mark=MARK, before="pass", behind="pass"):
    return OWN.format(update=update, mark=mark, before=before, behind=behind)


@table({
    "a method of the numbers": own("w.data.sub_(0.1 * w.grad.data)"),
    "an augmented assignment": own("w.data -= 0.1 * w.grad.data"),
    "numbers put in the place of others": own("w.data = w.data - 0.1 * w.grad.data"),
    "without gradients": own("with torch.no_grad(): w -= 0.1 * w.grad; b -= 0.1 * b.grad"),
    "several in a loop": own("for p in [w, b]: p.data.sub_(0.1 * p.grad)"),
    "another is cleared": own("w.data -= 0.1 * w.grad.data; b.data -= 0.1 * b.grad.data", behind="b.grad.data.zero_()"),
    "cleared behind each": own("w.data -= 0.1 * w.grad.data", "", behind="w.grad.data.zero_()"),
    "put away behind each": own("w.data -= 0.1 * w.grad.data", "", behind="w.grad = None"),
    "cleared where there is one": own("w.data -= 0.1 * w.grad.data", "", before="if w.grad is not None: w.grad.zero_()"),
    "a new leaf each time": own("w = (w.data - 0.1 * w.grad).requires_grad_()", ""),
    "a new leaf, cut off": own("w = w.detach() - 0.1 * w.grad", "", behind="w.requires_grad = True"),
    "by somebody who is not seen": own("w.data -= 0.1 * w.grad.data", "", behind="reset_gradients(w)"),
    "to another weight": own("b.data -= 0.1 * w.grad.data.mean()", ""),
})
def test_own_weights(code):
    holds(code)


MODEL = """
def sgd(parameters, lr):
    for p in parameters:
        p.data.sub_(lr * p.grad.data){behind}

net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
x, y = torch.randn(50, 3), torch.randn(50, 1)
for epoch in range(9):
    {before}
    F.mse_loss(net(x), y).backward(){mark}
    sgd(net.parameters(), 0.1)
"""


@table({
    "of a model": MODEL.format(behind="", before="pass", mark=MARK),
    "of a model that is cleared": MODEL.format(behind="", before="net.zero_grad()", mark=""),
    "of a model, cleared one by one": MODEL.format(behind="; p.grad.zero_()", before="pass", mark=""),
    "of a model, put away one by one": MODEL.format(behind="; p.grad = None", before="pass", mark=""),
})
def test_weights_of_a_model(code):
    holds(code)


@table({
    "recorded": """
z = torch.randn(3, 1, requires_grad=True)
for t in range(9):
    loss = (torch.randn(5, 3) @ z).mean()
    loss.backward()
    z = z - 0.1 * z.grad  # <- 123
""",
    "of the numbers alone": """
z = torch.randn(3, 1, requires_grad=True)
for t in range(9):
    loss = (torch.randn(5, 3) @ z).mean()
    loss.backward()
    z = (z.data - 0.1 * z.grad).requires_grad_()
""",
})
def test_what_autograd_records(code):
    holds(code)


CLEARED = """
def train(model, other, loader, optimizer, every):
    for i, (x, y) in enumerate(loader):
        model.zero_grad(){mark}
        loss = F.cross_entropy({asked}, y)
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
"""


@table({
    "the model's gradients, for each batch": CLEARED.format(asked="model(x)", mark="  # <- 102"),
    "those of a part": CLEARED.format(asked="other(model(x))", mark=""),
    "those of another model": CLEARED.format(asked="other(x)", mark=""),
})
def test_a_model_is_cleared_for_an_optimizer_that_is_not_seen(code):
    holds(code)


ATTACK = """
def train(model, optimizer, loader, eps, alpha, turns, keep):
    for x, y in loader:
        {made}
        for _ in range(turns):
            {begins}
            loss = F.cross_entropy(model(x + delta), y)
            optimizer.zero_grad()
            loss.backward(){mark}
            grad = delta.grad.detach()
            {update}
            {after}
        optimizer.zero_grad()
        F.cross_entropy(model(x + delta.detach()), y).backward()
        optimizer.step()
"""
NOISE = "delta = torch.zeros_like(x).uniform_(-eps, eps)"


def attack(mark="  # <- 101", made=NOISE, begins="delta.requires_grad = True",
           update="delta.data = torch.clamp(delta + alpha * torch.sign(grad), -eps, eps)", after="pass"):
    return ATTACK.format(mark=mark, made=made, begins=begins, update=update, after=after)


@table({
    "noise that an attack makes": attack(),
    "a copy of the images": attack(
        made="delta = x.clone().detach().requires_grad_(True)", begins="pass", update="delta.data = delta.data + alpha * grad.sign()"
    ),
    "the gradient is cleared": attack(mark="", after="delta.grad.zero_()"),
    "the noise is another tensor each time": attack(mark="", begins="delta = delta.detach().requires_grad_()"),
    "somebody holds it": attack(mark="", made=NOISE + "\n        keep(delta)"),
    "an optimizer holds it": attack(mark="", made=NOISE + "\n        optimizer = torch.optim.SGD([delta], lr=0.1)"),
})
def test_attacks(code):
    holds(code)
