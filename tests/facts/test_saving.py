"""What rules/saving says of PyTorch, run on PyTorch."""

import argparse
import copy
import io
import os
import pathlib
import pickle

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
nn = pytest.importorskip("torch.nn")

VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
since_2_6 = pytest.mark.skipif(VERSION < (2, 6), reason="the default changed in torch 2.6")


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


class MakesFolder:
    """Unpickling this makes a folder: a harmless stand-in for code of the file's author."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.fixture
def no_environment(monkeypatch):
    for name in ("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_WEIGHTS_ONLY_LOAD"):
        monkeypatch.delenv(name, raising=False)


# 901


@pytest.mark.usefixtures("no_environment")
def test_loading_runs_what_is_in_the_file_unless_weights_only(tmp_path):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(MakesFolder(tmp_path / "made")), weights_only=True)
    assert not (tmp_path / "made").exists()
    torch.load(saved(MakesFolder(tmp_path / "made")), weights_only=False)
    assert (tmp_path / "made").is_dir()


@since_2_6
@pytest.mark.usefixtures("no_environment")
def test_weights_only_is_the_default_since_2_6(tmp_path):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(MakesFolder(tmp_path / "made")))
    assert not (tmp_path / "made").exists()


@since_2_6
@pytest.mark.usefixtures("no_environment")
def test_a_model_of_torchs_own_classes_is_refused_too_since_2_6():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(model))
    assert isinstance(torch.load(saved(model), weights_only=False), nn.Sequential)


@pytest.mark.skipif(VERSION >= (2, 6), reason="the default changed in torch 2.6")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weights_only_was_not_the_default_before_2_6(tmp_path):
    torch.load(saved(MakesFolder(tmp_path / "made")))
    assert (tmp_path / "made").is_dir()


@pytest.mark.usefixtures("no_environment")
def test_a_pickle_module_turns_it_off(tmp_path):
    torch.load(saved(MakesFolder(tmp_path / "made")), pickle_module=pickle)
    assert (tmp_path / "made").is_dir()


@since_2_6
@pytest.mark.filterwarnings("ignore:Environment variable")
def test_the_environment_turns_it_off_where_the_argument_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    torch.load(saved(MakesFolder(tmp_path / "made")))
    assert (tmp_path / "made").is_dir()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(MakesFolder(tmp_path / "other")), weights_only=True)


def test_a_full_checkpoint_needs_no_unsafe_load():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    scaler = torch.amp.GradScaler("cpu")
    checkpoint = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
        "scaler": scaler.state_dict(), "epoch": 3, "loss": 0.5, "name": "run", "history": [(1, 0.9), (2, 0.5)],
    }
    loaded = torch.load(saved(checkpoint), weights_only=True)
    assert loaded["epoch"] == 3 and loaded["history"] == checkpoint["history"]
    optimizer.load_state_dict(loaded["optimizer"])


@pytest.mark.parametrize("value", [
    nn.Linear(2, 2), argparse.Namespace(width=64), pathlib.Path("runs"),
], ids=["model", "namespace", "path"])
def test_other_types_are_refused(value):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(value), weights_only=True)


def test_numpy_values_are_refused():
    numpy = pytest.importorskip("numpy")
    for value in (numpy.zeros(2), numpy.float64(0.5)):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(saved(value), weights_only=True)


@pytest.mark.skipif(VERSION < (2, 5), reason="safe_globals came with torch 2.5")
def test_other_types_can_be_allowed_by_name():
    with torch.serialization.safe_globals([argparse.Namespace]):
        loaded = torch.load(saved({"args": argparse.Namespace(width=64)}), weights_only=True)
    assert loaded["args"].width == 64


# 904


def shares_memory(state, model):
    return state["weight"].data_ptr() == model.weight.data_ptr()


@pytest.mark.parametrize("keep", [
    lambda model: model.state_dict(),
    lambda model: model.state_dict().copy(),
    lambda model: dict(model.state_dict()),
    lambda model: copy.copy(model.state_dict()),
    lambda model: {name: value.detach() for name, value in model.state_dict().items()},
    lambda model: {name: value.cpu() for name, value in model.state_dict().items()},
    lambda model: {name: value.to("cpu") for name, value in model.state_dict().items()},
])
def test_these_are_no_copies(keep):
    model = nn.Linear(3, 1)
    state = keep(model)
    before = state["weight"].clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert shares_memory(state, model)
    assert not torch.equal(state["weight"], before) and torch.equal(state["weight"], model.weight)


@pytest.mark.parametrize("keep", [
    lambda model: copy.deepcopy(model.state_dict()),
    lambda model: copy.deepcopy(model).state_dict(),
    lambda model: {name: value.clone() for name, value in model.state_dict().items()},
    lambda model: torch.load(saved(model.state_dict()), weights_only=True),
])
def test_these_are_copies(keep):
    model = nn.Linear(3, 1)
    assert not shares_memory(keep(model), model)


def test_buffers_are_shared_as_well():
    model = nn.BatchNorm1d(2)
    assert model.state_dict()["running_mean"].data_ptr() == model.running_mean.data_ptr()


@pytest.mark.gpu
@needs_gpu
def test_cpu_is_a_copy_of_a_model_on_the_gpu():
    model = nn.Linear(3, 1).cuda()
    state = {name: value.cpu() for name, value in model.state_dict().items()}
    before = state["weight"].clone()
    with torch.no_grad():
        model.weight += 1
    assert torch.equal(state["weight"], before)


def test_the_state_of_an_optimizer_is_alive_too():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()["state"][0]
    assert state["exp_avg"].data_ptr() == optimizer.state[model.weight]["exp_avg"].data_ptr()


def test_load_state_dict_copies():
    model, other = nn.Linear(3, 1), nn.Linear(3, 1)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.weight, model.weight) and not shares_memory(other.state_dict(), model)


# 906


def test_load_state_dict_returns_a_report_on_keys():
    model = nn.Linear(3, 1)
    report = model.load_state_dict(model.state_dict())
    assert report.missing_keys == report.unexpected_keys == [] and str(report) == "<All keys matched successfully>"
    missing, unexpected = model.load_state_dict({"weight": torch.zeros(1, 3)}, strict=False)
    assert missing == ["bias"] and unexpected == []
    with pytest.raises(TypeError, match="'_IncompatibleKeys' object is not callable"):
        report(torch.ones(1, 3))
    with pytest.raises(AttributeError, match="'_IncompatibleKeys' object has no attribute 'eval'"):
        report.eval()


def test_load_state_dict_of_optimizers_and_schedulers_returns_none():
    optimizer = torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    assert optimizer.load_state_dict(optimizer.state_dict()) is None
    assert scheduler.load_state_dict(scheduler.state_dict()) is None


def test_other_methods_return_the_module():
    model = nn.Linear(3, 1)
    assert model.to("cpu") is model and model.eval() is model and model.half() is model
