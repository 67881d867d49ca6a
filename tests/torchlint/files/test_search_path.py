"""Which folders a program puts on the import path by itself."""

import pytest

from torchlint.files.search_path import added_folders

WAYS = {
    "sys.path.append('utils')": ("utils",),
    "sys.path.append('./utils/')": ("utils",),
    "sys.path.insert(0, '../models')": ("../models",),
    "sys.path.insert(1, os.path.abspath('models'))": ("models",),
    "sys.path.extend(['utils', path, 'models'])": ("utils", "models"),
    "sys.path += ['utils']": ("utils",),
    "sys.path.append(os.path.join(os.getcwd(), 'utils'))": ("utils",),
    "sys.path.append(os.getcwd() + '/utils')": ("utils",),
    "sys.path.append(os.path.join(os.path.dirname(__file__), 'utils'))": ("./utils",),
    "sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'utils'))": ("./../utils",),
    "sys.path.append(osp.join(osp.dirname(osp.dirname(osp.abspath(__file__))), 'utils'))": ("./../utils",),
    "sys.path.append(os.path.dirname(os.path.realpath(__file__)) + '/../utils')": ("./../utils",),
    "sys.path.append(os.path.split(os.path.abspath(__file__))[0] + '/utils')": ("./utils",),
    "BASE_DIR = os.path.dirname(os.path.abspath(__file__))\nROOT = os.path.dirname(BASE_DIR)\nsys.path.append(os.path.join(ROOT, 'utils'))":
        ("./../utils",),
    "sys.path.append(str(Path(__file__).parent / 'src'))": ("./src",),
    "sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lib' / 'core'))": ("./../lib/core",),
    "sys.path.append(Path(__file__).absolute().parent.parent.joinpath('lib').as_posix())": ("./../lib",),
    "sys.path.append(str(Path.cwd() / 'lib'))": ("lib",),
    "sys.path.append(str(Path('lib', 'core')))": ("lib/core",),
    "LIB = 'lib'\nif LIB not in sys.path:\n    sys.path.append(LIB)": ("lib",),
    "try:\n    import net\nexcept ImportError:\n    sys.path.append('lib')\n    import net": ("lib",),
    "sys.path.append('b')\nsys.path.append('a')\nsys.path.append('b')": ("b", "a"),
}


@pytest.mark.parametrize("text", WAYS)
def test_ways_to_say_it(text):
    assert added_folders(f"import sys\n{text}\n") == WAYS[text]


@pytest.mark.parametrize(
    "text",
    [
        "sys.path.append('..')", "sys.path.append('.')", "sys.path.append(os.getcwd())", "sys.path.append(os.path.dirname(__file__))",
        "sys.path.append(str(Path(__file__).parents[2]))",  # found without it
        "sys.path.append(os.path.dirname(__file__) + 'lib')", "sys.path.append('/home/me/lib')", "sys.path.append(os.path.join('/', 'lib'))",  # elsewhere
        "sys.path.append(os.path.expanduser('~/lib'))", "sys.path.append(os.environ['LIB'])", "sys.path.append(args.lib)",
        "sys.path.append(os.path.join(HOME, 'lib'))", "sys.path.append(f'{HOME}/lib')", "sys.path.append(3)", "sys.path.append(b'lib')",
        "LIB = 'lib'\nLIB = find()\nsys.path.append(LIB)", "sys.path.append('{}/lib'.format(HOME))", "sys.path.append('a'.upper())",
        "sys.path.append(' '.join(['lib']))", "sys.path.append(__file__ + 'x' + __file__)",
        "sys.path.append('venv/lib/python3/site-packages')", "sys.path.append('build')", "sys.path.append('.lib')",  # not the project's own
        "# sys.path.append('lib')", "'''\nsys.path.append('lib')\n'''", "def use():\n    sys.path.append('lib')",
        "sys.path.remove('lib')", "sys.paths.append('lib')", "my.sys.path.append('lib')", "print('sys.path.append', 'lib')",
        "sys.path.append('lib'", "sys.path.append('li\0b')", "sys.path.append('li\\0b')", "sys.path.append('\\1/lib')",
    ],
)
def test_what_says_nothing(text):
    assert added_folders(f"import sys\n{text}\n") == ()


def test_there_is_an_end_to_it():
    assert len(added_folders("\n".join(f"sys.path.append('lib{number}')" for number in range(1000)))) == 16


def test_no_complaints_of_python_are_passed_on(recwarn):
    assert added_folders("sys.path.append('lib')\nx = '\\d'\n") == ("lib",)
    assert not recwarn.list


def test_nothing_is_parsed_where_the_path_is_not_named(monkeypatch):
    monkeypatch.setattr("torchlint.files.search_path.ast", None)
    assert added_folders("import sys\nimport net\n") == ()
