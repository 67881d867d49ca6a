"""Fixes that were read in public code and were wrong, or not laid out as their authors would: the same in small."""

import textwrap

import pytest

from torchlint import check
from torchlint.catalogue.pages import catalogue
from torchlint.fixes.fixer import Fixer
from torchlint.run.runner import Runner
from torchlint.settings.config import Config


def mended(tmp_path, code, text):
    """What a rule's fixes, unsafe ones too, make of a text; None where nothing changes."""
    rules = [rule for rule in catalogue() if rule.code == code]
    fixer = Fixer(Runner(Config(tmp_path), rules, catalogue()), unsafe=True)
    done = fixer.mend(str(tmp_path / "program.py"), textwrap.dedent(text).encode())
    return done.after.decode() if done is not None else None


def found(tmp_path, code, text):
    rules = [rule for rule in catalogue() if rule.code == code]
    fixer = Fixer(Runner(Config(tmp_path), rules, catalogue()))
    return [item.code for item in fixer._findings(str(tmp_path / "program.py"), textwrap.dedent(text).encode())]


BOTH = """
import torch
import torch.nn.functional as F


def epoch(split, loader, model, optimizer=None):
    if split == "train":
        model.train()
    else:
        model.eval()
    total = 0
    for x, y in loader:
        x = x.to("cpu")
        loss = F.cross_entropy(model(x), y)
        if split == "train":
            {train}
        total += loss.item()
    return total


def learn(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def validate(loader):
    return epoch("val", loader, torch.nn.Linear(3, 2))
"""


@pytest.mark.parametrize("train", ["loss.backward()", "learn(loss, optimizer)"])
def test_a_loop_that_trains_on_another_path_keeps_its_graphs(tmp_path, train):
    text = BOTH.format(train=train)
    assert found(tmp_path, 202, text) == ["TL202"]
    assert mended(tmp_path, 202, text) is None


def test_a_loop_that_only_evaluates_is_still_mended(tmp_path):
    assert "with torch.no_grad():" in mended(tmp_path, 202, BOTH.format(train="print(loss.item())"))


EVALUATES = """
import torch
from torch import nn


def test(model: nn.Module, loader):
  model.eval()
  hits = 0
# an old line, which stands outside
  for x, y in loader:
    hits += (model(x).argmax(1) == y).sum().item()
    # the last word in the loop
  return hits
"""


def test_the_new_block_is_as_deep_as_others_and_takes_its_comments_along(tmp_path):
    text = mended(tmp_path, 202, EVALUATES)
    assert "\n  with torch.no_grad():\n    for x, y in loader:\n      hits += " in text
    assert "\n      # the last word in the loop\n  return hits\n" in text


CHECKPOINTED = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self, lean):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.run = checkpoint if lean else lambda f, x: f(x)

    def forward(self, x):
        return {call}(self.layer, x)
"""


def test_what_may_be_another_function_is_given_no_argument(tmp_path):
    text = CHECKPOINTED.format(call="self.run")
    assert found(tmp_path, 519, text) == ["TL519"]
    assert mended(tmp_path, 519, text) is None
    assert "checkpoint(self.layer, x, use_reentrant=False)" in mended(tmp_path, 519, CHECKPOINTED.format(call="checkpoint"))


LOADED = """
import torch
from torch import nn


def load(path, device, make):
    model = nn.Linear(2, 2)
{rows}
    return model
"""
CALL = "torch.load(path, map_location=device, weights_only=False)"


@pytest.mark.parametrize(
    "rows",
    [
        [f"saved = {CALL}", 'model = make(**saved["data"])', 'model.load_state_dict(saved["state_dict"])'],
        ["# weights_only=True would refuse the spaces", f"saved = {CALL}", "model.load_state_dict(saved)"],
        [f"plan = {CALL}", "make(plan)", "model.load_state_dict(torch.load(path, weights_only=True))"],
    ],
    ids=["its own objects", "explained", "another file"],
)
def test_what_may_be_no_weights_is_loaded_as_it_was(tmp_path, rows):
    assert mended(tmp_path, 909, LOADED.format(rows=textwrap.indent("\n".join(rows), "    "))) is None


@pytest.mark.parametrize(
    "rows",
    [
        [f"model.load_state_dict({CALL})"],
        [f'state = {CALL}["model"]', 'model.load_state_dict({k.replace("module.", ""): v for k, v in state.items()})'],
        [f"saved = {CALL}", 'saved = saved["state"] if "state" in saved else saved', "model.load_state_dict(saved)"],
        [f"saved = {CALL}", 'model.load_state_dict(saved["model"])', 'epoch = saved["epoch"] + 1'],
    ],
    ids=["at once", "renamed", "an item", "with a number"],
)
def test_states_are_loaded_as_such(tmp_path, rows):
    text = mended(tmp_path, 909, LOADED.format(rows=textwrap.indent("\n".join(rows), "    ")))
    assert "weights_only=True" in text


def test_a_line_that_shows_that_nothing_changes_is_none_that_was_forgotten(tmp_path):
    text = "import torch\n\ntensor = torch.zeros(3, 4)\ntensor.cuda(0)\n{}tensor = tensor.cuda()\nprint(tensor)\n"
    assert found(tmp_path, 405, text.format("")) == ["TL405"]
    assert found(tmp_path, 405, text.format("tensor.is_cuda\n")) == []


def test_both_spellings_stand_in_rows_of_their_own_where_arguments_do(tmp_path):
    text = """
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--local_rank",
        type=int,
    )
    torch.cuda.set_device(parser.parse_args().local_rank)
    torch.distributed.init_process_group("nccl")
    """
    assert '(\n    "--local-rank",\n    "--local_rank",\n    type=int,\n)' in mended(tmp_path, 811, text)


def test_the_device_stands_in_a_row_of_its_own_where_arguments_do(tmp_path):
    text = """
    import torch

    scaler = torch.cuda.amp.GradScaler(
        init_scale=2.0,
        enabled=False,
    )
    print(scaler)
    """
    assert '(\n    "cuda",\n    init_scale=2.0,\n' in mended(tmp_path, 708, text)


def test_a_fix_is_as_safe_as_the_file_that_knows_least_of_it(tmp_path):
    main = """
    import torch
    from train import evaluate

    model = torch.nn.Linear(3, 2)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3), torch.ones(4)))
    print(evaluate(model, loader))
    """
    train = """
    import torch


    def evaluate(model, loader):
        model.eval()
        total = 0
        for x, y in loader:
            total += (model(x).argmax(1) == y).sum().item()
        return total
    """
    (tmp_path / "main.py").write_text(textwrap.dedent(main))
    (tmp_path / "train.py").write_text(textwrap.dedent(train))
    for asked in ([tmp_path], [tmp_path / "train.py"]):
        assert [(item.code, item.fix.applicability) for item in check(asked, select=["TL202"])] == [("TL202", "unsafe")]
