"""Lines that say which torch a project needs, as pip, poetry and conda have them, and what is read of them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.torchlint.support import write
from torchlint.settings import requirements
from torchlint.settings.requirements import lowest_releases, newest_releases, required
from torchlint.settings.upper_bounds import ANY, UNBOUNDED, in_words, newest

PIP = {
    "torch": None,
    "torch==2.1.0": (2, 1),
    "torch>=2.0.0": (2, 0),
    "torch>=2.0,<3": (2, 0),
    "torch==2.1.*": (2, 1),
    "torch==2.*": (2, 0),
    "torch==2": (2, 0),
    "torch>=2": (2, 0),
    "torch==2.1234567": None,
    "torch~=2.1": (2, 1),
    "torch~=2.1.0": (2, 1),
    "torch===2.1": (2, 1),
    "torch!=2.0.1,>=1.9": (1, 9),
    "torch!=2.6.*,>=2.5.0": (2, 5),
    "torch!=1.0": None,
    "torch>1.9": (1, 9),
    "torch<2.5": None,
    "torch<=2.5": None,
    "torch<0.4": (0, 3),
    "torch <= 0.3.1": (0, 3),
    "torch<=0.4": None,
    "torch==0.3.1": (0, 3),
    "torch>=1.8.1, <=1.9.1": (1, 8),
    "torch<3.0.0,>=2.2.1": (2, 2),
    "torch>=2.0,>=2.2": (2, 2),
    "torch>=1.4,": (1, 4),
    "torch (>=1.4,<2)": (1, 4),
    "torch(>1.4)": (1, 4),
    "torch[opt]==2.3.1+cu118": (2, 3),
    "torch[extra,other] >= 2.2": (2, 2),
    "torch==1.10.1+cu102": (1, 10),
    "torch==2.1.0+cu121.with.pypi.cudnn": (2, 1),
    "torch==1.10.0.post2": (1, 10),
    "torch==2.0.0.dev20230101+cu118": (2, 0),
    "torch>=2.0.0rc1": (2, 0),
    "torch>=2.6.0.dev": (2, 6),
    "torch >= 1.13.1, != 2.0.0 , <3 ; python_version < '3.12'": (1, 13),
    "torch>=1.0,!=1.5.0; sys_platform != 'darwin' and (python_version > '3.7')": (1, 0),
    "torch;python_version>'3'": None,
    "torch>=1.10;python_version>='3.7'": (1, 10),
    "torch>=2.0.0  # for compile": (2, 0),
    "torch==2.1.0 \\": (2, 1),
    "torch==2.1.0 --hash=sha256:0123456789abcdef": (2, 1),
    "torch==1.8.1+cu111 -f https://download.pytorch.org/whl/torch_stable.html": (1, 8),
    "torch @ https://download.pytorch.org/whl/cu118/torch-2.5.1%2Bcu118-cp310-cp310-linux_x86_64.whl": None,
    "torch @ file:///wheels/torch-2.1.0-cp311-cp311-linux_x86_64.whl": None,
    "torch @ git+https://github.com/pytorch/pytorch@v2.1.0": None,
    "-e git+https://github.com/pytorch/pytorch.git@v1.8#egg=torch>=1.8": None,
    "-r torch==2.1.txt": None,
    "--extra-index-url https://download.pytorch.org/whl/cu118": None,
    "#torch==1.1": None,
    "# torch==1.1": None,
    "    torch>=1.8": (1, 8),
    "Torch==1.12.0": (1, 12),
    "torchvision==0.15": None,
    "torch-scatter==2.0": None,
    "torch_geometric>=2.3": None,
    "torch.x==1.0": None,
    "pytorch-lightning>=1.4": None,
    "torch==latest": None,
    "torch=2.1": None,
    # which pip refuses, but which are written
    "torch>=2.0.0+cu118": (2, 0),
    "torch>=2.0.*": (2, 0),
    "torch~=2": (2, 0),
    "torch>=1.7.1<2.0.0": (1, 7),
    '"torch>=2.0",': (2, 0),
}
POETRY = {
    "^2.1": (2, 1),
    "^2.1.2": (2, 1),
    "^2": (2, 0),
    "~2.2": (2, 2),
    "~2": (2, 0),
    "~=1.9.0": (1, 9),
    "2.3": (2, 3),
    "=2.3": (2, 3),
    "==2.3.1": (2, 3),
    "2.0.*": (2, 0),
    "2.0.1+cu118": (2, 0),
    "*": None,
    "": None,
    "latest": None,
    "<3": None,
    "!=2.0.1": None,
    ">=2.0,<3.0": (2, 0),
    ">=1.7 <2": (1, 7),
    "^1.13,!=1.13.1": (1, 13),
    "^1.13 || ^2.0": (1, 13),
    ">=1.13,<2.0.1 || >2.0.1": (1, 13),
    "^2.0 || <1": (2, 0),
}
CONDA = {
    "pytorch": None,
    "pytorch=1.9.0": (1, 9),
    "pytorch = 1.9": (1, 9),
    "pytorch==1.9": (1, 9),
    "pytorch=1.7.1=py3.7_cuda11.0.221_cudnn8.0.5_0": (1, 7),
    "pytorch==1.7.1=py3.7_0": (1, 7),
    "pytorch>=1.8=*cuda*": (1, 8),
    "pytorch=1.10=*cuda*": (1, 10),
    "pytorch=*=*cuda*": None,
    "pytorch=1.12.*": (1, 12),
    "pytorch=2": (2, 0),
    "pytorch::pytorch>=2.1,<3": (2, 1),
    "conda-forge/linux-64::pytorch=2.0": (2, 0),
    "pytorch=1.10|2.0": (1, 10),
    "pytorch=2.5.0  # with CUDA": (2, 5),
    "pytorch-cuda=11.8": None,
    "libtorch=2.0": None,
    "torch==1.13.1+cu117": (1, 13),
    "'torch==2.3.0'": (2, 3),
}


EXPORTED = {
    "pytorch=1.4.0=py3.7_cuda10.1.243_cudnn7.6.3_0": (1, 4),
    "pytorch=1.9": (1, 9),
    "torch=1.7.1=pypi_0": (1, 7),
    "pytorch==1.2.0": (1, 2),
    "pytorch >= 1.8": (1, 8),
    "conda-forge::pytorch=2.0": (2, 0),
    "pytorch-cuda=11.8=h7e8668a_5": None,
    "pytorch-lightning==1.4": None,
    "pytorch-ignite>=0.4": None,
    "#pytorch=1.4.0": None,
}


@pytest.mark.parametrize("line", EXPORTED)
def test_lines_that_conda_has_exported_for_pip(tmp_path, line):
    text = f"# platform: linux-64\n_libgcc_mutex=0.1=main\n{line}\npip=20.0.2=py37_1\n"
    assert lowest_releases(write(tmp_path, {"requirements.txt": text})).get("torch") == EXPORTED[line]


@pytest.mark.parametrize("line", PIP)
def test_lines_for_pip(tmp_path, line):
    for form in (line + "\n", line + "\r\n", f"numpy\n{line}\n--hash=sha256:0\n"):
        assert lowest_releases(write(tmp_path, {"requirements.txt": form})).get("torch") == PIP[line]


@pytest.mark.parametrize(("files", "lowest"), [
    ({"requirements.txt": "transformers>=4.41,<5\naccelerate==1.2.0\n"}, {"transformers": (4, 41), "accelerate": (1, 2)}),
    ({"pyproject.toml": '[project]\ndependencies = ["transformers[torch]>=5", "torch>=2.6"]\n'}, {"transformers": (5, 0), "torch": (2, 6)}),
    ({"pyproject.toml": '[tool.poetry.dependencies]\ntransformers = "^4.50"\n'}, {"transformers": (4, 50)}),
    ({"setup.py": "setup(install_requires=['transformers>=4.30', 'accelerate'])\n"}, {"transformers": (4, 30)}),
    ({"setup.cfg": "[options]\ninstall_requires =\n  accelerate>=0.30\n"}, {"accelerate": (0, 30)}),
    ({"environment.yml": "dependencies:\n  - transformers=4.46\n"}, {"transformers": (4, 46)}),
    ({"requirements.txt": "transformers-stream-generator==0.0.4\naccelerated>=3\n"}, {}),
])
def test_other_packages(tmp_path, files, lowest):
    assert lowest_releases(write(tmp_path, files)) == lowest


@pytest.mark.parametrize("version", POETRY)
def test_versions_for_poetry(tmp_path, version):
    for form in (json.dumps(version), f"{{version = {json.dumps(version)}, optional = true}}"):
        write(tmp_path, {"pyproject.toml": f"[tool.poetry.dependencies]\ntorch = {form}\n"})
        assert lowest_releases(tmp_path).get("torch") == POETRY[version]


@pytest.mark.parametrize("line", CONDA)
def test_lines_for_conda(tmp_path, line):
    assert lowest_releases(write(tmp_path, {"environment.yml": f"dependencies:\n  - {line}\n"})).get("torch") == CONDA[line]


parts = st.lists(st.integers(0, 10**6 - 1).map(str), min_size=1, max_size=4).map(".".join)
exact = st.builds("{}{}{}".format, st.sampled_from(["==", ">="]), st.sampled_from(["", " "]), parts)
plain = exact | st.builds("~={}.{}".format, parts, parts)
others = st.lists(st.builds("{}{}".format, st.sampled_from(["<", "<=", "!=", ">=", "<= "]), parts), max_size=3)
several = st.tuples(others, st.lists(plain, max_size=2), others).map(lambda lists: sum(lists, []))


@given(several, st.sampled_from([",", ", ", " , "]))
def test_plain_bounds_are_read_as_packaging_reads_them(bounds, comma):
    text = comma.join(bounds)
    found = requirements._PLAIN.fullmatch(text)
    if found:
        assert (int(found[1]), int(found[2] or 0)) == requirements._lowest(text)


@given(st.text("torch=<>~!^.,*0129 +-_;#[]()\\|'\"@:/a", max_size=60))
def test_no_line_is_too_odd(tail):
    for text in ("torch" + tail, "torch==" + tail, tail):
        for line in (text, *requirements._for_pip("torch", text), *requirements._of_conda("- py" + text)):
            found = requirements._bounds(line)
            if found is not None:
                requirements._lower_bound(*found)
                newest(found[1])


@pytest.mark.parametrize(
    "piece",
    [">=2,", "==1.", "9", "1.9", " ", "<2", "<2,", "a", ".", "+", "=", "==", ",", "*", "|", "!=1.*,", "(", "1!", "-", "_"],
)
def test_long_lines_are_cheap(tmp_path, piece):
    start = time.process_time()
    for first in ("torch", "torch>=", "torch==1.", "torch>=1.0+"):
        line = (first + piece * 2000)[:1999]
        for end in ("", "x", "!"):
            write(tmp_path, {"requirements.txt": line + end, "environment.yml": "- py" + (line + end)[:1995]})
            lowest_releases(tmp_path)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(("line", "release"), [
    ("torch", None),
    ("torch>=1.2", UNBOUNDED),
    ("torch>1.2,!=1.5", UNBOUNDED),
    ("torch==1.2", (1, 2)),
    ("torch==1.10.1+cu102", (1, 10)),
    ("torch===2.1", (2, 1)),
    ("torch==1.7.*", (1, 7)),
    ("torch==1", (1, 0)),
    ("torch<=1", (1, 0)),
    ("pytorch=1", (1, ANY)),
    ("pytorch=1.4.0=py3.7_cuda10.1_0", (1, 4)),
    ("torch==2.*", (2, ANY)),
    ("torch<2", (1, ANY)),
    ("torch<2.0.0", (1, ANY)),
    ("torch>=1.8,<2.1", (2, 0)),
    ("torch>=1.8, <1.13.1", (1, 13)),
    ("torch<=2.5", (2, 5)),
    ("torch >= 1.4 , <= 1.9.1 # old", (1, 9)),
    ("torch~=1.9", (1, ANY)),
    ("torch~=1.9.0", (1, 9)),
    ("torch>=1.7.1<2.0.0", (1, ANY)),
])
def test_newest_release_a_line_admits(tmp_path, line, release):
    assert newest_releases(write(tmp_path, {"requirements.txt": line + "\n"})).get("torch") == release


@pytest.mark.parametrize(("version", "release"), [
    ("^2.1", (2, ANY)), ("^0.4.1", (0, 4)), ("~2.1", (2, 1)), ("~2", (2, ANY)), ("2.1", (2, 1)), (">=1.7 <2", (1, ANY)), ("^1.13,!=1.13.1", (1, ANY)),
])
def test_newest_release_poetry_admits(tmp_path, version, release):
    write(tmp_path, {"pyproject.toml": f'[tool.poetry.dependencies]\ntorch = "{version}"\n'})
    assert newest_releases(tmp_path)["torch"] == release


def test_the_narrowest_line_tells_the_newest_release(tmp_path):
    files = {"setup.py": "setup(install_requires=['torch>=1.0', 'torchvision>=0.2'])\n", "requirements.txt": "torch==1.4\n"}
    found = required(write(tmp_path, files))
    assert found == {"torch_version": (1, 0), "releases": (("torchvision", (0, 2)),), "newest": (("torch", (1, 4)), ("torchvision", UNBOUNDED))}


@given(several, st.sampled_from([",", ", "]), st.tuples(st.integers(0, 3), st.integers(0, 20)))
def test_what_is_newer_than_the_newest_is_not_admitted(bounds, comma, release):
    from packaging.specifiers import SpecifierSet

    text = comma.join(bounds)
    if release > newest(text):
        assert not SpecifierSet(text).contains("{}.{}.0".format(*release))


@pytest.mark.parametrize(("requirement", "words"), [
    ("torch", "not known"), ("torch>=1.8", "1.8 and later"), ("torch>=1.8,<=2.5", "1.8 to 2.5"), ("torch>=1.8,<2", "1.8, before 2.0"),
    ("torch==1.13", "1.13"), ("torch<2", "before 2.0"), ("torch<=2.5", "2.5 and earlier"),
])
def test_how_releases_are_shown(tmp_path, requirement, words):
    found = required(write(tmp_path, {"requirements.txt": requirement + "\n"}))
    assert in_words(found["torch_version"], dict(found["newest"]).get("torch")) == words
