"""416: what NumPy, matplotlib, scikit-learn and SciPy make arrays of, as a whole and in lists, with gradients or on the GPU."""

from tests.torchlint.dryrun.support import holds, table

TEST = """
import numpy as np
import matplotlib.pyplot as plt
from scipy import stats
from sklearn import metrics

def test(model, loader):
    model.eval()
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    kept = []
    with torch.no_grad():
        for x, y in loader:
            {body}
"""
TRAIN = """
import numpy as np
import matplotlib.pyplot as plt
from sklearn import metrics

def train(loader):
    model = nn.Linear(4, 2)
    for x, y in loader:
        out = model(x)
        {body}
        F.cross_entropy(out, y).backward()
"""
LATER = """
import numpy as np

def train(model, optimizer, criterion, loader):
    log = []
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        {before}
        loss.backward()
        optimizer.step()
        log = keep(log, step, loss{what})
        {behind}

def keep(log, step, loss):
    log.append((step, loss)){told}
    return log
"""


def on_gpu(body):
    return TEST.format(body="\n            ".join(body))


@table({
    "concatenated": on_gpu(["x = x.cuda()", "np.concatenate([x.data, model(x).data])  # <- 416"]),
    "in a device": on_gpu(["y = y.to(device)", "print(metrics.accuracy_score(y, model(x).argmax(1)))  # <- 416"]),
    "for a statistic": on_gpu(["x, y = x.cuda(), y.cuda()", "print(stats.mode(y).mode)  # <- 416"]),
    "for a statistic, on the CPU": on_gpu(["x, y = x.cuda(), y.cuda()", "print(stats.mode(y.cpu()).mode)"]),
    "as the second argument": on_gpu(["x, y = x.cuda(), y.cuda()", "np.append(kept, y)  # <- 416"]),
    "as it stands": on_gpu(["x = x.cuda(non_blocking=True)", "print(x.numpy())  # <- 416"]),
    "as a float": on_gpu(["x = x.cuda().float()", "np.abs(x)  # <- 416"]),
    "in a list": on_gpu(["y = y.cuda()", "kept.append(y)", "plt.plot(np.concatenate(kept))  # <- 416"]),
    "brought back where there is a GPU": on_gpu(["x = x.cuda()", "if torch.cuda.is_available():", "    x = x.cpu()", "print(x.numpy())"]),
    "brought back for another reason": on_gpu(["x = x.cuda()", "if kept:", "    x = x.cpu()", "print(x.numpy())  # <- 416"]),
    "brought back": on_gpu(["x, y = x.cuda(), y.cuda()", "metrics.accuracy_score(y.cpu(), model(x).cpu().argmax(1))"]),
    "brought back by name": on_gpu(["y = y.to(device)", "y = y.to('cpu')", "np.append(kept, y)"]),
    "its data, brought back": on_gpu(["y = y.cuda()", "print(y.data.cpu().numpy(), y.data.cpu().float().numpy(), y.detach().cpu().numpy())"]),
    "its data": on_gpu(["y = y.cuda()", "print(y.data.numpy())  # <- 416"]),
    "a copy": on_gpu(["y = y.to(device)", "print(y.clone().numpy())  # <- 416"]),
    "in another shape": on_gpu(["y = y.cuda()", "np.append(kept, y.contiguous().float().view(-1))  # <- 416"]),
    "a copy, brought back": on_gpu(["y = y.to(device)", "print(y.clone().cpu().numpy(), y.view(-1).to('cpu').numpy())"]),
    "as another tensor is": on_gpu(["y = y.to(device)", "print(y.view(-1).type_as(torch.zeros(1)).numpy())"]),
    "where a setting says": on_gpu(["y = y.cuda()", "print(y.clone().to(**model.place).numpy())"]),
    "where there may be none": on_gpu(["if model.big:", "    y = y.cuda()", "np.append(kept, y)"]),
    "its number": on_gpu(["y = y.cuda()", "kept.append(y.item())", "np.mean(kept)"]),
    "an unknown device": on_gpu(["y = y.to(model.device)", "np.append(kept, y)"]),
    "numbers as of torch 0.3": on_gpu(["y = torch.zeros(8).cuda()", "metrics.accuracy_score([label.data[0] for label in y], kept)  # <- 941"]),
    "data in a list": on_gpu(["y = torch.zeros(8, 2).cuda()", "np.concatenate([y.data, y.data])  # <- 416"]),
    "rows": on_gpu(["y = torch.zeros(8, 2).cuda()", "metrics.accuracy_score([label[0] for label in y], kept)  # <- 416"]),
    "asked first": on_gpu(["y = y.cuda()", "np.append(kept, y.cpu() if y.is_cuda else y)"]),
})
def test_gpu(code):
    holds(code)


@table({
    "the largest": TRAIN.format(body="np.argmax(out, axis=1)  # <- 416"),
    "a ufunc": TRAIN.format(body="np.exp(out)  # <- 416"),
    "a score": TRAIN.format(body="metrics.roc_auc_score(y, out[:, 1])  # <- 416"),
    "a plot": TRAIN.format(body="plt.scatter(x, out)  # <- 416"),
    "detached": TRAIN.format(body="metrics.roc_auc_score(y, out.detach()[:, 1])"),
    "what has no gradient": TRAIN.format(body="metrics.accuracy_score(y, out.argmax(1))"),
    "its shape": TRAIN.format(body="np.shape(out)"),
    "a question": TRAIN.format(body="np.where(out.detach() > 0, 1, 0)"),
})
def test_gradients(code):
    holds(code)


def later(before="pass", what="", behind="pass", told="  # <- 106"):
    return LATER.format(before=before, what=what, behind=behind, told=told)


@table({
    "what went backward is saved": later(behind="np.savetxt('log.csv', log)  # <- 416"),
    "a loss of an unknown model is read": later(behind="print(loss.numpy(), np.float32(loss))  # <- 416, 416"),
    "its number": later(what=".item()", behind="np.savetxt('log.csv', log)", told=""),
    "before": later(before="np.float32(loss)"),
})
def test_what_went_backward(code):
    holds(code)


@table({
    "as it is": TRAIN.format(body="print(out.numpy())  # <- 416"),
    "by force": TRAIN.format(body="print(out.squeeze(-1).numpy(force=True))"),
    "by force, where somebody says so": TRAIN.format(body="print(out.numpy(force=loader.force))"),
    "not by force": TRAIN.format(body="print(out.numpy(force=False))  # <- 416"),
})
def test_by_force(code):
    holds(code)


NORM = """
import numpy as np

def train(loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2){moved}
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        norm = nn.utils.{clip}(model.parameters(), 1.0)
        if np.isnan({asked}):{mark}
            continue
        optimizer.step()
"""


@table({
    "a norm of gradients that are on the GPU": NORM.format(moved=".to(device)", clip="clip_grad_norm_", asked="norm", mark="  # <- 416"),
    "its number": NORM.format(moved=".to(device)", clip="clip_grad_norm_", asked="norm.item()", mark=""),
    "brought back": NORM.format(moved=".to(device)", clip="clip_grad_norm_", asked="norm.cpu()", mark=""),
    "of a model that may be anywhere": NORM.replace("nn.Linear(4, 2){moved}", "make()").format(clip="clip_grad_norm_", asked="norm", mark=""),
    "made a number": NORM.format(moved=".to(device)", clip="clip_grad_norm_", asked="float(norm)", mark=""),
})
def test_norms_of_gradients(code):
    holds(code)
