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


def placed(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return Modules()


def test_folders_that_a_file_adds(tmp_path):
    """Seen from the file's folder, then from the top of the project, where it is not said which is meant."""
    modules = placed(tmp_path, "setup.cfg", "tools/train.py", "tools/lib/near.py", "lib/near.py", "lib/far.py", "lib/pack/deep.py")
    tools, lib = str(tmp_path / "tools"), str(tmp_path / "lib")
    assert modules.module(tools, "near") is None and modules.module(tools, "far") is None
    assert modules.module(tools, "near", ("lib",)) == str(tmp_path / "tools/lib/near.py")
    assert modules.module(tools, "far", ("lib",)) == f"{lib}/far.py" == modules.module(tools, "far", ("../lib",))
    assert modules.module(tools, "far", ("./../lib",)) == f"{lib}/far.py" and modules.module(tools, "far", ("./lib",)) is None
    assert modules.module(tools, "pack.deep", ("lib",)) == f"{lib}/pack/deep.py"
    assert modules.package(tools, "pack", ("lib",)) == f"{lib}/pack" and modules.package(tools, "pack") is None
    assert modules.module(tools, ".far", ("lib",)) is None and modules.module(tools, "torch", ("lib",)) is None
    assert modules.module("", "far", ("lib",)) is None


def test_what_is_found_without_added_folders_goes_first(tmp_path):
    modules = placed(tmp_path, "setup.cfg", "net.py", "src/head.py", "space/part.py", "lib/net.py", "lib/head.py", "lib/space.py", "data/x.txt",
                     "lib/data.py")
    top = str(tmp_path)
    for name in ("net", "head", "space", "space.part"):
        assert modules.module(top, name, ("lib",)) == modules.module(top, name)
    assert modules.package(top, "space", ("lib",)) == modules.package(top, "space") == str(tmp_path / "space")
    assert modules.module(top, "data", ("lib",)) == str(tmp_path / "lib/data.py")


def test_a_folder_that_is_added_is_no_package(tmp_path):
    modules = placed(tmp_path, "setup.cfg", "main.py", "utils/utils.py", "utils/more.py")
    assert modules.module(str(tmp_path), "utils") is None
    assert modules.module(str(tmp_path), "utils", ("utils",)) == str(tmp_path / "utils/utils.py")
    assert modules.module(str(tmp_path), "utils.more", ("utils",)) == str(tmp_path / "utils/more.py")


def test_no_folder_outside_of_the_project_is_added(tmp_path):
    modules = placed(tmp_path, "lib/net.py", "own/setup.cfg", "own/main.py", "own-lib/net.py")
    own = str(tmp_path / "own")
    for added in ("../lib", "../own-lib", "./../lib", str(tmp_path / "lib"), "x/../../lib"):
        assert modules.module(own, "net", (added,)) is None and modules.package(own, "net", (added,)) is None
        assert modules.question("module", own, "net", (added,))[1] is None
    (tmp_path / "own/setup.cfg").rename(tmp_path / "setup.cfg")
    assert Modules().module(own, "net", ("../lib",)) == str(tmp_path / "lib/net.py")


def test_a_question_holds_what_is_added(tmp_path):
    modules = placed(tmp_path, "setup.cfg", "main.py")
    asked, before = modules.question("module", str(tmp_path), "net.Net", ("lib", "more"))
    assert before is None and modules.again(asked) is None
    assert modules.question("module", str(tmp_path), "net.Other", ("lib", "more"))[0] == asked
    placed(tmp_path, "more/net.py")
    modules.look_again()
    assert modules.again(asked) is not None
    asked, found = modules.question("module", str(tmp_path), "net", ("lib", "more"))
    placed(tmp_path, "lib/net.py")
    modules.look_again()
    assert modules.again(asked) not in (None, found)
