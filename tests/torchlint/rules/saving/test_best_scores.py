"""905 of a best score that begins anew where a training goes on, so that the best file is written over."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import os
{more}

def train(model: nn.Module, loader, validate, args):
    optimizer = torch.optim.Adam(model.parameters())
    start = 0
    best = {first}
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"]
        {load}
    {before}
    for epoch in range(start, args.epochs):
        {each}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        acc = validate(model)
        state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1, "best": best}}
        torch.save(state, "last.pt")
        {asked}
        if {better}:
            best = acc
            torch.save(state, {path}){mark}
"""
BAD = "  # <- 905"


def program(mark="", **other):
    parts = {
        "more": "", "first": "0.0", "load": "print(start)", "before": "print(best)", "each": "model.train()", "asked": "print(acc)",
        "better": "acc > best", "path": '"best.pt"',
    }
    return PROGRAM.format(mark=mark, **(parts | other))


@table({
    "from nothing": program(BAD),
    "from infinity": program(BAD, first='float("inf")', better="acc < best"),
    "from below": program(BAD, first="-np.inf", more="import numpy as np"),
    "the other way round": program(BAD, better="best < acc"),
    "with something else": program(BAD, better="args.keep and acc > best"),
    "asked before": program(BAD, asked="is_best = acc > best", better="is_best"),
    "in a folder": program(BAD, path='os.path.join(args.out, "best_acc.pt")'),
    "a name that was another before": program(BAD, asked='path = f"{epoch}.pt"; torch.save(state, path)').replace(
        "            best = acc", '            best = acc\n            path = "best.pt"').replace('save(state, "best.pt")', "save(state, path)"),
    "a name that is another one": program(asked='path = f"{epoch}.pt"; torch.save(state, path)').replace(
        "            best = acc", '            best = acc\n            if args.short:\n                path = "best.pt"').replace('save(state, "best.pt")', "save(state, path)"),
    "beside what shows its values": program(BAD, more='class Layer(nn.Module):\n    def extra_repr(self):\n        return "{width}".format(**self.__dict__)'),
    "beside what shows the options": program(BAD, before='for name, value in vars(args).items():\n        print(name, value)'),
    "where nothing is tested": program(BAD).replace("if args.resume:", 'if not args.test and args.mode != "eval":'),
    "where something is tested": program().replace("if args.resume:", "if args.test:"),
    "from None": program(BAD, first="None", better="best is None or acc > best"),
    "beside options that are kept": program(BAD, before='torch.save({"model": model.state_dict(), "args": vars(args)}, "first.pt")'),
    "beside options that are shown": program(BAD, before="print(vars(args))"),
    "beside an object that keeps itself": program(BAD, more="class Meter:\n    def load_state_dict(self, state):\n        self.__dict__.update(state)"),
    "beside names that are gone through": program(BAD, more="from torchvision import models\n\nNAMES = sorted(name for name in models.__dict__\n    if name.islower())"),
    "options made of what was kept": program(load='args = type(args)(**{**vars(args), **kept})'),
    "values set by their names": program(load='args.__dict__.update(kept)'),
    "values set by their names, otherwise": program(load='vars(args)["best"] = kept["best"]'),
    "it is loaded": program(load='best = kept["best"]'),
    "it is loaded if it is there": program(load='best = kept.get("best", 0.0)'),
    "loaded with others": program(load='start, best = kept["epoch"], kept["best"]'),
    "measured before": program(before="best = validate(model)"),
    "measured in the first epoch": program(each="best = validate(model) if epoch == start else best"),
    "begun in each epoch": program(each="best = 0.0"),
    "a file for each epoch": program(path='f"best_{epoch}.pt"'),
    "a file for each score": program(path='"best_%.2f.pt" % acc'),
    "a folder for each run": program(more="import time\n\nOUT = time.strftime('%H%M')", path='os.path.join(OUT, "best.pt")'),
    "no resume": program().replace("if args.resume:", "if args.test:"),
    "an option": program(first="args.best"),
    "handed over": program().replace("validate, args):", "validate, args, best=0.0):"),
})
def test_best_scores(code):
    holds(code)


