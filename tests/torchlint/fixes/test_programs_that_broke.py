"""Programs that work: after a safe fix they say the same as before it."""

import io
import sys
import textwrap
import types
from contextlib import redirect_stdout

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.fixes.fixer import Fixer
from torchlint.run.runner import Runner
from torchlint.settings.config import Config

pytest.importorskip("torch", reason="the programs are run")

# A package that is installed: nothing of it is seen.
ELSEWHERE = """
import torch


class Attack:
    def __init__(self, model):
        self.model = model

    def __call__(self, x, y):
        x = x.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(torch.nn.functional.cross_entropy(self.model(x), y), x)
        return (x + 0.1 * slope.sign()).detach()


class Temperature:
    def __init__(self):
        self.value = torch.ones(1, requires_grad=True)

    def fit(self, logits, labels):
        (slope,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits / self.value, labels), self.value)
        return slope.item()


class Hooked:
    def __init__(self, model):
        model.register_forward_hook(lambda module, given, output: output.sum().backward())


def adapt(model, x):
    model(x).sum().backward()


def explain(outputs):
    torch.stack(outputs).sum().backward()


class Robot:
    @property
    def step(self):
        print("step")

    eval = backward = step


class Frozen:
    def __init__(self, weight):
        self.weight = weight

    def load_state_dict(self, state):
        return Frozen(**state)

    def __call__(self, x):
        return self.weight * x
"""
START = """import torch
from torch import nn

import elsewhere

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
model.eval()
hits = 0
"""


def fixes(tmp_path, code, text, unsafe=False):
    """What one rule finds in a text, and the text with its fixes; None where nothing changes."""
    rules = [rule for rule in catalogue() if rule.code == code]
    fixer, path, raw = Fixer(Runner(Config(tmp_path), rules, catalogue()), unsafe), str(tmp_path / "program.py"), text.encode()
    done = fixer.mend(path, raw)
    return [item.code for item in fixer._findings(path, raw)], done.after.decode() if done is not None else None


def said(text):
    """What a program prints; it has to end well."""
    package = types.ModuleType("elsewhere")
    exec(ELSEWHERE, package.__dict__)
    printed = io.StringIO()
    sys.modules["elsewhere"] = package
    try:
        with redirect_stdout(printed):
            exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    finally:
        del sys.modules["elsewhere"]
    return printed.getvalue()


def stays(tmp_path, code, text, found):
    """A program that works has some findings of a rule, or none; a safe fix changes nothing of it."""
    text = textwrap.dedent(text)
    codes, after = fixes(tmp_path, code, text)
    assert codes == ([f"TL{code:03d}"] if found else [])
    before = said(text)
    assert after is None or said(after) == before


@pytest.mark.parametrize(("found", "loop"), [
    (False, """
moved = elsewhere.Attack(model)
for x in torch.randn(3, 8, 4):
    y = x[:, :3].argmax(1)
    hits += (model(moved(x, y)).argmax(1) == y).sum().item()
"""),
    (False, """
scaler = elsewhere.Temperature()
for x in torch.randn(3, 8, 4):
    logits = model(x)
    print(scaler.fit(logits, x[:, :3].argmax(1)))
    hits += (logits.argmax(1) == 0).sum().item()
"""),
    (True, """
scaler = elsewhere.Temperature()
for x in torch.randn(3, 8, 4):
    logits = model(x)
    print(scaler.fit(logits.detach(), x[:, :3].argmax(1)))
    hits += (logits.argmax(1) == 0).sum().item()
"""),
    (False, """
for x in torch.randn(3, 8, 4):
    elsewhere.adapt(model, x)
    hits += (model(x).argmax(1) == 0).sum().item()
"""),
    (True, """
callbacks = [elsewhere.Attack(nn.Linear(4, 3))]
for x in torch.randn(3, 8, 4):
    for callback in callbacks:
        callback(x, x[:, :3].argmax(1))
    hits += (model(x).argmax(1) == 0).sum().item()
"""),
    (False, """
kept = []
for x in torch.randn(3, 8, 4):
    kept.append(model(x))
    hits += (kept[-1].argmax(1) == 0).sum().item()
elsewhere.explain(kept)
"""),
    (True, """
elsewhere.Hooked(model)
for x in torch.randn(3, 8, 4):
    hits += (model(x).argmax(1) == 0).sum().item()
"""),
    (True, """
for x in torch.randn(3, 8, 4):
    out = model(x)
    hits += (out.argmax(1) == 0).sum().item()
    print(out.grad_fn is None, out.requires_grad)
"""),
    (True, """
model[0].register_forward_hook(lambda module, given, output: output.sum().backward())
for x in torch.randn(3, 8, 4):
    hits += (model(x).argmax(1) == 0).sum().item()
"""),
], ids=["attack", "calibration", "calibration without a graph", "adapts the model", "callbacks", "kept outputs", "hook", "graph", "own hook"])
def test_what_cannot_be_seen_may_need_gradients(tmp_path, found, loop):
    stays(tmp_path, 202, START + loop + "print(hits, [p.grad is not None for p in model.parameters()])\n", found)


