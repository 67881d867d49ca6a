"""201 of what each turn of a training asks about held-out data, by a helper, where an epoch is one batch."""

import pytest

from tests.torchlint.dryrun.support import holds, table
from torchlint.run.session import Session

PROGRAM = """
def predict(model, x_test):
    {switch}with torch.no_grad():
        output = model(x_test){mark}
    return output.cpu().numpy().argmax(1)


def fit(x, y, x_test, epochs):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        {asks}
    {behind}
"""


def program(asks="pass", behind="pass", mark="", switch=""):
    return PROGRAM.format(asks=asks, behind=behind, mark=mark, switch=switch)


MARK = "  # <- 201"


@table({
    "in each turn": program("print(epoch, predict(model, x_test))", mark=MARK),
    "behind the loop": program(behind="print(predict(model, x_test))", mark=MARK),
    "behind the loop, a second one": program(behind="print(predict(model, x_test[:3])); print(predict(model, x_test))", mark=MARK),
    "in evaluation mode": program("print(epoch, predict(model, x_test))", switch="model.eval()\n    "),
    "what the step learns from": program("print(epoch, predict(model, x))"),
    "what the step needs": program("y = torch.as_tensor(predict(model, x))"),
})
def test_held_out_data_in_each_turn(code):
    holds(code)


HELPER = """import torch


def test_prediction(model, x_test):
    with torch.no_grad():
        output = model(x_test)
    return output.cpu().numpy().argmax(1)
"""
MAIN = """import torch
from torch import nn
from {module} import test_prediction


def fit(x, y, x_test, epochs):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        print(test_prediction(model, x_test))
"""


@pytest.mark.parametrize(("name", "text", "caller", "told"), [
    pytest.param("test_prediction.py", HELPER, "main.py", True, id="a part of a program that is named like a test"),
    pytest.param("predicting.py", HELPER, "main.py", True, id="named otherwise"),
    pytest.param("test_prediction.py", HELPER, "test_all.py", False, id="a test calls it"),
    pytest.param("test_prediction.py", "import pytest\n" + HELPER, "main.py", False, id="pytest runs it"),
    pytest.param("tests/test_prediction.py", HELPER, "main.py", False, id="in a folder of tests"),
])
def test_a_helper_that_is_named_like_a_test(tmp_path, name, text, caller, told):
    (tmp_path / ".git").mkdir()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    main = MAIN.format(module=name.removesuffix(".py").replace("/", "."))
    if caller == "test_all.py":
        main += "\n\ndef test_fit():\n    fit(torch.randn(4, 4), torch.ones(4).long(), torch.randn(4, 4), 2)\n"
    (tmp_path / caller).write_text(main)
    found = [one.code for one in Session(tmp_path).check(str(tmp_path / name))]
    assert ("TL201" in found) is told
