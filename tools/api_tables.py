"""Writes src/torchlint/catalogue/api_tables.json: what torch has removed and deprecated, read from torch itself.

    python tools/api_tables.py 1.8=PATH 2.4=PATH ...

Each PATH is a source tree of an older release, such as `git clone --depth 1 --branch v1.8.0 https://github.com/pytorch/pytorch`
gives. 1.6, 1.8 and 2.4 are what the tables were last made of. The newest release is the torch that is
installed. A name counts as removed where an older tree has it and the installed torch does not, or has only a stub that
raises; as deprecated where torch's own decorator or the warning in its documentation says so. `by` is the first of the known
releases of which that is true: a release in between may have been earlier.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/torchlint/catalogue/api_tables.json"
# What no program is written against.
_PRIVATE = re.compile(
    r"(?:^|\.)_(?!six\b)|\.testing\.|\.distributed\.(?:pipeline|elastic|checkpoint|rpc|tensor)|\.onnx\.|\.csrc\."
    r"|\.utils\.(?:hipify|tensorboard|model_dump|benchmark|cpp_extension|bundled)|\.(?:ao|fx|package|jit|export)\."
    r"|\.(?:quantiz|quantis|intrinsic|qat)|datapipes|gradcheck|graph_settings|\.(?:examples|benchmarks)\.|profiler\."
    r"|\.T(?:_\w+)?$|USE_MACA|disable_flash_attn$|manager_path$"  # type variables, and what only a vendor's tree has
)
_DOCUMENTED = re.compile(r"add_docstr\(\s*torch\.(\w+),")
_NAME = r"torch(?:\.\w+)+"
_WARNING = re.compile(
    rf"\.\. warning::\s+(?:This (?:function|method|class)|(?::func:`)?(?P<self>{_NAME})`?) is (?:now )?deprecated\s+"
    r"(?:in favor of|and will be removed|\. Use|as of)",
)
_INSTEAD = re.compile(r"(?:in favor of|[Uu]se|renamed to)\s+(?:the\s+)?(?::func:`|:class:`)?[`~]*(?P<name>(?:torch|nn)(?:\.\w+)+)")
# What torch does not say itself, or not in words that are found.
_NOT_SAID = {
    "torch.set_deterministic": "torch.use_deterministic_algorithms",
    "torch.is_deterministic": "torch.are_deterministic_algorithms_enabled",
    "torch.symeig": "torch.linalg.eigh",
    "torch.eig": "torch.linalg.eig",
    "torch.rfft": "torch.fft.rfft",
    "torch.irfft": "torch.fft.irfft",
    "torch.ifft": "torch.fft.ifft",
    "torch.functional.lu_unpack": "torch.lu_unpack",
    "torch.tensor.Tensor": "torch.Tensor",
    "torch.cuda.error": "torch.cuda.CudaError",
    "torch.nn.modules.module.ModuleAttributeError": "AttributeError",
    "torch.utils.bottleneck": "torch.profiler",
    "torch.utils.ffi": "torch.utils.cpp_extension",
    "torch.utils.data.BufferedShuffleDataset": "torch.utils.data.datapipes.iter.Shuffler",
    "torch.utils.data.dataset.BufferedShuffleDataset": "torch.utils.data.datapipes.iter.Shuffler",
    "torch.backends.cuda.sdp_kernel": "torch.nn.attention.sdpa_kernel",
    **{f"torch.distributed.distributed_c10d.{name}_multigpu": f"torch.distributed.{name}"
       for name in ("all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter")},
    **{f"{where}.NLLLoss2d": "torch.nn.NLLLoss" for where in ("torch.nn", "torch.nn.modules", "torch.nn.modules.loss")},
    **{f"{where}.Container": "torch.nn.Module" for where in ("torch.nn", "torch.nn.modules", "torch.nn.modules.container")},
}
_OLD_INITS = "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal xavier_uniform"
# Since when the function itself warns, where no decorator and no text of an old tree was found that says so.
_SAID_SINCE = {
    # Older than the oldest tree: 0.4 warns of these, 0.4.1 of upsampling.
    "torch.range": "0.4",
    **{f"torch.nn.utils.{where}clip_grad_norm": "0.4" for where in ("", "clip_grad.")},
    **{f"torch.nn.init.{name}": "0.4" for name in _OLD_INITS.split()},
    **{f"torch.nn.functional.upsample{mode}": "1.0" for mode in ("", "_bilinear", "_nearest")},
    "torch.chain_matmul": "2.4",
    "torch.ger": "1.8",
    "torch.lu": "2.4",
    "torch.cuda.memory_cached": "1.6",
    "torch.cuda.max_memory_cached": "1.6",
    "torch.nn.NLLLoss2d": "1.6",
    "torch.nn.Container": "1.6",
    "torch.nn.UpsamplingBilinear2d": "1.6",  # their documentation says so, in each tree
    "torch.nn.UpsamplingNearest2d": "1.6",
}
_SAID_ELSEWHERE = {
    **{
        f"torch.nn.utils.weight_norm{inner}": {"by": "2.4", "instead": "torch.nn.utils.parametrizations.weight_norm"}
        for inner in ("", ".weight_norm")
    },
    **{
        f"torch.{where}.{kind}Tensor": {"by": "2.1", "instead": "torch.sparse_coo_tensor"}
        for where in ("sparse", "cuda.sparse")
        for kind in ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Char")
    },
    **{
        f"torch.{kind}Storage{how}": {"by": "2.0", "instead": instead}
        for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
        for how, instead in {"": "torch.UntypedStorage", ".from_buffer": "torch.frombuffer"}.items()
    },
    **{
        f"torch.cuda.{inner}reset_max_memory_{of}": {"by": "1.6", "instead": "torch.cuda.reset_peak_memory_stats"}
        for inner in ("", "memory.")
        for of in ("allocated", "cached")
    },
    "torch.jit.script": {"by": "2.10", "instead": ""},
    "torch.jit.trace": {"by": "2.10", "instead": ""},
    **{f"torch.jit.{name}": {"by": "2.11", "instead": ""} for name in ("load", "save", "trace_module")},
    # torch.ao is not gone through, and torch.quantization is its old name; the warning came with torch 2.8.
    **{
        f"torch.{where}.{name}": {"by": "2.8", "instead": ""}
        for room in ("ao.quantization", "quantization")
        for file, names in {
            "quantize": "prepare prepare_qat convert quantize quantize_qat quantize_dynamic", "quantize_fx": "prepare_fx prepare_qat_fx convert_fx",
        }.items()
        for where in ((room, f"{room}.{file}") if file == "quantize" else (f"{room}.{file}",))
        for name in names.split()
    },
    "torch.distributed.reduce_op": {"by": "1.2", "instead": "torch.distributed.ReduceOp"},
    "torch.distributed.distributed_c10d.reduce_op": {"by": "1.2", "instead": "torch.distributed.ReduceOp"},
}
# What went before the trees that are looked at, or is private there and is used all the same.
_GONE_ELSEWHERE = {
    **{
        f"torch.{name}": ("1.1", "1.2", f"torch.{new}")
        for name, new in {
            "btrifact": "linalg.lu_factor", "btrifact_with_info": "linalg.lu_factor_ex", "btrisolve": "linalg.lu_solve",
            "btriunpack": "lu_unpack", "gesv": "linalg.solve", "potrf": "linalg.cholesky", "potri": "cholesky_inverse",
            "potrs": "cholesky_solve", "pstrf": "linalg.cholesky", "trtrs": "linalg.solve_triangular",
        }.items()
    },
    "torch.gels": ("1.2", "1.6", "torch.linalg.lstsq"),
    "torch.legacy": ("0.4", "1.2", "torch.nn"),
    "torch.np": ("0.3", "1.0", "numpy"),
    "torch.utils.serialization.load_lua": ("0.4", "1.2", ""),
    "torch.utils.trainer": ("0.4", "1.2", ""),
    "torch.utils.data.dataloader.DataLoaderIter": ("1.1", "1.2", ""),
    "torch.utils.data.dataloader._DataLoaderIter": ("1.1", "1.2", ""),
    "torch.utils.model_zoo._download_url_to_file": ("1.1", "1.2", "torch.hub.download_url_to_file"),
    "torch.hub._download_url_to_file": ("1.7", "1.13", "torch.hub.download_url_to_file"),
    "torch.nn._functions": ("1.2", "1.7", "torch.nn.functional"),
    "torch._thnn": ("1.2", "1.7", ""),
    "torch.nn.modules.linear._LinearWithBias": ("1.7", "1.13", "torch.nn.Linear"),
    "torch.onnx._export": ("2.0", "2.13", "torch.onnx.export"),
    "torch._utils._accumulate": ("2.0", "2.13", "itertools.accumulate"),
}


def names_of(tree: Path) -> set[str]:
    """The qualified names that a source tree binds at the top of its modules, and the native functions it documents."""
    found = {f"torch.{name}" for name in _DOCUMENTED.findall((tree / "torch/_torch_docs.py").read_text())}
    for path in sorted((tree / "torch").rglob("*.py")):
        module = ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__")
        if _PRIVATE.search(module):
            continue
        found.add(module)
        found.update(f"{module}.{name}" for name in _bound(path))
    return {name for name in found if not _PRIVATE.search(name)}


def _bound(path: Path) -> Iterator[str]:
    """The names that a module defines, or takes from torch."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and path.name == "__init__.py" and node.level:
            yield from (alias.asname or alias.name for alias in node.names if alias.name != "*")