FIELD = """
import torch
from torch import nn


def slope(energy, x):
    return torch.autograd.grad(energy, x)[0]


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))

    def forward(self, x):
        x = x.clone().requires_grad_(True)
        return -slope(self.net(x).sum(), x)


def evaluate(field, loader):
    field.eval()
    total = 0.0
    for x in loader:
        total += field(x).abs().mean().item()
    return total


torch.manual_seed(0)
"""


def test_a_model_may_differentiate_within(tmp_path):
    stays(tmp_path, 202, FIELD + "print(evaluate(Field(), torch.randn(3, 8, 4)))\n", found=False)


def test_a_model_from_elsewhere_is_no_safe_ground(tmp_path):
    text = "import torch\n" + FIELD[FIELD.index("\ndef evaluate") : FIELD.index("\ntorch.manual")]
    assert fixes(tmp_path, 202, text) == (["TL202"], None)
    assert "no_grad" in fixes(tmp_path, 202, text, unsafe=True)[1]


def test_what_is_all_seen_is_mended(tmp_path):
    """Tensors, numbers, text and libraries that know nothing of torch: the loop evaluates and does nothing else."""
    loop = """
import numpy as np
for batch, x in enumerate(torch.randn(3, 8, 4)):
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :3].argmax(1))
    hits += out.max(1)[1].eq(0).sum().item() + np.square(loss.item())
    print("{}: {}".format(batch, round(loss.item(), 4)), flush=True)
print(hits)
"""
    codes, after = fixes(tmp_path, 202, START + loop)
    assert codes == ["TL202"] and "with torch.no_grad():\n    for batch" in after
    assert said(START + loop) == said(after)


def test_no_grad_is_not_entered_around_a_function_that_trains(tmp_path):
    text = """import torch


def learn(model, x):
    model(x).sum().backward()


def main(model, x):
    torch.no_grad()
    learn(model, x)
"""
    assert fixes(tmp_path, 134, text, unsafe=True) == (["TL134"], None)


@pytest.mark.parametrize("text", ["""
    import torch

    class Net(torch.nn.Module):
        half = 0.5
        def __init__(self):
            super().__init__()
            self.cpu = 3
        @property
        def eval(self):
            print("eval")
        def forward(self, x):
            return x

    net = Net()
    net.half
    net.cpu
    net.eval
""", """
    import elsewhere
    import torch

    def walk(robot):
        robot.step
        robot.eval

    walk(elsewhere.Robot())
    elsewhere.Robot().backward
    print(torch.ones(1))
""", """
    import torch

    def can_learn(thing):
        try:
            thing.zero_grad
            thing.backward
        except AttributeError:
            return False
        return True

    print(can_learn(torch.ones(1)), can_learn(torch.nn.Linear(1, 1)))
"""], ids=["properties and values", "no module", "asked for"])
def test_an_attribute_need_not_be_a_method(tmp_path, text):
    stays(tmp_path, 132, text, found=False)


