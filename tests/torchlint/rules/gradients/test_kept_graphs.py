"""106: a sum of what came out of modules keeps graphs where one of these may learn."""

from types import SimpleNamespace

import pytest

from tests.torchlint.dryrun.support import holds, table
from torchlint.api import check
from torchlint.dryrun.values import Opaque
from torchlint.rules.gradients.loss_keeps_graph import _may_learn

BANK, MODEL = Opaque("julius.SplitBands", "call"), Opaque("model", "param")


@pytest.mark.parametrize(("trained", "called", "may"), [
    ((MODEL,), BANK, False),
    ((BANK, MODEL), BANK, True),
    ((MODEL,), MODEL, True),
    ((MODEL,), Opaque("make_bank", "call"), True),
    ((), BANK, True),
], ids=["what nobody trains", "what is trained", "the model", "what the project makes", "no optimizer in view"])
def test_a_graph_begins_where_something_may_learn(trained, called, may):
    made = [SimpleNamespace(modules=trained)] if trained else []
    view = SimpleNamespace(of=lambda kind: made, related_modules=lambda one, other: one is other)
    assert _may_learn(view, SimpleNamespace(subject=called)) is may


LIBRARY = """
from processes import NeuralProcessLoss
from bands import Split


class Trainer:
    def __init__(self, model):
        self.model, self.loss, self.split = model, NeuralProcessLoss(), Split()
        self.optimizer = torch.optim.Adam(model.parameters())

    def train(self, loader):
        total = 0
        for x, y in loader:
            self.optimizer.zero_grad()
{body}
            self.optimizer.step()
        print(total)
"""


@table({
    "what a loss of another library gives is sent backward": LIBRARY.format(body="""
            loss = self.loss(self.model, x, y)
            total += loss  # <- 106
            loss.backward()"""),
    "half of it": LIBRARY.format(body="""
            loss = self.loss(self.model, x, y)
            total += loss / 2  # <- 106
            loss.backward()"""),
    "a number of it": LIBRARY.format(body="""
            loss = self.loss(self.model, x, y)
            total += loss.item()
            loss.backward()"""),
    "a summand that nobody trains": LIBRARY.format(body="""
            power = self.split(x)
            total += power
            loss = F.mse_loss(self.model(x), y) + power
            loss.backward()"""),
})
def test_what_is_sent_backward_has_a_graph(code):
    holds(code)


LOSSES = """
def train(model, criterion, optimizer, loader):
    total = 0.0
    for x, y in loader:
        losses = {losses}
        optimizer.zero_grad()
        losses["loss"].backward()
        optimizer.step()
        {over}:
            {put}
        total += losses["loss"]{mark}
    return total
"""
UNSEEN, OURS = "criterion(model(x), y)", '{"loss": F.mse_loss(model(x), y), "worst": F.l1_loss(model(x), y)}'


@table({
    "numbers take the place of unseen losses": LOSSES.format(
        losses=UNSEEN, over="for key, value in losses.items()", put="losses[key] = value.item()", mark=""),
    "by their keys": LOSSES.format(losses=UNSEEN, over="for key in losses", put="losses[key] = losses[key].item()", mark=""),
    "of losses of our own": LOSSES.format(losses=OURS, over="for key in losses.keys()", put="losses[key] = losses[key].item()", mark=""),
    "in another dict": LOSSES.format(
        losses=OURS, over="for key, value in losses.items()", put="shown[key] = value.item()", mark="  # <- 106"),
    "with their graphs": LOSSES.format(
        losses=OURS, over="for key, value in losses.items()", put="losses[key] = value / 2", mark="  # <- 106"),
    "another dict is gone over": LOSSES.format(
        losses=OURS, over="for key, value in loader.shown.items()", put="losses[key] = value", mark="  # <- 106"),
})
def test_a_loop_over_the_keys_puts_numbers_in_the_place_of_losses(code):
    holds(code)


UNSEEN = """
class Trainer:
    def cost(self, *given):
        return self.measure(*given)

    def epoch(self, loader):
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            {body}
            self.optimizer.step()
        return total
"""