def resolve(name: str) -> object | None:
    """What the installed torch has under a name; None where there is nothing."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except Exception:
            continue
        for part in parts[cut:]:
            try:
                found = getattr(found, part, None)
            except Exception:  # it is there, but not on this machine
                return object()
        return found
    return None


def raising(root: Path) -> dict[tuple[str, str], str]:
    """The functions that only say that they are gone, by module and name, with what they say."""
    found = {}
    for module, node, _ in _definitions(root):
        body = [item for item in node.body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))]
        if len(body) == 1 and isinstance(body[0], ast.Raise) and "removed" in ast.unparse(body[0]):
            found[module, node.name] = ast.unparse(body[0])
    return found


def decorated(root: Path) -> Iterator[tuple[str, str]]:
    """What carries torch's `@deprecated`, with what it says. A class counts by its `__init__`, too."""
    for module, node, owner in _definitions(root):
        for item in node.decorator_list:
            called = item.func if isinstance(item, ast.Call) else None
            if getattr(called, "id", getattr(called, "attr", "")) != "deprecated" or not item.args:
                continue
            said = ast.unparse(item.args[0])
            if not owner:
                yield f"{module}.{node.name}", said
            elif node.name == "__init__":
                yield f"{module}.{owner}", said


def _definitions(root: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef, str]]:
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("torch", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        try:
            body = ast.parse(path.read_text()).body
        except (SyntaxError, UnicodeDecodeError):
            continue  # templates
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield module, node, ""
            if isinstance(node, ast.ClassDef):
                yield from ((module, item, node.name) for item in node.body if isinstance(item, ast.FunctionDef))


def aliases(name: str) -> Iterator[str]:
    """A name and the shorter ones by which packages above offer the same thing."""
    thing, parts = resolve(name), name.split(".")
    yield name
    for cut in range(len(parts) - 2, 0, -1):
        short = ".".join([*parts[:cut], parts[-1]])
        if thing is not None and resolve(short) is thing:
            yield short


def documented() -> Iterator[tuple[str, str]]:
    """What its own documentation warns of as deprecated."""
    for module in ("torch", "torch.nn", "torch.nn.functional", "torch.nn.utils", "torch.nn.init", "torch.linalg", "torch.cuda"):
        owner = importlib.import_module(module)
        for name in dir(owner):
            text = getattr(getattr(owner, name), "__doc__", None)
            match = _WARNING.search(text) if isinstance(text, str) else None
            full = f"{module}.{name}"
            if match and (match["self"] or full).endswith(name) and not _PRIVATE.search(full):
                yield full, text[match.start() : match.end() + 200]


def words_of_deprecations(root: Path) -> set[str]:
    """The words that stand directly before a statement that something is deprecated or renamed."""
    found: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        text = " ".join(path.read_text().split())
        for match in re.finditer(r"(?:is|as|been) (?:now )?(?:deprecated|renamed)", text):
            found.update(re.findall(r"\w+", text[max(0, match.start() - 50) : match.start()]))
        found.update(re.findall(r"(\w+) = _make_deprecate\(", text))
    return found


def instead(said: str, name: str) -> str:
    """What a text says to use, as far as there is such a thing."""
    for match in _INSTEAD.finditer(said):
        found = match["name"].removeprefix("torch.")
        found = f"torch.{found}"
        if found != name and resolve(found) is not None:
            return found
    return _NOT_SAID.get(name, "")


def main(arguments: list[str]) -> None:
    """Writes the table."""
    import torch

    warnings.simplefilter("ignore")
    newest = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    trees = {release: Path(path) for release, _, path in (item.partition("=") for item in arguments)}
    order = sorted(trees, key=lambda text: tuple(map(int, text.split("."))))
    known = {release: names_of(trees[release]) for release in order}
    root = Path(torch.__file__).parent
    stubs = raising(root)
    stubs_then = {release: {key for key in raising(trees[release] / "torch")} for release in order}

    removed = {}
    for name in sorted(set().union(*known.values())):
        thing = resolve(name)
        key = (thing.__module__, thing.__name__) if inspect.isfunction(thing) else ("", "")
        if thing is not None and key not in stubs:
            continue
        has = [release for release in order if name in known[release] and key not in stubs_then[release]]
        if not has:
            continue
        later = order[order.index(has[-1]) + 1 :]
        removed[name] = {"after": has[-1], "by": later[0] if later else newest, "instead": instead(stubs.get(key, ""), name)}
    for name in [name for name in removed if name.rpartition(".")[0] in removed]:
        del removed[name]  # the module it was in is gone: that says it

    said_then = {release: words_of_deprecations(trees[release] / "torch") for release in order}
    deprecated = {}
    for full, said in [*decorated(root), *documented()]:
        for name in aliases(full):
            if _PRIVATE.search(name) or name in removed or name in deprecated:
                continue
            last = name.rpartition(".")[2]
            named = re.search(r"deprecated as of PyTorch (\d+\.\d+)", said)  # where no call of a decorator says so
            otherwise = named[1] if named else newest
            since = next((release for release in order if name in known[release] and last in said_then[release]), otherwise)
            deprecated[name] = {"by": _SAID_SINCE.get(name, since), "instead": instead(said, name)}
    deprecated |= _SAID_ELSEWHERE
    removed |= {name: {"after": after, "by": by, "instead": new} for name, (after, by, new) in _GONE_ELSEWHERE.items() if resolve(name) is None}
    removed = dict(sorted(removed.items()))
    table = {"releases": [*order, newest], "removed": removed, "deprecated": dict(sorted(deprecated.items()))}
    TARGET.write_text(json.dumps(table, indent=1, sort_keys=False) + "\n")
    print(f"{len(removed)} removed, {len(deprecated)} deprecated, of {', '.join(table['releases'])}")


if __name__ == "__main__":
    main(sys.argv[1:])
