"""Pages of somebody's own: each form finds what it says, and is silent where what it asks for is there."""

import itertools
from pathlib import Path

import msgspec
import pytest

from torchlint.catalogue.forms import FormError, check
from torchlint.catalogue.pages import Catalogue, Rule, catalogue
from torchlint.engine import Engine
from torchlint.run.page_blocks import wrong_in
from torchlint.settings.rulebook import page_at, pages_in

RIGHT = Path(__file__).parents[3] / "fixtures/own_rules/right"
PAGES = [page_at(path) for path in pages_in(RIGHT)]
OWN = Rule(987, "own", "of my own", "correctness", "", "`{call}`", "", "", "", "", {}, "", "own.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_of_every_form(page):
    assert list(wrong_in(page, Catalogue([*catalogue(), *PAGES]))) == []


def test_there_is_a_page_of_every_form():
    assert {form for page in PAGES for form in page.forms} == {"order", "trait", "call"}


def found(text, filename="a.py", **forms):
    rule = msgspec.structs.replace(OWN, forms={form: (table,) for form, table in forms.items()})
    return [finding.location.row for finding in Engine([rule]).check(str(filename), text).findings]


def test_a_call_of_another_library_is_found_in_a_file_that_knows_nothing_of_torch():
    assert found("import wandb\nwandb.log(3)\n", call={"name": "wandb.log"}) == [2]


def test_a_call_of_the_projects_own_functions_and_classes(tmp_path):
    (tmp_path / "helpers.py").write_text("def save(x):\n    return x\n\n\nclass Thing:\n    def save(self):\n        pass\n")
    text = "import helpers as h\nfrom helpers import save, Thing\nh.save(3)\nsave(4)\nThing().save()\n\ndef f():\n    save(5)\n"
    assert found(text, tmp_path / "a.py", call={"name": "helpers.save"}) == [3, 4, 8]
    assert found(text, tmp_path / "a.py", call={"name": ["helpers.Thing"]}) == [5]
    assert found(text, tmp_path / "a.py", call={"name": ["others.save"]}) == []


@pytest.mark.parametrize(
    ("wanted", "given", "same"),
    [("0.9", "0.9", True), ("1", "1.0", True), ("1", "True", False), ("true", "1", False), ("true", "True", True), ("1000", "1000", True),
     ('"a"', "'a'", True), ('"1"', "1", False), ("-1", "-1", True), ("false", "0", False), ("0", "None", False)],
)
def test_values_are_compared_as_python_does(wanted, given, same):
    from torchlint.catalogue.pages import tomllib

    value = tomllib.loads(f"x = {wanted}")["x"]
    text = f"import torch\ntorch.nn.Softmax(dim={given})\n"
    assert found(text, call={"name": "torch.nn.Softmax", "argument": "dim", "value": value}) == ([2] if same else [])


def test_lint_none_keeps_a_form_from_being_judged_in_source():
    rule = msgspec.structs.replace(OWN, forms={"call": ({"name": "torch.load"},)}, lint="none")
    assert not Engine([rule]).check("a.py", "import torch\ntorch.load(x)\n").findings


def test_a_page_for_some_releases_of_torch():
    rule = msgspec.structs.replace(OWN, forms={"call": ({"name": "torch.load"},)}, torch="<2.6")
    for version, expected in (((2, 5), 1), ((2, 6), 0), (None, 0)):
        assert len(Engine([rule], version).check("a.py", "import torch\ntorch.load(x)\n").findings) == expected


# What stands in the loop of a training program for each event, by subject.
LINES = {
    "optimizer": {
        "optimizer.zero_grad": "optimizer.zero_grad()",
        "backward": "model(x).sum().backward()",
        "clip": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "optimizer.step": "optimizer.step()",
    },
    "scheduler": {"scheduler.step": "scheduler.step()", "optimizer.step": "optimizer.step()"},
    "scaler": {
        "scaler.scale": "scaler.scale(model(x).sum()).backward()",
        "clip": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "scaler.step": "scaler.step(optimizer)",
        "scaler.update": "scaler.update()",
    },
}
BEGINS = {"optimizer": ["optimizer.create"], "scheduler": ["scheduler.create"], "scaler": []}
HEAD = """import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 1), nn.Dropout())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
scaler = torch.amp.GradScaler("cuda")
for x in torch.randn(3, 8, 4):
"""


def happens(trace, order):
    """Whether a run of these events, one after the other, is what the order speaks of."""
    armed = met = False
    for event in trace:
        if event == order["before"] and armed:
            if met == ("forbidden" in order):
                return True
            met = False
            armed = "expect" in order
        if armed and event in (order.get("expect"), order.get("forbidden")):
            met = True
        if event == order["after"]:
            armed, met = True, False
    return False


def orders(subject):
    """All orders of a subject that a page may have."""
    names = [*LINES[subject], *BEGINS[subject]]
    for key, (one, two, three) in itertools.product(("expect", "forbidden"), itertools.product(names, repeat=3)):
        order = {"after": one, "before": two, key: three, "subject": subject}
        try:
            check("order", [order])
        except FormError:
            continue
        yield order


@pytest.mark.parametrize("subject", LINES)
def test_orders_speak_of_what_happens(subject):
    """No order finds anything in a program whose run is as it asks; all find some program whose run is not."""
    lines, ends = LINES[subject], {"optimizer": ["optimizer.step"], "scaler": ["scaler.scale", "scaler.step"]}.get(subject, [])
    mute = []
    for order in orders(subject):
        engine = Engine([msgspec.structs.replace(OWN, forms={"order": (order,)})])
        used = [event for event in dict.fromkeys((order["after"], order["before"], order.get("expect") or order["forbidden"])) if event in lines]
        heard = False
        for body in (body for size in (len(used) - 1, len(used)) for body in itertools.permutations(used, size)):
            body = [*body, *(event for event in ends if event not in body and event not in used)]
            text = HEAD + "".join(f"    {lines[event]}\n" for event in body)
            flagged = bool(engine.check("a.py", text).findings)
            wrong = happens([*BEGINS[subject], *body * 3], order)
            assert not flagged or wrong, f"{order}\n{text}"
            heard = heard or flagged
        if not heard:
            mute.append(order)
    # An optimizer, or a scheduler, that never steps is not looked at; and these bodies are turns of a loop, where the optimizer stands
    # before it, so that nothing here comes once behind that alone.
    assert all(order["after"] == order["before"] and "step" in order.get("expect", "") or order["after"] == "optimizer.create" for order in mute), mute


@pytest.mark.parametrize(
    "clips",
    ["p.grad.clamp_(-1, 1)", "p.grad.data.mul_(0.5)", "p.grad = p.grad.clamp(-1, 1)", "torch._foreach_mul_([p.grad], 0.5)", "tame(model)",
     "trainer.clip()", "accelerator.clip_grad_norm_(model.parameters(), 1.0)"],
)
def test_gradients_that_are_clipped_in_another_way(clips):
    text = f"""import torch


def train(model, loader, trainer, tame, accelerator):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        for p in model.parameters():
            {clips}
        optimizer.step()
"""
    order = {"after": "backward", "before": "optimizer.step", "expect": "clip", "subject": "optimizer"}
    assert found(text, order=order) == []
    assert found(text.replace(clips, "pass"), order=order) == [11]