HELPER = """
import shutil


def save_checkpoint(state, is_best, name="checkpoint.pt"):
    torch.save(state, name)
    if {asked}:
        {copy}


def train(model: nn.Module, loader, validate, args):
    optimizer = torch.optim.Adam(model.parameters())
    start, best = 0, 0.0
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"]
        {load}
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        acc = validate(model)
        is_best = acc > best
        best = max(acc, best)
        save_checkpoint({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}}, is_best{more}){mark}
"""


def helper(mark="", **other):
    parts = {"asked": "is_best", "copy": 'shutil.copyfile(name, "best.pt")', "load": "print(start)", "more": ""}
    return HELPER.format(mark=mark, **(parts | other))


@table({
    "a copy": helper(BAD),
    "in brackets": helper(BAD, asked="(is_best)"),
    "written": helper(BAD, copy='torch.save(state, "best.pt")'),
    "by the caller's name": helper(BAD, copy="torch.save(state, name)", more=', name="best.pt"'),
    "by a name of the epoch": helper(copy="torch.save(state, name)", more=', name=f"{epoch}.pt"'),
    "by a name of what is made of the epoch": helper(copy='torch.save(state, f"{name}_{epoch + 1}.pt")', more=", epoch, args.name").replace(
        'is_best, name="checkpoint.pt"', "is_best, epoch, name"),
    "by a name of an option's part": helper(BAD, copy='torch.save(state, f"{args.name}_{rate}.pt")', more=", args, args.name, 0.1").replace(
        'is_best, name="checkpoint.pt"', "is_best, args, name, rate"),
    "by a name of the epoch's name": helper(copy='shutil.copyfile(name, name + ".best")', more=', name=f"{epoch}.pt"'),
    "by a name that is cut out of the file's": helper(BAD, copy='shutil.copyfile(name, f"{name[:-3]}-best.pt")', more=', name=f"model-{args.name}-name.pt"'),
    "by a name that stands in the place of the file's": helper(BAD, copy='shutil.copyfile(name, name.replace(".pt", "_best.pt"))', more=', name="last.pt"'),
    "by a name that is cut out of that of the epoch": helper(copy='shutil.copyfile(name, f"{name[:-3]}-best.pt")', more=', name=f"model-{epoch}.pt"'),
    "by a name in the place of that of the epoch": helper(copy='shutil.copyfile(name, name.replace(".pt", "_best.pt"))', more=', name=f"model-{epoch}.pt"'),
    "loaded": helper(load='best = kept["best"]'),
    "not where it is best": helper(asked="not is_best"),
})
def test_by_a_helper(code):
    holds(code)


SOLVER = """
class Solver:
    def __init__(self, model: nn.Module, args):
        self.model, self.args = model, args
        self.optimizer = torch.optim.Adam(model.parameters())
        self.reset()

    def reset(self):
        self.start, self.best = 0, 0.0
        if self.args.resume:
            kept = torch.load(self.args.resume, weights_only=True)
            self.model.load_state_dict(kept["model"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.start = kept["epoch"]
            {load}

    def train(self, loader, validate):
        for epoch in range(self.start, self.args.epochs):
            for x, y in loader:
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                self.optimizer.step()
            self.keep(validate(self.model), epoch)

    def keep(self, acc, epoch):
        state = {{"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch + 1}}
        if acc > self.best:
            self.best = acc
            torch.save(state, self.args.folder + "/best.pt"){mark}


def main(model: nn.Module, args, loader, validate):
    solver = Solver(model, args)
    {between}
    solver.train(loader, validate)
"""


@table({
    "of an object": SOLVER.format(load="print(kept)", between="print(solver)", mark=BAD),
    "loaded": SOLVER.format(load='self.best = kept["best"]', between="print(solver)", mark=""),
    "set from outside": SOLVER.format(load="print(kept)", between="solver.best = args.best", mark=""),
    "set by its name": SOLVER.format(load='setattr(self, "best", kept["best"])', between="print(solver)", mark=""),
})
def test_of_an_object(code):
    holds(code)


