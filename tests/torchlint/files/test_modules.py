"""Which file an import means, where packages that know nothing of each other are installed side by side."""

import pytest

from torchlint.files.modules import Modules

FILES = ("ours/__init__.py", "ours/inner/__init__.py", "ours/helpers.py", "other/__init__.py", "other/space/deep.py", "alone.py")


@pytest.fixture(params=["site-packages", "dist-packages"])
def installed(tmp_path, request):
    folder = tmp_path / "lib" / request.param
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_an_installed_package_is_its_own_project(installed):
    inner, modules = str(installed / "ours" / "inner"), Modules()
    assert modules.module(inner, "ours.helpers") == str(installed / "ours" / "helpers.py")
    assert modules.module(inner, "..helpers") == str(installed / "ours" / "helpers.py")
    assert modules.project(inner) == str(installed / "ours")


def test_what_is_installed_beside_it_is_none_of_it(installed):
    inner, modules = str(installed / "ours" / "inner"), Modules()
    assert modules.module(inner, "other") is None
    assert modules.module(inner, "alone") is None
    assert modules.package(inner, "other.space") is None
    assert modules.module(str(installed), "other") is None
    assert modules.question("module", inner, "other.space.deep") == modules.question("start", inner, "other")


def test_a_program_in_an_environments_folder_keeps_its_imports(tmp_path):
    (tmp_path / "setup.cfg").write_text("")
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert Modules().module(str(tmp_path / "ours" / "inner"), "other") == str(tmp_path / "other" / "__init__.py")


def test_a_file_of_its_own_stands_before_the_library_of_that_name(tmp_path):
    (tmp_path / "setup.cfg").write_text("")
    modules = Modules()
    assert modules.module(str(tmp_path), "datasets") is None
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "train.csv").write_text("")
    modules = Modules()
    assert modules.module(str(tmp_path), "datasets") is None and modules.package(str(tmp_path), "datasets") is None
    (tmp_path / "datasets" / "voc.py").write_text("")
    modules = Modules()
    assert modules.package(str(tmp_path), "datasets") == str(tmp_path / "datasets")
    assert modules.module(str(tmp_path), "datasets.voc") == str(tmp_path / "datasets" / "voc.py")
    (tmp_path / "datasets.py").write_text("")
    assert Modules().module(str(tmp_path), "datasets") == str(tmp_path / "datasets.py")
    assert Modules().module(str(tmp_path), "transformers") is None
