"""The same series in TensorBoard and in Weights & Biases."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torchsan
from torchsan.report.writers import TensorBoard, WeightsAndBiases


def train(san, steps=6):
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    san.add(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
        loss.backward()
        optimizer.step()


class Run:
    """What a run of wandb takes."""

    def __init__(self):
        self.rows, self.metrics, self.summary = [], [], {}

    def define_metric(self, name, step_metric=None):
        self.metrics.append((name, step_metric))

    def log(self, row):
        self.rows.append(row)


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with torchsan.watch(on_finding="collect") as san, TensorBoard(san, tmp_path):
        train(san)
    events = EventAccumulator(str(tmp_path)).Reload()
    loss = events.Scalars("torchsan/loss/loss")
    assert [event.step for event in loss] == list(range(6))
    assert [event.value for event in loss] == pytest.approx(list(san.series["loss/loss"].means))
    assert {"torchsan/gradient_norm/optimizer", "torchsan/gradients/Linear"} <= set(events.Tags()["scalars"])
    assert "torchsan/findings/TS101/text_summary" in events.Tags()["tensors"]
    assert san.series.listeners == []


def test_a_summary_writer_of_the_users_stays_open(tmp_path):
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(tmp_path)
    with torchsan.watch(on_finding="collect") as san, TensorBoard(san, writer, kinds=["loss"]):
        train(san, 2)
    assert writer.file_writer is not None
    writer.close()


def test_weights_and_biases():
    run = Run()
    with torchsan.watch(on_finding="collect") as san, WeightsAndBiases(san, run):
        train(san)
    assert ("torchsan/*", "torchsan/step") in run.metrics
    assert [row["torchsan/step"] for row in run.rows] == list(range(6))
    assert [row["torchsan/loss/loss"] for row in run.rows] == list(san.series["loss/loss"].means)
    assert "torchsan/gradients/Linear" in run.rows[0]
    assert [key for key in run.summary if key.startswith("torchsan/findings/TS101 ")]


def test_weights_and_biases_for_real(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)
    with wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True)) as run:
        with torchsan.watch(on_finding="collect") as san, WeightsAndBiases(san):
            train(san)
        assert run.summary["torchsan/loss/loss"] == pytest.approx(san.series["loss/loss"].last)


def test_only_some_kinds():
    run = Run()
    with torchsan.watch(on_finding="collect") as san, WeightsAndBiases(san, run, kinds=["loss"]):
        train(san)
    assert set().union(*run.rows) == {"torchsan/step", "torchsan/loss/loss"}


def test_a_writer_that_fails_ends_nothing(capsys):
    class Broken(Run):
        def log(self, row):
            raise OSError("no space left on device")

    with torchsan.watch(on_finding="collect") as san, WeightsAndBiases(san, Broken()):
        train(san)
    assert san.steps == 6 and san.off == {}
    said = capsys.readouterr().err
    assert said == "torchsan: WeightsAndBiases takes nothing more: OSError: no space left on device\n"