@table({
    name: UNSEEN.format(body=body.replace("; ", "\n            ")) for name, body in {
        "a method's": "loss = self.cost(x, y); loss.backward(); total += loss  # <- 106",
        "before its backward": "loss = self.other.cost(x, y); total += loss; loss.backward()".replace("loss; loss.b", "loss  # <- 106; loss.b"),
        "of one way or another": "loss = self.cost(x) if y else self.cost(y); loss.backward(); total += loss  # <- 106",
        "its number": "loss = self.cost(x, y); loss.backward(); total += loss.item()",
        "a number by then": "loss = self.cost(x, y); loss.backward(); loss = loss.item(); total += loss",
        "begun in each turn": "total = 0.0; loss = self.cost(x, y); total += loss; loss.backward()",
        "what is sent backward": "loss = self.cost(x, y); total += loss; total.backward()",
        "never sent backward": "loss = self.cost(x, y); total += loss",
    }.items()
})
def test_made_by_no_model_in_view(code):
    holds(code)


IN_TURN = """
def train(model, critic, loader):
    optimizer = torch.optim.Adam(critic.parameters())
    total = torch.zeros(1)
    for x, y in loader:
        optimizer.zero_grad()
        real = F.mse_loss(critic(x), y)
        total += real{first}
        fake = F.mse_loss(critic(model(x).detach()), y)
        {between}
        total += fake{second}
        (real + fake).backward()
        optimizer.step()
    print(total.item())
"""


@table({
    "two losses": IN_TURN.format(first="  # <- 106", between="pass", second="  # <- 106"),
    "only the second keeps its graph": IN_TURN.format(first=".item()", between="pass", second="  # <- 106"),
    "cut off in between": IN_TURN.format(first="", between="total = total.detach()", second=""),
    "cut off for each batch": IN_TURN.format(first="", between="pass", second="; total = total.detach()"),
    "begun anew in between": IN_TURN.format(first="", between="total = torch.zeros(1)", second=""),
})
def test_added_up_in_turn(code):
    holds(code)


PUT_TOGETHER = """
def step(model, optimizer, criterion, tasks):
    kept = []
    for x, y in tasks:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        kept.append({given}){mark}
    {behind}
"""


@table({
    "the mean of the stack goes backward": PUT_TOGETHER.format(given="loss", mark="", behind="torch.stack(kept).mean().backward()"),
    "only halves of them do": PUT_TOGETHER.format(given="loss / 2", mark="", behind="torch.stack(kept).sum().backward()"),
    "the mean of the stack is printed": PUT_TOGETHER.format(given="loss", mark="  # <- 106", behind="print(torch.stack(kept).mean())"),
    "another stack goes backward": PUT_TOGETHER.format(
        given="loss", mark="  # <- 106", behind="torch.stack([p.norm() for p in model.parameters()]).mean().backward(); print(len(kept))"),
})
def test_put_together_behind_the_loop(code):
    holds(code)


OUTPUTS = """
def train(net, loader, optimizer):
    total, items = 0, 0
    for batch in loader:
        optimizer.zero_grad()
        out = net(batch)
        {loss}
        loss.backward()
        optimizer.step()
        {added}
    return total, items
"""


@table({
    "a count that the loss is divided by": OUTPUTS.format(loss="loss = out['loss'] / out['n_items']", added="items += out['n_items']"),
    "the loss beside its count": OUTPUTS.format(loss="loss = out['loss'] / out['n_items']", added="total += out['loss']  # <- 106"),
    "one of two summands": OUTPUTS.format(loss="loss = out['loss'] + out['penalty']", added="total += out['penalty']  # <- 106"),
})
def test_entries_of_an_output_that_is_not_seen(code):
    holds(code)


EVALUATED = """
def validate(model: nn.Module, criterion, loader):
    model.eval()
    total, losses = 0.0, []
    for x, y in loader:
        loss = criterion(model(x), y){graph}
{keeps}
    print({told})
"""


