"""Writes src/torchlint/catalogue/api_arguments.json: which keywords torch's functions, classes and tensor methods take.

    python tools/api_arguments.py 1.8=PATH 2.4=PATH ...

The PATHs are those of tools/api_tables.py. Of the installed torch, Python's own signatures are asked, and the stubs for
what is written in C++; the older trees add what they declare under the same name. What takes `**kwargs`, what cannot be
read for certain and what does not refuse a made-up keyword when it is called with one is left out.

In the table: `takes`, all keywords that some release takes; `gone`, those that only an older one takes, with the last
known release that does and the first that does not.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

from api_tables import _PRIVATE

from torchlint.dryrun.torch_api.names import canonical

TARGET = Path(__file__).parents[1] / "src/torchlint/catalogue/api_arguments.json"
MADE_UP = "made_up_keyword"
_STUBS = {
    "torch": "_C/_VariableFunctions.pyi",
    "torch.nn.functional": "nn/functional.pyi",
    "torch._C._nn": "_C/_nn.pyi",
}
_TAKEN_OUT = re.compile(r"""kwargs(?:\.(?:pop|get)\(|\[)\s*["'](\w+)["']|["'](\w+)["']\s+(?:not\s+)?in\s+kwargs""")
_ALSO = re.compile(
    r'\{"(\w+)",\s*\{((?:"\w+"(?:,\s*)?)+)\}\}'
)  # numpy_compatibility_arg_names of python_arg_parser.cpp
_SIGNATURE = re.compile(r"\b(\w+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*->")
_NATIVE = re.compile(r"^- func: (\w+)(?:\.\w+)?\((.*)\) ->", re.MULTILINE)
_PARSED = re.compile(r'"(\w+)\((\w[^()]*?(?:"\s*"[^()]*?)*)\)(?:\|\w+)?"')  # what a PythonArgParser is made of
# What is asked of torch itself, by calling it, as it has no signature: VariableMeta answers for the legacy constructor.
_BY_HAND = {"torch.autograd.Variable": {"data", "requires_grad", "volatile"}}
_WORD = re.compile(r"\w+")
# What the texts of a file are about, where it is not torch itself.
_WHERE = {
    "_tensor_docs.py": "torch.Tensor",
    "functional.pyi.in": "torch.nn.functional",
    "_nn.pyi.in": "torch.nn.functional",
}


class Signature:
    """The keywords of something; `more` where it takes any."""

    def __init__(self, names: set[str], more: bool = False):
        self.names, self.more = names, more


# -- the installed torch -------------------------------------------------------------------------------------------


def public() -> Iterator[tuple[str, object]]:
    """What torch's public modules offer under public names: callables."""
    import torch

    todo, seen = [("torch", torch)], {id(torch)}
    while todo:
        path, module = todo.pop(0)
        for name in sorted(dir(module)):
            full = f"{path}.{name}"
            if name.startswith("_") or _PRIVATE.search(full):
                continue
            try:
                thing = getattr(module, name)
            except Exception:  # it is there, but not on this machine
                continue
            if isinstance(thing, types.ModuleType):
                if thing.__name__ == full and id(thing) not in seen:
                    seen.add(id(thing))
                    todo.append((full, thing))
            elif callable(thing) and not isinstance(thing, torch.dtype):
                yield full, thing


def of_python(thing: object) -> Signature | None:
    """The keywords of a Python function or class, as far as Python tells."""
    if inspect.isclass(thing):
        return _of_class(thing)
    if not inspect.isfunction(thing):
        return None
    either = inspect.getclosurevars(thing).nonlocals
    if {"if_true", "if_false"} <= either.keys():  # one of two functions, by a flag
        both = [of_python(either["if_true"]), of_python(either["if_false"])]
        return Signature(both[0].names | both[1].names, both[0].more or both[1].more) if all(both) else None
    outer, inner = inspect.signature(thing, follow_wrapped=False), inspect.signature(thing)
    found = _of_parameters(inner.parameters.values())
    own = _of_parameters(outer.parameters.values())
    # A wrapper may know keywords that what it wraps does not.
    found.names |= own.names | (set(_taken_out(thing)) if own.more else set())
    return found


def _of_class(cls: type) -> Signature | None:
    if type(cls).__call__ is not type.__call__:
        return None
    found = Signature(set(), True)
    makers = "__init__" if cls.__init__ is not object.__init__ else "__new__"
    for base in cls.__mro__:
        maker = vars(base).get(makers)
        maker = getattr(maker, "__func__", maker)
        if maker is None:
            continue
        if not inspect.isfunction(maker):
            return None
        try:
            parameters = list(inspect.signature(maker).parameters.values())[1:]
        except ValueError:
            return None
        own = _of_parameters(parameters)
        found.names |= own.names | set(_taken_out(maker))
        if not own.more:
            found.more = False
            break
    return found


def _of_parameters(parameters) -> Signature:
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return Signature(named, any(p.kind is p.VAR_KEYWORD for p in parameters))


def _taken_out(function) -> Iterator[str]:
    """What a function looks for in its **kwargs."""
    try:
        text = inspect.getsource(function)
    except OSError:
        return
    for one, other in _TAKEN_OUT.findall(text):
        yield one or other


def refuses(thing: object) -> bool:
    """Whether Python itself refuses a keyword that nobody can know. It does so before anything is done."""
    try:
        thing(**{MADE_UP: None})
    except TypeError as error:
        return MADE_UP in str(error)
    except BaseException:
        return False
    return False


def stubs(root: Path) -> dict[str, set[str]]:
    """The keywords of what is written in C++, by qualified name, over all overloads."""
    found: dict[str, set[str]] = {}
    for module, file in _STUBS.items():
        for node in ast.parse((root / file).read_text()).body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(f"{module}.{node.name}", set()).update(_names(node.args))
    for node in ast.parse((root / "_C/__init__.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase":
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    found.setdefault(f"torch.Tensor.{item.name}", set()).update(_names(item.args))
    return found


def methods() -> Iterator[tuple[str, object]]:
    """The methods of tensors."""
    import torch

    for name in dir(torch.Tensor):
        thing = getattr(torch.Tensor, name)
        if not name.startswith("_") and callable(thing) and not inspect.isclass(thing):
            yield f"torch.Tensor.{name}", thing


# -- the older trees -----------------------------------------------------------------------------------------------


def _names(args: ast.arguments) -> set[str]:
    return {arg.arg for arg in (*args.args, *args.kwonlyargs)}


def _written(given: str) -> Iterator[str]:
    """The names in a list of arguments as documentation, templates and native_functions.yaml write it."""
    for item in re.sub(r"\[[^\]]*\]|\([^()]*\)", "", given).split(","):
        words = _WORD.findall(item.partition("=")[0].partition(":")[0])
        if words:
            yield words[-1]


class Tree:
    """What an older release declares: `exact`, by canonical name; `loose`, by last name alone: Python's functions and
    classes; `native`, by either: what is written in C++; `same`, other names that it takes for some keywords."""

    def __init__(self, root: Path):
        self.exact: dict[str, Signature] = {}
        self.loose: dict[str, set[str]] = {}
        self.native: dict[str, set[str]] = {}
        self.same: dict[str, set[str]] = {}
        classes: dict[str, list[tuple[str, ast.ClassDef]]] = {}
        for path in sorted([*(root / "torch").rglob("*.py"), *(root / "torch").rglob("*.pyi")]):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if _PRIVATE.search(module) and module != "torch._tensor":
                continue
            try:
                body = ast.parse(path.read_text()).body
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in body:
                if isinstance(node, ast.FunctionDef):
                    self._note(module, node.name, Signature(_names(node.args), node.args.kwarg is not None), path)
                elif isinstance(node, ast.ClassDef):
                    classes.setdefault(node.name, []).append((module, node))
                    if node.name == "Tensor":
                        for item in node.body:
                            if isinstance(item, ast.FunctionDef):
                                self._note(
                                    "torch.Tensor",
                                    item.name,
                                    Signature(_names(item.args), item.args.kwarg is not None),
                                    path,
                                )
        for name, made in classes.items():
            for module, node in made:
                own = self._of_class(node, classes)
                self.loose.setdefault(name, set()).update(own.names)
                self.exact[canonical(f"{module}.{name}")] = own
        self._read_texts(root)

    def _note(self, module: str, name: str, own: Signature, path: Path) -> None:
        self.loose.setdefault(name, set()).update(own.names)
        if path.suffix == ".py":
            self.exact[canonical(f"{module}.{name}")] = own

    def _of_class(self, node: ast.ClassDef, classes: dict[str, list[tuple[str, ast.ClassDef]]]) -> Signature:
        """What making an instance takes: of the class, and of its bases where it passes on what it is given."""
        found, todo = Signature(set(), True), [node]
        for _ in range(20):
            if not todo or not found.more:
                break
            cls = todo.pop(0)
            makers = [
                item
                for item in cls.body
                if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "__new__")
            ]
            if makers:  # the last one: what comes before it declares overloads
                found.names |= _names(makers[-1].args)
                found.names |= {one or other for one, other in _TAKEN_OUT.findall(ast.unparse(makers[-1]))}
                found.more = makers[-1].args.kwarg is not None
            bases = [classes.get(ast.unparse(base).rpartition(".")[2], []) for base in cls.bases]
            todo[:0] = [made[0][1] for made in bases if len(made) == 1]
        return found

    def _read_texts(self, root: Path) -> None:
        """What is declared outside Python code: in documentation and templates, by qualified name; in the list of
        native functions and in the bindings written by hand, by last name."""
        for path in [*(root / "torch").rglob("*docs.py"), *(root / "torch").rglob("*.pyi.in")]:
            text = path.read_text()
            where = _WHERE.get(path.name, "torch")
            for name, given in _SIGNATURE.findall(text):
                self.native.setdefault(f"{where}.{name}", set()).update(_written(given))
        listed = root / "aten/src/ATen/native/native_functions.yaml"
        for name, given in _NATIVE.findall(listed.read_text()) if listed.exists() else ():
            names = set(_written(given))
            for short in (name, name.partition("_")[2]):  # linalg_norm is torch.linalg.norm
                self.native.setdefault(short, set()).update(names)
        for path in sorted((root / "torch/csrc").rglob("*.cpp")):
            text = path.read_text(errors="replace")
            for name, given in _PARSED.findall(text) if "PythonArgParser" in text else ():
                self.native.setdefault(name, set()).update(_written(given.replace('"\n', "").replace('"', "")))
        parser = root / "torch/csrc/utils/python_arg_parser.cpp"
        for name, others in _ALSO.findall(parser.read_text()):
            self.same.setdefault(name, set()).update(_WORD.findall(others))


# -- the table -----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Writes the table."""
    import torch

    warnings.simplefilter("ignore")
    newest = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    paths = {release: Path(path) for release, _, path in (item.partition("=") for item in arguments)}
    order = sorted(paths, key=lambda text: tuple(map(int, text.split("."))))
    trees = {release: Tree(paths[release]) for release in order}
    declared = stubs(Path(torch.__file__).parent)
    found: dict[str, Signature] = {}
    natives = set()
    for full, thing in [*public(), *methods()]:
        name = canonical(full)
        if not (inspect.isfunction(thing) or inspect.isclass(thing)):
            natives.add(name)
            own = _native(full, thing, declared, trees[order[-1]])
        else:
            own = of_python(thing)
            if own is not None and not own.more and not refuses(thing):
                own = None
        if own is None or own.more:
            found[name] = Signature(set(), True)  # one of its names is not certain: so none is
        elif name not in found:
            found[name] = own
        else:
            found[name].names |= own.names
    found.update({name: Signature(set(names)) for name, names in _BY_HAND.items()})
    takes: dict[str, str] = {}
    gone: dict[str, dict[str, tuple[str, str]]] = {}
    for name, now in sorted(found.items()):
        then = {release: trees[release].exact.get(name) for release in order}
        if now.more or any(older is not None and older.more for older in then.values()):
            continue
        went = _gone(now, then, newest)
        last = name.rpartition(".")[2]
        names = set(now.names)
        for release in order:
            older = then[release]
            if name in natives:
                names |= trees[release].native.get(last, set()) | trees[release].native.get(name, set())
            elif older is None:
                names |= trees[release].loose.get(last, set())
        takes[name] = " ".join(sorted(names - went.keys() - {"self", "cls"}))
        if went:
            gone[name] = went
    TARGET.write_text(json.dumps({"takes": takes, "gone": gone}, indent=0, separators=(",", ":")) + "\n")
    print(f"{len(takes)} signatures, {sum(map(len, gone.values()))} arguments gone, of {', '.join([*order, newest])}")


def _native(full: str, thing: object, declared: dict[str, set[str]], tree: Tree) -> Signature | None:
    """The keywords of what is written in C++: of its stub, and of the first lines of its documentation."""
    last = full.rpartition(".")[2]
    names = declared.get(full, set()) | declared.get(f"torch._C._nn.{last}", set())
    text = getattr(thing, "__doc__", None) or ""
    for name, given in _SIGNATURE.findall(text[:2000]):
        if name.rpartition("_")[2] == last.rpartition("_")[2]:
            names |= set(_written(given))
    if not names or not isinstance(thing, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        return None
    for name, others in tree.same.items():
        if name in names or name == "input" and "self" in names:
            names |= others
    return Signature(names)


def _gone(now: Signature, then: dict[str, Signature | None], newest: str) -> dict[str, tuple[str, str]]:
    """The keywords that only older releases take: the last that does, the first that does not."""
    order = list(then)
    gone = {}
    for at, release in enumerate(order):
        older = then[release]
        for word in sorted(older.names - now.names - {"self", "cls"}) if older is not None else ():
            later = (one for one in order[at + 1 :] if then[one] is not None and word not in then[one].names)
            gone[word] = (release, next(later, newest))
    return gone


if __name__ == "__main__":
    main(sys.argv[1:])
