"""A NaN that one rank of several makes: that rank names the operation and the line, the others say which rank it was, and no
number changes. A sharded model is gathered for it only where all ranks have agreed."""

from __future__ import annotations

import re
import threading

import pytest
import torch

from tests.torchsan.conftest import FIXTURES
from tests.torchsan.ranks.test_on_ranks import launch, marks
from torchsan.ranks import agreement

GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()
PROGRAMS = sorted((FIXTURES / "ranks" / "nonfinite").glob("*.py"))
ELSEWHERE = r"what this rank did came out finite; rank 1 made it: .* \(.*{name}:{row}\)"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    if not GLOO:
        pytest.skip("torch was built without gloo")
    return launch(tmp_path_factory.mktemp("two"), 2, PROGRAMS)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_located(two, path):
    told = two[f"{path.stem}-default"]
    assert not told["off"]
    assert all(told["same"]), "the numbers are not the same as without a watch"
    found = [one for one in told["found"] if one[0] in (121, 422, 423)]
    assert {(number, row) for number, row, *_ in found} == marks(path), told["found"]
    if path.stem == "tensor_parallel":
        return
    [(row, said)] = [(row, message) for number, row, ranks, _, message in found if number == 422 and ranks == [1]]
    [other] = [message for _, _, ranks, _, message in found if ranks == [0]]
    assert re.search(ELSEWHERE.format(name=path.name, row=row), other), other
    assert "makes infinity" in said or "makes NaN" in said


def test_what_cannot_be_run_again_is_said(two):
    [message] = {one[-1] for one in two["tensor_parallel-default"]["found"]}
    assert "its forward is tensor-parallel, and talks to the other processes" in message
    assert "`log` was given float32 [4]: 0 to 0" in message


# The vote.


def votes(monkeypatch, answers, patience=0.2):
    """What each rank hears, of ranks that come with (seconds, content, reason), in threads."""
    store, here = torch.distributed.HashStore(), threading.local()
    monkeypatch.setattr(agreement, "_store", lambda: (store, here.rank, len(answers)))
    monkeypatch.setattr(agreement, "PATIENCE", patience)
    monkeypatch.setattr(agreement, "_numbers", iter([7] * len(answers)))
    heard, all_here = {}, threading.Barrier(sum(wait is not None for wait, *_ in answers))

    def come(rank, wait, content, reason):
        here.rank = rank
        mine = agreement.Agreement()
        if wait is None:
            return
        mine.arrives()
        all_here.wait(30)
        threading.Event().wait(wait)
        heard[rank] = mine.vote(3, content, reason), mine.failed

    threads = [threading.Thread(target=come, args=(rank, *answer)) for rank, answer in enumerate(answers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return [heard[rank] for rank in sorted(heard)]


def test_all_go(monkeypatch):
    assert votes(monkeypatch, [(0, "a", ""), (0.1, "a", ""), (0, "a", "")], 20) == [("", False)] * 3


@pytest.mark.parametrize(
    ("last", "said"),
    [((0, "a", "no room"), "rank 1: no room"), ((0, "b", ""), "the ranks are not at the same place")],
)
def test_one_does_not(monkeypatch, last, said):
    assert votes(monkeypatch, [(0, "a", ""), last], 20) == [(said, True)] * 2


def test_one_that_comes_late_does_not_go_alone(monkeypatch):
    heard = votes(monkeypatch, [(0, "a", ""), (0.6, "a", "")])
    said = "rank 1 did not come to it within 0.2 seconds (what it has of the gradients may be finite)"
    assert heard == [(said, True)] * 2


def test_one_that_is_not_watched_is_not_waited_for(monkeypatch):
    assert votes(monkeypatch, [(0, "a", ""), (None, "", "")], 1e9) == [("rank 1 is not watched", True)]


def test_without_a_store(monkeypatch):
    def gone():
        raise RuntimeError("Connection reset")

    monkeypatch.setattr(agreement, "_store", gone)
    mine = agreement.Agreement()
    mine.begins(1)
    mine.found(1, "x")
    assert mine.heard(1) == ""
    assert mine.vote(1, "") == "the ranks cannot agree (RuntimeError)"
