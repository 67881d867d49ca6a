"""416: what a model on the GPU gives is turned into an ndarray where it lies."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def show(loader, args):
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)).to(device)
    with torch.no_grad():
        for x, y in loader:
            scores = model(x.to(device))
"""


def case(*lines):
    return HEAD + "".join(f"            {line}\n" for line in lines)


NETS = """
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 8)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))))


class Net(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.head = body, nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x)){back}


def train(loader, args):
    net = Net(Body())
    if args.cuda:
        net = net.cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        x = x.resize_(32, 4).cuda()
        optimizer.zero_grad()
        F.cross_entropy(net(x), y.cuda()).backward()
        optimizer.step()
        with torch.no_grad():
            print(net(x).data[0].numpy()){mark}
"""


@table({
    "as it is": case("print(scores.numpy())  # <- 416"),
    "its places": case("print(scores.argmax(1).numpy())  # <- 416", "print(torch.max(scores, 1)[1].numpy())  # <- 416"),
    "computed from it": case("print(torch.softmax(scores, 1)[:, 1].numpy())  # <- 416"),
    "with a graph": case("with torch.enable_grad():", "    scores = model(x.to(device))", "print(scores.detach().numpy())  # <- 416"),
    "a part of its data": case("print(scores.data[0].numpy())  # <- 416"),
    "for a function of NumPy's": case("print(np.array(scores))  # <- 416"),
    "from model to model": case("head = nn.Linear(2, 2).to(device)", "print(head(scores).numpy())  # <- 416"),
    "through its parts": NETS.format(back="", mark="  # <- 416"),
})
def test_it_lies_on_the_gpu(code):
    holds("import numpy as np\n" + code)


@table({
    "brought back": case("print(scores.cpu().numpy(), scores.argmax(1).cpu().numpy(), scores.to('cpu').numpy())"),
    "brought back by name": case("scores = scores.cpu()", "print(scores.numpy())"),
    "brought back by the model": NETS.format(back=".cpu()", mark=""),
    "where there is no GPU": case("print(scores.cpu().numpy() if torch.cuda.is_available() else scores.numpy())"),
    "where none is asked for": case("if args.cuda:", "    print(scores.cpu().numpy())", "else:", "    print(scores.numpy())"),
    "where the device says so": case("if device.type == 'cpu':", "    print(scores.numpy())"),
    "the model is brought back": case("model.cpu()", "print(model(x).numpy())"),
    "nothing is said of the input": case("print(model(args.given).numpy())"),
    "on a device that is given": case("print(scores.cpu().numpy())").replace('torch.device("cuda" if torch.cuda.is_available() else "cpu")', "args.device"),
    "it has no weights": case("y = nn.Softmax(1).to(device)(y)", "print(y.numpy())"),
})
def test_it_may_lie_on_the_cpu(code):
    holds("import numpy as np\n" + code)


SUMS = """
import matplotlib.pyplot as plt
import numpy as np


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def evaluated(model, loader):
    right, steps = 0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = {given}
            found = {found}
            right += {hits}
            steps += 1
    return {score}


def main(loader, args):
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)).to(device)
    scores = []
    for _ in range(10):
        scores.append(evaluated(model, loader))
    {read}{mark}
"""


def sums(mark="  # <- 416", given="x.to(device), y.to(device)", found="model(x).argmax(1)", hits="(found == y).sum()", score="right / steps",
         read="plt.plot(scores)"):
    return SUMS.format(mark=mark, given=given, found=found, hits=hits, score=score, read=read)


@table({
    "a quotient": sums(),
    "the sum itself": sums(score="right"),
    "what is left of one": sums(score="1 - right / len(loader.dataset)", read="print(np.array(scores))"),
    "of places": sums(found="torch.max(model(x), 1)[1]", hits="torch.sum(found == y.data)"),
    "a mean of each": sums(hits="found.eq(y).float().mean()"),
    "of another type": sums(score="right.double() / len(loader.dataset)"),
    "of a leaf that holds the input": sums(given="torch.autograd.Variable(x.to(device), requires_grad=True), y.to(device)", hits="(found != y).float().sum()"),
})
def test_a_sum_of_what_is_there_lies_there(code):
    holds(code)


@table({
    "each brought back": sums("", hits="(found == y).sum().cpu()"),
    "each a number": sums("", hits="(found == y).sum().item()"),
    "brought back at the end": sums("", score="(right / steps).cpu()"),
    "on a device that is given": sums("", score="(right / steps).to(loader.device)"),
    "of a type that is given": sums("", score="(right / steps).type_as(loader.given)"),
    "added to what was made on the CPU": sums("", score="right / steps").replace("right, steps = 0, 0", "right, steps = torch.tensor(0.0), 0"),
    "the model is asked on the CPU": sums("", given="x, y").replace(".to(device)", ""),
})
def test_a_sum_that_may_lie_on_the_cpu(code):
    holds(code)