WEIGHTS = """
class Trainer:
    def __init__(self, model: nn.Module, path):
        self.model, self.path = model, path
        self.{load}()

    def save(self):
        torch.save(self.model.state_dict(), self.path)

    def {load}(self):
        self.model.load_state_dict(torch.load({path}, weights_only=True))

    def train(self, loader):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.best_loss = 1e18
        for epoch in range(30):
            total = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                optimizer.step()
                total += loss.item()
            if self.best_loss > total:
                self.best_loss = total
                self.save(){mark}


def main(model: nn.Module, loader):
    Trainer(model, "net.pt").train(loader)
"""


@table({
    "into a model that a restore fills": WEIGHTS.format(load="restore_model", path="self.path", mark=BAD),
    "weights of another": WEIGHTS.format(load="fill", path='"pretrained.pt"', mark=""),
})
def test_of_weights_alone(code):
    holds(code)


HANDED = """
def keep_best(acc, {param}, model, path):
    if acc > {param}:
        {param} = acc
        torch.save(model.state_dict(), path)
    return {param}


def train(model: nn.Module, loader, validate, args):
    optimizer = torch.optim.Adam(model.parameters())
    start, best_acc = 0, 0.0
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"]
        {load}
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        {call}{mark}
"""


def handed(mark="", **other):
    parts = {"param": "best", "load": "print(start)", "call": "best_acc = keep_best(validate(model), best_acc, model, args.path)"}
    return HANDED.format(mark=mark, **(parts | other))


@table({
    "under another name": handed(BAD),
    "under the same name": handed(BAD, param="best_acc"),
    "by its name": handed(BAD, call="best_acc = keep_best(validate(model), model=model, best=best_acc, path='best.pt')"),
    "through another helper": handed(BAD, call="best_acc = keep_in(best_acc, validate(model), model)").replace(
        "\n\ndef train", "\n\ndef keep_in(best_so_far, acc, model):\n    return keep_best(acc, best_so_far, model, 'best.pt')\n\n\ndef train"),
    "loaded": handed(load='best_acc = kept["best"]'),
    "loaded, under the same name": handed(load='best_acc = kept["best"]', param="best_acc"),
    "never set": handed(call="keep_best(validate(model), best_acc, model, args.path)"),
    "a number": handed(call="best_acc = keep_best(validate(model), 0.5, model, args.path)"),
    "measured before": handed(call="best_acc = validate(model)\n        best_acc = keep_best(validate(model), best_acc, model, args.path)"),
    "a file for each epoch": handed(call='best_acc = keep_best(validate(model), best_acc, model, f"{epoch}.pt")'),
})
def test_handed_to_a_helper(code):
    holds(code)


NEWEST = """
def save_checkpoint({params}):
    state = {{"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "acc": acc}}
    torch.save(state, "last.pt"){mark}
    if is_best:
        torch.save(state, "best.pt")


def train(model: nn.Module, loader, validate, path, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    start, best_acc = 0, 0.0
    if path:
        kept = torch.load({path}, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        start = kept["epoch"] + 1
        best_acc = kept["acc"]
    {before}
    for epoch in range(start, epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        recent = validate(model)
        is_best = recent > best_acc
        best_acc = max(recent, best_acc)
        {save}
"""
CALL = "save_checkpoint(epoch, model, optimizer, {acc}, is_best)"


def newest(mark="", **other):
    parts = {"params": "epoch, model, optimizer, acc, is_best", "path": "path", "before": "print(start)", "save": CALL.format(acc="recent")}
    return NEWEST.format(mark=mark, **(parts | other))


@table({
    "the newest": newest(BAD),
    "by its name": newest(BAD, save="save_checkpoint(epoch, model, is_best=is_best, acc=recent, optimizer=optimizer)"),
    "the best": newest(save=CALL.format(acc="best_acc")),
    "something else": newest(save=CALL.format(acc="round(recent, 2)")),
    "only where it is best": newest(save="if is_best:\n            " + CALL.format(acc="recent")),
    "out of the best file": newest(path='"best.pt"'),
    "begun anew": newest(before="best_acc = 0.0").replace('        torch.save(state, "best.pt")', "        print(state)"),
    "it decides about nothing": newest().replace('        torch.save(state, "best.pt")', "        print(state)"),
})
def test_the_newest_for_the_best(code):
    holds(code)
