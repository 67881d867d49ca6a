"""117: losses without a graph that are marked as if they had one, and new leaves made of numbers."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
from torch.autograd import Variable

def train(model, optimizer, loader):
    criterion = nn.MSELoss()
    for x, y in loader:
        optimizer.zero_grad()
        {output}
        {loss}
        {mark}
        loss.backward(){told}
        optimizer.step()
"""


def cut(output, loss="loss = criterion(out, y)", mark="loss.requires_grad = True", told="  # <- 117"):
    return TRAIN.format(output=output, loss=loss, mark=mark, told=told)


ITEM = "loss = criterion(model(x), y).item()"


@table({
    "class numbers": cut("out = model(x).argmax(1).float()"),
    "class numbers, asked to require": cut("out = model(x).argmax(1).float()", mark="loss.requires_grad_()"),
    "places": cut("_, out = torch.max(model(x), 1)", "loss = criterion(out.float(), y)"),
    "places, the target first": cut("_, out = torch.max(model(x), 1)", "loss = criterion(y, out.float())"),
    "a variable": cut("_, out = torch.max(model(x), 1)", "loss = criterion(y, out.float())", "loss = Variable(loss, requires_grad=True)"),
    "whole numbers": cut("out = model(x).long()", "loss = criterion(out.float(), y)"),
    "a list of a loss": cut("out = model(x)", "loss = torch.FloatTensor([criterion(out, y)])"),
    "a list of numbers": cut("losses = [criterion(model(x), y).item()]", "loss = torch.tensor(losses, requires_grad=True).mean()", "pass"),
    "a sum of numbers": cut("total = 0", "total += criterion(model(x), y).item()", "loss = torch.tensor(total, requires_grad=True)"),
    "the loss": cut("out = model(x)", told=""),
    "the mean of losses": cut("losses = [criterion(model(x), y)]", "loss = torch.stack(losses).mean()", "pass", ""),
    "the target first": cut("out = model(x)", "loss = criterion(y, out)", "pass", ""),
    "a second part": cut("out = model(x)", "loss = criterion(out.argmax(1).float(), y) + criterion(out, y)", "pass", ""),
    "a target that the model makes": cut("out = model(x)", "loss = criterion(out, model(x).detach())", "pass", ""),
})
def test_losses(code):
    holds(code)


@table({
    "what is compared": """
def train(loader):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss((model(x) > 0.5).float(), y)
        loss.requires_grad = True
        loss.backward()  # <- 117
        optimizer.step()
""",
    "a mask of what is compared": """
def train(loader):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.mse_loss(out * (out > 0.5).float(), y)
        loss.backward()
        optimizer.step()
""",
})
def test_comparisons(code):
    holds(code)


GAN = """
def train(loader):
    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    of_maker = torch.optim.Adam(maker.parameters())
    of_judge = torch.optim.Adam(judge.parameters())
    mse, l1 = nn.MSELoss(), nn.L1Loss()
    for sketch, photo in loader:
        made = maker(sketch)
        real, fake = judge(photo), judge(made.detach())
        of_judge_loss = mse(real, torch.ones_like(real)) + mse(fake, torch.zeros_like(fake))
        of_judge.zero_grad()
        of_judge_loss.backward()
        of_judge.step()
        {answer}
        loss = 0.1 * mse(answer, torch.ones_like(answer)) + {other}
        of_maker.zero_grad(){cleared}
        loss.backward()
        of_maker.step(){stepped}
"""


def term(answer="answer = judge(made.detach())  # <- 117", other="l1(made, photo)", cleared="", stepped=""):
    return GAN.format(answer=answer, other=other, cleared=cleared, stepped=stepped)


@table({
    "a term of what is cut": term(),
    "cut a line before": term("cut = made.detach(); answer = judge(cut)  # <- 117"),
    "a term with its graph": term("answer = judge(made)"),
    "a term of the batch": term("answer = judge(photo)"),
    "what the judge learns by, too": term("answer = judge(made.detach())", cleared="; of_judge.zero_grad()", stepped="; of_judge.step()"),
})
def test_terms(code):
    holds(code)
