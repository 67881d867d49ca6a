"""401: one part of a batch is moved to the device of the model, and another part is not."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
from torch.utils.data import DataLoader
from torchvision import models
from elsewhere import Data, collate, to_gpu

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


@table({
    "the target of an unknown loader and model": HEAD + """
def fit(model, loader, optimizer):
    criterion = nn.CrossEntropyLoss()
    for images, labels in loader:
        images = images.to(device)
        loss = criterion(model(images), labels)  # <- 401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for images, labels in loader:
        loss = criterion(model(images.cuda()), labels.long().view(-1))  # <- 401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "the input has its dtype changed": HEAD + """
def fit(model, loader, optimizer):
    for images, labels in loader:
        images = images.type("torch.FloatTensor")
        loss = F.cross_entropy(model(images), labels.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for images, labels in loader:
        images = images.type("torch.cuda.FloatTensor")
        loss = F.cross_entropy(model(images), labels.long())  # <- 401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "the target behind a wrapper": HEAD + """
def fit(loader, net, optimizer):
    model = nn.DataParallel(net).cuda()
    for images, labels in loader:
        loss = F.cross_entropy(model(images.cuda()), labels)  # <- 401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "the input": HEAD + """
def fit(optimizer, loader):
    model = models.resnet18().to(device)
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels.to(device))  # <- 401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "the input of another loop": HEAD + """
def fit(optimizer, loader, others):
    model = models.resnet18().to(device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for images, labels in others:
            print(model(images).argmax(1).cpu() == labels)  # <- 401
""",
    "what workers read": HEAD + """
def show(path):
    model = models.resnet18().to(device)
    model.eval()
    with torch.no_grad():
        for images, labels in DataLoader(Data(path), num_workers=4):
            print(model(images))  # <- 401
        for images, labels in DataLoader(Data(path), pin_memory=True):
            print(model(images))  # <- 401
        for images, labels in DataLoader(Data(path), pin_memory=True, collate_fn=collate):
            print(model(images))
        for images, labels in DataLoader(Data(path)):
            print(model(images))
""",
    "models that know where things are": HEAD + """
class Moves(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, bags):
        return [self.head(bag.cuda()) for bag in bags]

class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x, rows):
        return self.head(x)[rows]

def show(path):
    moves, chooses = Moves().cuda(), Chooses().cuda()
    for bags, rows in DataLoader(Data(path), num_workers=4):
        print(moves(bags), chooses(bags.cuda(), rows))
""",
    "what is right": HEAD + """
class Moves(nn.Module):
    def forward(self, scores, labels):
        return F.cross_entropy(scores, labels.to(scores.device))

def fit(model, loader, net, use_cuda, optimizer, accelerator):
    for images, labels in loader:
        images = images.to(device)
        F.cross_entropy(model(images).cpu(), labels)
        F.cross_entropy(model(images).to("cpu"), labels)
        Moves()(model(images), labels)
        out = model(images)
        out = out.cpu()
        F.cross_entropy(out.view(-1, 10), labels)
    for images, labels in loader:
        if use_cuda:
            images, labels = images.cuda(), labels.cuda()
        F.cross_entropy(model(images), labels)
    for images, labels in loader:
        F.cross_entropy(model(images.to(torch.float32)), labels)
        F.cross_entropy(model(images.to("cpu")), labels)
    for images, labels, lengths, sizes in loader:
        F.ctc_loss(model(images.cuda()), labels, lengths, sizes)
    spread = nn.DataParallel(net).cuda()
    for images, labels in loader:
        F.cross_entropy(spread(images), labels.cuda())
    for images, labels in DataLoader(Data(), collate_fn=to_gpu):
        F.cross_entropy(model(images.to(device)), labels)
""",
    "a program for the CPU": """
device = torch.device("cpu")

def fit(model, loader):
    for images, labels in loader:
        F.cross_entropy(model(images.to(device)), labels)
""",
})
def test_left_behind(code):
    holds(code)


GRAPHS = """
from torch_geometric.datasets import CitationFull, Planetoid
from torch_geometric.nn import GCNConv

def train(name):
    if name == "Cora":
        dataset = Planetoid("data", name)
    else:
        dataset = %s
    data = dataset[0]
    model = GCNConv(16, 3).to("cuda")
    print(model(data.x, data.edge_index))%s
"""


@table({
    "a graph of one of two datasets": GRAPHS % ('CitationFull("data", name)', "  # <- 401"),
    "a graph of one that is not known": GRAPHS % ("elsewhere(name)", ""),
    "a graph of one that may be moved": GRAPHS % ('CitationFull("data", name).to("cuda")', ""),
})
def test_graphs(code):
    holds(code)


OWN = """
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets

class Dice(nn.Module):
    def forward(self, scores, truth, smooth=1):
        scores, truth = scores.view(-1), truth.view(-1)
        both = (scores * truth).sum()
        return 1 - (2. * both + smooth) / (scores.sum() + truth.sum() + smooth)

def overlap(scores, truth):
    scores = torch.sigmoid(scores)
    return 1 - (scores * truth.view(-1)).mean()

def validate(loader, net, measure, device):
    net.eval()
    total = 0
    with torch.no_grad():
        for pictures, truth in loader:
            pictures = pictures.to(device){more}
            scores = net(pictures)
            total += {loss}
    return total

def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = DataLoader({data}, batch_size={size})
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 1)).to(device)
    print(validate(loader, net, Dice(), device))
"""


def own(loss, more="", data="datasets.MNIST('data')", size="4"):
    return OWN.format(loss=loss, more=more, data=data, size=size)


@table({
    "a loss of one's own class": own("measure(scores, truth).item()  # <- 401"),
    "a loss of one's own function": own("overlap(scores, truth).item()  # <- 401"),
    "in place": own("((scores - truth.float()) ** 2).mean().item()  # <- 401"),
    "counted": own("(scores.squeeze(1) == truth).sum().item()  # <- 401"),
    "both are moved": own("measure(scores, truth).item()", more="; truth = truth.to(device)"),
    "moved where it is asked": own("measure(scores, truth.to(scores.device)).item()"),
    "moved in the loss": own("measure(scores, truth).item()").replace("truth.view(-1)\n    ", "truth.view(-1).to(scores)\n    "),
    "brought back": own("measure(scores.cpu(), truth).item()"),
    "numbers that no loader has put together": own("((scores - truth) ** 2).mean().item()", size="None"),
    "another loader's": own("((scores - truth) ** 2).mean().item()").replace("loader, net, Dice", "[(torch.zeros(2, 784).to(device), 3.0)], net, Dice"),
})
def test_operations_of_ones_own(code):
    holds(code)