def test_a_step_that_asks_for_arguments_is_not_called(tmp_path):
    text = """
        import torch

        class Decay(torch.optim.SGD):
            def step(self, loss):
                print(loss)

        model = torch.nn.Linear(2, 1)
        optimizer = {made}
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        optimizer.{step}
        scheduler.{step}
    """
    for made in ("Decay(model.parameters(), lr=0.1)", "torch.optim.LBFGS(model.parameters())"):
        assert fixes(tmp_path, 132, textwrap.dedent(text.format(made=made, step="step"))) == (["TL132", "TL132"], None)


def test_a_name_alone_is_no_safe_ground(tmp_path):
    text = "import torch\n\n\ndef go(optimizer):\n    optimizer.step\n"
    assert fixes(tmp_path, 132, text) == (["TL132"], None)
    assert fixes(tmp_path, 132, text, unsafe=True)[1] == text.replace("step", "step()")


@pytest.mark.parametrize(("found", "use"), [
    (False, "    m = m.load_state_dict(state)\n    return m.missing_keys\n"),
    (False, "    m = m.load_state_dict(state)\n    a, b = m\n    return a, b\n"),
    (False, "    m = m.load_state_dict(state)\n\n    def show():\n        return m.unexpected_keys\n    return show()\n"),
    (False, "    m = m.load_state_dict(state)\n    return f'{[key for key in m.missing_keys]}'\n"),
    (False, "    global report\n    report = m\n    report = report.load_state_dict(state)\n    return keys()\n"),
    (False, "    holder.m = m\n    holder.m = holder.m.load_state_dict(state)\n    return holder.m[0]\n"),
    (False, "    if (m := m.load_state_dict(state)).missing_keys:\n        return 'missing'\n"),
    (True, "    m = m.load_state_dict(state)\n    return m\n"),
    (True, "    m = m.load_state_dict(state)\n    return str(m)\n"),
], ids=["keys", "unpacked", "inner function", "f-string", "global", "attribute", "walrus", "returned", "text"])
def test_a_report_of_keys_may_be_wanted(tmp_path, found, use):
    stays(tmp_path, 906, f"""import torch
from torch import nn


class Holder:
    pass


holder, report = Holder(), None
state = nn.Linear(2, 2).state_dict()


def keys():
    return report.missing_keys


def load(m):
{use}

print(load(nn.Linear(2, 2)))
""", found)


def test_an_object_that_is_not_seen_may_return_another(tmp_path):
    stays(tmp_path, 906, """
        import elsewhere
        import torch

        model = elsewhere.Frozen(0)
        model = model.load_state_dict({"weight": 3})
        print(model(torch.ones(1)))
        print(elsewhere.Frozen(0).load_state_dict({"weight": 4})(torch.ones(1)))
    """, found=False)
    text = "import torch\n\n\ndef load(model, state):\n    model = model.load_state_dict(state)\n    model.eval()\n"
    assert fixes(tmp_path, 906, text) == (["TL906"], None)


NET = """
import torch
import torch.nn.functional as F
from torch import nn


class {name}(nn.Module):
    rate = 0.5

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    @classmethod
    def one(self, x):
        return {one}

    @staticmethod
    def two(self):
        return {two}

    def forward(self, x):
        {first}
        return self.fc(self.one(self.two(x)))

    def several(self, x):
        return {several}


torch.manual_seed(0)
net = {name}().eval()
with torch.no_grad():
    print([net.several(torch.ones(1, 4)) for turn in range(3)])
"""