@table({
    "a sum in an evaluation": EVALUATED.format(graph="  # <- 202", keeps="        total += loss * len(x)  # <- 106", told="total.item()"),
    "a list in an evaluation": EVALUATED.format(
        graph="  # <- 202", keeps="        losses.append(loss)  # <- 106", told="torch.stack(losses).mean().item()"),
    "one evaluation an epoch, in the training's loop": """
def train(model: nn.Module, criterion, optimizer, loader, held_out, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            model.train()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            model.eval()
            validation = 0
            for x, y in held_out:
                validation += criterion(model(x), y)  # <- 106, 202
            print(epoch, validation.item())
""",
    "numbers in an evaluation": EVALUATED.format(
        graph="  # <- 202", keeps="        total += loss.item()\n        losses.append(loss.detach())", told="total, losses[-1].item()"),
    "the last one alone": EVALUATED.format(graph="  # <- 202", keeps="        total = loss", told="total.item()"),
    "what has no graph": EVALUATED.format(graph="", keeps="        total += loss", told="total.item()").replace(
        "def validate", "@torch.no_grad()\ndef validate"),
    "a sum that is sent backward, its model in evaluation mode": """
def tune(model: nn.Module, criterion, optimizer, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += criterion(model(x), y)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "a model that is frozen": """
def validate(criterion, loader):
    model = nn.Linear(2, 2)
    model.requires_grad_(False)
    model.eval()
    total = 0.0
    for x, y in loader:
        total += criterion(model(x), y)
    print(total.item())
""",
    "what is no loss": """
def validate(model: nn.Module, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum()  # <- 202
    print(right.item())
""",
})
def test_the_losses_of_an_evaluation(code):
    holds(code)


@pytest.mark.parametrize(("release", "told"), [("0.3.1", 0), ("1.0", 1)])
def test_before_no_grad(tmp_path, release, told):
    """Before 0.4 an input that is `volatile` has no graph."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "requirements.txt").write_text(f"torch=={release}\n")
    code = EVALUATED.format(graph="", keeps="        total += loss", told="total")
    (tmp_path / "evaluate.py").write_text("import torch\nfrom torch import nn\n" + code)
    assert sum(one.code == "TL106" for one in check(tmp_path / "evaluate.py", cache=False)) == told


WRITTEN = """
def train(model, criterion, optimizer, loader):
    total, last = torch.zeros(1), torch.zeros(len(loader))
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        {body}
    print(total.item(), last.mean().item())
"""


@table({
    name: WRITTEN.format(body=body.replace("; ", "\n        ")) for name, body in {
        "added in place": "total.add_(loss)  # <- 106",
        "copied into what stays": "total.copy_(loss)  # <- 106",
        "put into a place of it": "last[i] = loss  # <- 106",
        "a number": "total.add_(loss.item())",
        "without its graph": "total.add_(loss.detach()); last[i] = loss.detach()",
        "into its data": "total.data.add_(loss)",
        "made in each turn": "once = torch.zeros(1); once.add_(loss); print(once)",
        "set back to zero": "total.add_(loss); if i % 100 == 99:; print(total); total.zero_()".replace("total); ", "total);     ").replace(
            ":; print", ":;     print"),
        "without gradients": "with torch.no_grad():;     total.add_(loss)",
    }.items()
})
def test_written_into_a_tensor_that_stays(code):
    holds(code)


def test_a_sum_in_place_that_is_sent_backward():
    holds("""
def train(model, criterion, optimizer, sequence):
    total = torch.zeros(1)
    for x, y in sequence:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        total.add_(loss)
    total.backward()
    optimizer.step()
""")


METERS = """
class Meters:
    def __init__(self):
        self.sums, self.steps = {{}}, 0

    def update(self, **values):
        self.steps += 1
        for key{value} in {over}:
            if key not in self.sums:
                self.sums[key] = 0
            {add}


def train(model, optimizer, loader):
    meters = Meters()
    for x, y in loader:
        {turn}optimizer.zero_grad()
        output = model(x)
        loss, side = F.mse_loss(output, y), F.l1_loss(output, y)
        (loss + side).backward()
        optimizer.step()
        meters.update(loss={given}, side={given}, lr=0.1)
    print(meters.sums)
"""


def _meters(value="", over="values", add="self.sums[key] += values[key]  # <- 106", given="loss", turn=""):
    return METERS.format(value=value, over=over, add=add.replace("; ", "\n            "), given=given, turn=turn)


@table({
    "each of what is given": _meters(),
    "with its key": _meters(", one", "values.items()", "self.sums[key] += one  # <- 106"),
    "numbers are given": _meters(add="self.sums[key] += values[key]", given="loss.item()"),
    "numbers are made": _meters(add="self.sums[key] += float(values[key])"),
    "tensors are told apart": _meters(
        ", one", "values.items()", "if isinstance(one, torch.Tensor):;     one = one.item(); self.sums[key] += one"),
    "meters of each turn": _meters(add="self.sums[key] += values[key]", turn="meters = Meters()\n        "),
    "begun in each turn": _meters(
        add="self.sums[key] += values[key]", turn="for key in meters.sums:\n            meters.sums[key] = 0\n        "),
    "emptied": _meters(add="if self.steps % 9 == 0:;     self.sums.clear(); self.sums[key] = 0; self.sums[key] += values[key]"),
})
def test_sums_in_a_dict_of_a_meter(code):
    holds(code)


def test_the_values_of_a_turn_are_summed_up_in_turn():
    holds("""
def train(model, optimizer, loader):
    sums = {"near": 0, "far": 0}
    for x, y in loader:
        output = model(x)
        losses = {"near": F.mse_loss(output, y), "far": F.l1_loss(output, y)}
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
        for key, loss in losses.items():
            sums[key] += loss  # <- 106
    print(sums)


def train_tasks(model, optimizer, loader):
    for x, y in loader:
        output, sums = model(x), {"near": 0, "far": 0}
        losses = {"near": F.mse_loss(output, y), "far": F.l1_loss(output, y)}
        for key, loss in losses.items():
            sums[key] += loss
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
    print(sums)
""")


AVERAGED = """
class Average:
    def __init__(self):
        self.value = 0.0

    def update(self, value):
        {body}


def train(model, optimizer, loader):
    average = Average()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        average.update({given})
    print(average.value)
"""


@table({
    "a moving average": AVERAGED.format(body="self.value = self.value * 0.9 + value * 0.1  # <- 106", given="loss"),
    "the other way around": AVERAGED.format(body="self.value = 0.1 * value + 0.9 * self.value  # <- 106", given="loss"),
    "of numbers": AVERAGED.format(body="self.value = self.value * 0.9 + value * 0.1", given="loss.item()"),
    "made numbers": AVERAGED.format(body="self.value = self.value * 0.9 + value.item() * 0.1", given="loss"),
    "cut off": AVERAGED.format(body="self.value = self.value.detach() * 0.9 + value * 0.1", given="loss"),
    "sent backward itself": """
def train(model, optimizer, loader):
    average = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        average = 0.9 * average.detach() + 0.1 * loss if torch.is_tensor(average) else loss
        average.backward()
        optimizer.step()
""",
})
def test_a_moving_average(code):
    holds(code)


NOW_AND_THEN = """
def train(x, y, x_valid, y_valid, steps):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    history = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
{body}
    print(len(history))
"""


@table({
    name: NOW_AND_THEN.format(body="\n".join(f"            {line}" for line in lines.split("; "))) for name, lines in {
        "rows with a loss that is written out": (
            "loss = ((model(x_valid) - y_valid) ** 2).mean()  # <- 202; history.append([step, loss])  # <- 106; print(step, loss.item())"),
        "numbers": "loss = ((model(x_valid) - y_valid) ** 2).mean()  # <- 202; history.append([step, loss.item()])",
        "another one's, under no_grad": (
            "with torch.no_grad():;     loss = ((model(x_valid) - y_valid) ** 2).mean(); history.append([step, loss])"),
        "how often it is wrong": "loss = (model(x_valid).argmax(1) != y_valid).float().mean()  # <- 202; history.append([step, loss]); print(loss)",
    }.items()
})
def test_a_list_keeps_the_losses_of_held_out_data(code):
    holds(code)


BY_NAME = """
from collections import Counter, defaultdict


def train(model, optimizer, loader):
    sums = {sums}
    for i, (x, y) in enumerate(loader):
        {first}
        output = model(x)
        losses = {{"near": F.mse_loss(output, y), "far": F.l1_loss(output, y)}}
        optimizer.zero_grad()
        sum(losses.values()).backward(retain_graph=True)
        optimizer.step()
        for key, loss in losses.items():
            sums[key] += {added}
        {behind}
    {end}
"""


def _by_name(sums="defaultdict(float)", first="pass", added="loss", behind="pass", end="print(sums)"):
    return BY_NAME.format(sums=sums, first=first, added=added, behind=behind.replace("; ", "\n        "), end=end)


FOUND = "loss  # <- 106"


@table({
    "zeros that come by themselves": _by_name(added=FOUND),
    "of a function": _by_name("defaultdict(lambda: 0.0)", added=FOUND),
    "in a counter": _by_name("Counter()", added=FOUND),
    "begun anew every so often": _by_name(added=FOUND, behind="if i % 100 == 99:;     print(sums);     sums = defaultdict(float)"),
    "begun anew every so often, from a dict": _by_name(
        '{"near": 0, "far": 0}', added=FOUND, behind='if i % 100 == 99:;     print(sums);     sums = {"near": 0, "far": 0}'),
    "meters that are not seen": _by_name("defaultdict(loader.meter)"),
    "numbers": _by_name(added="loss.item()"),
    "begun in each turn": _by_name(first="sums = defaultdict(float)"),
    "begun anew in each turn": _by_name(behind="print(sums); sums = defaultdict(float)"),
    "begun anew in each turn, from a dict": _by_name('{"near": 0, "far": 0}', behind='print(sums); sums = {"near": 0, "far": 0}'),
    "emptied": _by_name(behind="print(sums); sums.clear()"),
    "sent backward": _by_name(end="optimizer.zero_grad(); sum(sums.values()).backward(); optimizer.step()"),
})
def test_sums_by_name(code):
    holds(code)


def test_sums_by_name_that_go_back_with_the_step():
    holds("""
from collections import defaultdict


def train(model, optimizer, loader):
    sums = defaultdict(float)
    for i, (x, y) in enumerate(loader):
        output = model(x)
        losses = {"near": F.mse_loss(output, y) / 4, "far": F.l1_loss(output, y) / 4}
        sum(losses.values()).backward()
        for key, loss in losses.items():
            sums[key] += loss
        if (i + 1) % 4 == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
            print(sums)
            sums = defaultdict(float)
""")


MANY = """
from collections import defaultdict


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader, self.steps = model, loader, 0
        self.optimizer = torch.optim.Adam(model.parameters())
        self.sums = {"train": defaultdict(float)}

    def step(self, x, y):
        losses, output = {}, self.model(x)
        losses["near"], losses["far"] = F.mse_loss(output, y), F.l1_loss(output, y)
        losses["both"] = losses["near"] + losses["far"]
        losses["soft"] = F.smooth_l1_loss(output, y)
        losses["side"] = F.huber_loss(output, y)
        loss = losses["both"] + losses["soft"] + losses["side"]
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for key, loss in losses.items():
            self.sums["train"][f"loss/{key}"] += ADDED

    def train(self):
        for x, y in self.loader:
            self.step(x, y)
            self.steps += 1
            if self.steps % 100 == 0:
                print(self.sums["train"])
                self.sums["train"] = defaultdict(float)
"""


@table({"five losses": MANY.replace("ADDED", FOUND), "five numbers": MANY.replace("ADDED", "loss.item()")})
def test_sums_of_many_losses(code):
    holds(code)