@pytest.mark.parametrize(("found", "change"), [
    (False, {"name": "MCDropoutNet"}),
    (False, {"first": "x = F.dropout(x, 0.5)  # Monte Carlo"}),
    (False, {"several": "torch.stack([self(x) for _ in range(8)]).std(0)"}),
    (False, {"first": "", "one": "F.dropout(x, self.rate)"}),
    (False, {"first": "", "two": "F.dropout(self, 0.5)"}),
    (False, {"first": "x = F.dropout(x, 0.5 if self.training else 0.0)"}),
    (False, {"first": "rate = 0.5 if self.training else 0.0\n        x = F.dropout(x, rate)"}),
    (False, {"first": "x = F.dropout(x, p=self.share())", "several": "self(x)\n\n    def share(self):\n        return self.training / 2"}),
    (False, {"first": "x = self.drop(x) if self.training else x",
             "several": "self(x)\n\n    def drop(self, x):\n        return F.dropout(x, 0.5)"}),
    (True, {"first": "x = [F.dropout(self, 0.5) for self in [x]][0]"}),
    (False, {"first": "x = (lambda self: F.dropout(self, 0.5))(x)"}),
    (False, {"first": "x = F.dropout(x, self.rate)", "several": "self(x)\n\n\ndef strong(net):\n    net.rate = 0.9"}),
    (True, {"first": "x, self = F.dropout(x, 0.5), self.again()", "several": "self(x)\n\n    def again(self):\n        return self"}),
], ids=["name", "comment", "samples", "class method", "static method", "rate", "named rate", "asked rate", "asked before", "comprehension", "lambda", "set from outside", "rebound"])
def test_dropout_may_be_meant_and_self_may_be_no_module(tmp_path, found, change):
    given = {"name": "Net", "one": "x", "two": "self", "first": "x = F.dropout(x, 0.5)", "several": "self(x)"}
    stays(tmp_path, 204, NET.format(**given | change), found)


def test_a_class_that_is_mixed_in_has_no_mode(tmp_path):
    stays(tmp_path, 204, """
        import torch
        import torch.nn.functional as F
        from torch import nn


        class Dropping:
            def drop(self, x):
                return F.dropout(x, 0.5)


        class Net(Dropping, nn.Module):
            def forward(self, x):
                return self.drop(x)


        torch.manual_seed(0)
        print(Net()(torch.ones(4)), Dropping().drop(torch.ones(4)))
    """, found=True)


def test_an_argument_may_be_a_number(tmp_path):
    text = """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

            def forward(self, x{declared}):
                return x * torch.ones(4) + self.fc.weight


        torch.manual_seed(0)
        print(Net().to("cpu")({given}))
    """
    stays(tmp_path, 402, text.format(declared="", given="2.0"), found=True)
    assert "device=x.device" in fixes(tmp_path, 402, textwrap.dedent(text.format(declared=": torch.Tensor", given="torch.ones(4)")))[1]


@pytest.mark.parametrize("call", ["double()", "to(torch.float64)", "detach()", "sigmoid()", "view(-1)"])
def test_what_follows_may_have_been_written_for_what_was_there(tmp_path, call):
    text = f"""import torch
from torch import nn


def step():
    layer = nn.Linear(4, 4)
    x = layer(torch.ones(2, 4))
    x.{call}
    nn.functional.linear(x, torch.eye(4)).sum().backward()
    print(layer.weight.grad, x.shape)
"""
    codes, after = fixes(tmp_path, 405, text)
    assert codes == ["TL405"] and after is None
    assert "grad" not in said(text + "\n\nstep()\n")


def test_values_that_were_to_be_limited_are(tmp_path):
    text = "import torch\n\n\ndef f(a):\n    x = torch.relu(a)\n    x.clamp(max=1)\n    return x\n"
    assert fixes(tmp_path, 405, text)[1] == text.replace("    x.clamp", "    x = x.clamp")


@pytest.mark.parametrize("tensor", ["torch.ones(2).long()", "nn.Linear(2, 2)(torch.ones(2))"])
def test_not_every_tensor_takes_the_flag(tmp_path, tensor):
    wanted = "True" if "long" in tensor else "False"
    stays(tmp_path, 523, f"import torch\nfrom torch import nn\n\nx = {tensor}\nx.require_grad = {wanted}\nprint(x.shape)\n", found=True)


def test_live_parameters_that_are_asked_for_are_not_copied(tmp_path):
    stays(tmp_path, 904, """
        import torch
        from torch import nn


        def train(model):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in torch.ones(3, 4, 2):
                optimizer.zero_grad()
                model(x).pow(2).mean().backward()
                optimizer.step()
                if x.sum() > 0:
                    live = model.state_dict(keep_vars=True)
            return live


        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        train(model)["bias"].requires_grad_(False).zero_()
        print(model.bias)
    """, found=True)


def test_a_rate_of_a_model_says_nothing_of_the_mode(tmp_path):
    text = NET.format(name="Net", one="x", two="self", first="x = F.dropout(x, self.model_rate)", several="self(x)")
    assert "training=self.training" in fixes(tmp_path, 204, text)[1]
