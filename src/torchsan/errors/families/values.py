"""Tensors and Python: conditions, numbers, lists, arguments of functions, names that are not there."""

from __future__ import annotations

import ast
import difflib

from torchsan.errors.family import Family, Said, Seen, shape
from torchsan.errors.operands import Frame
from torchsan.own import re, torch
from torchsan.report import printing


def _truth(seen: Seen) -> Said | None:
    """A tensor of several values as a condition."""
    for one in reversed(seen.way):
        if one.frame.f_code.co_name in ("legacy_get_string", "legacy_get_enum"):
            name = next((word for word in re.findall(r"nn\.(\w+Loss)\(", seen.line())), "MSELoss")
            return Said(
                ("output and target were given where the loss is made",),
                None,
                f"make it, then call it: `nn.{name}()(output, target)`",
                "a loss class takes settings, not tensors",
            )
    tensors = seen.tensors()
    facts = (
        (f"`{tensors[0].name}` is {shape(tensors[0].value)}",)
        if len(tensors) == 1
        else tuple(f"`{one.name}` is {shape(one.value)}" for one in tensors[:2])
    )
    node = seen.node()
    if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
        node = node.test
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and node.args:
        node = node.args[0]
    text = (
        ast.unparse(node)
        if node is not None and isinstance(node, (ast.Compare, ast.Name, ast.Call)) and len(ast.unparse(node)) < 40
        else ""
    )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
        function, other = ("maximum", "min") if node.func.id == "max" else ("minimum", "max")
        return Said(facts, None, f"`torch.{function}(a, b)` value by value, `x.clamp({other}=0)` against a number")
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("index", "remove", "count")
    ):
        return Said(
            facts,
            None,
            "a list compares with `==`, which of tensors gives many answers: look by `is`, or keep numbers in the list",
        )
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return Said(facts, None, "`in` compares with `==`: look by `any(x is other for other in xs)`")
    if len(tensors) == 1 and tensors[0].value.numel() == 0:
        return Said(facts, None, f"`{tensors[0].name}.numel() > 0` asks whether there is anything in it")
    said = f"({text})" if text and not text.isidentifier() else text
    return Said(
        facts,
        tensors[0] if len(tensors) == 1 else None,
        f"`{said}.all()` or `{said}.any()`; value by value, `torch.where(condition, a, b)`" if said else "",
    )


def _scalar(seen: Seen) -> Said | None:
    tensors = seen.tensors()
    if not tensors:
        return None
    one = tensors[0]
    if isinstance(seen.node(), ast.Call) and "tensor(" in ast.unparse(seen.node()):
        return None
    return Said(
        (f"`{one.name}` is {shape(one.value)}",),
        one,
        f"`{one.name}.mean().item()` for one number, `{one.name}.tolist()` for all",
    )


def _list(seen: Seen) -> Said | None:
    """torch.tensor over a list of tensors."""
    for one in seen.arguments():
        if isinstance(one.value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in one.value):
            return Said(
                (f"`{one.text}` is a list of tensors",), None, f"`torch.stack({one.text})`, which keeps their graphs"
            )
        if isinstance(one.node, (ast.List, ast.ListComp)):
            return Said(
                (),
                None,
                f"for a list of tensors `torch.stack({one.text})`, which keeps their graphs"
                if len(one.text) < 40
                else "`torch.stack(list)`",
            )
    return None


def _none(seen: Seen) -> Said | None:
    given = seen.match["type"]
    mends = {
        "NoneType": "a value is missing: look at what makes the list",
        "dict": "take its values: `torch.tensor(list(d.values()))`",
        "str": "text has to be numbered first",
        "object": "mixed values: make them numbers",
    }
    return Said((f"it holds a {given}",), None, mends.get(given, ""))


def _ragged(seen: Seen) -> Said | None:
    return Said((f"one row has {seen.match['a']} items, another {seen.match['b']}",))


def _invalid(seen: Seen) -> Said | None:
    """A function of torch is called with arguments that it does not know."""
    got = seen.match["got"].strip()
    names = re.findall(r"(\w+)=", got)
    known = {"axes": "dim", "axis": "dim", "dims": "dim", "keepdims": "keepdim"}
    wrong = [name for name in names if name in known and known[name] in seen.text]
    if wrong:
        return Said((f"it was given ({got})",), None, f"write `{known[wrong[0]]}=` for `{wrong[0]}=`")
    if "NoneType" in got:
        return Said((f"it was given ({got})",), None, "one of them is None: look for a function that returns nothing")
    return Said((f"it was given ({got[:100]})",))


def _unknown(seen: Seen) -> Said | None:
    """A method of a tensor, or a function of torch, that does not exist."""
    name = seen.match["name"]
    numpy = {
        "astype": "to(dtype)",
        "copy": "clone()",
        "concatenate": "cat",
        "expand_dims": "unsqueeze",
        "ndarray": "Tensor",
        "array": "tensor",
        "append": "cat",
        "as_type": "to(dtype)",
        "len": "size(0)",
        "shuffle": "randperm",
        "backwards": "backward",
    }
    where = (
        torch
        if seen.match.groupdict().get("module") == "torch"
        else torch.nn.functional
        if seen.match.groupdict().get("module")
        else torch.Tensor
    )
    if seen.match.groupdict().get("module") and seen.match["module"].endswith("functional"):
        where = torch.nn.functional
    if name in numpy:
        return Said((), None, f"torch's word for it is `{numpy[name]}`")
    near = difflib.get_close_matches(name, [other for other in dir(where) if not other.startswith("_")], 2, 0.7)
    return (
        Said(
            (),
            None,
            f"the nearest {'names are' if len(near) > 1 else 'name is'} {', '.join(f'`{other}`' for other in near)}",
        )
        if near
        else None
    )


def _pair(seen: Seen) -> Said | None:
    kinds = f"`{seen.match['a']}` {seen.match['op']} `{seen.match['b']}`"
    other = seen.match["b"] if seen.match["a"] in ("Tensor", "Parameter") else seen.match["a"]
    if other == "NoneType":
        return Said((kinds,), None, "one of them is None: look for a `forward` or function without `return`")
    if other in ("list", "tuple"):
        return Said((kinds,), None, f"make the {other} a tensor: `torch.tensor(values)`, `torch.stack(tensors)`")
    if other == "str":
        return Said((kinds,), None, "text has to be made a number first: `float(text)`")
    if other == "numpy.ndarray":
        return Said((kinds,), None, "`torch.from_numpy(array)` first")
    if other in ("builtin_function_or_method", "method"):
        return Said((kinds,), None, "a method is not called: add `()`")
    return Said((kinds,))


FAMILIES = (
    Family("truth-of-many-values", r"Boolean value of Tensor with (more than one|no) values? is ambiguous",
           "a tensor of several values stands where a yes or no is wanted", "`.all()` or `.any()`; value by value, "
           "`torch.where(condition, a, b)`", look=_truth),
    Family("number-of-many-values", r"a Tensor with (?P<n>\d+) elements cannot be converted to Scalar",
           "one number is asked of several", "`x.mean().item()`, or `x.tolist()` for all", look=_scalar,
           fact="it holds {n} values"),
    Family("tensor-of-tensors", r"only one element tensors can be converted to Python scalars",
           "a tensor of several values is taken for one number", "`torch.stack(list)` for a list of tensors; "
           "`x.mean().item()` for a number", look=lambda seen: _list(seen) or _scalar(seen)),
    Family("number-as-index", r"only integer tensors of a single element can be converted to an index",
           "a count or index is asked of a tensor that is no single whole number", "`int(x)` of one number, "
           "`x.tolist()` of several, `x.size(0)` for a length", look=_scalar),
    Family("length-of-a-number", r"(?P<what>len\(\) of|iteration over) a 0-d tensor", "a tensor of one number has no "
           "length and nothing to go through", "look at what reduced it; `x.item()` gives the number, `x.reshape(-1)` "
           "a list of one"),
    Family("ragged-list", r"expected sequence of length (?P<a>\d+) at dim (?P<at>\d+) \(got (?P<b>\d+)\)",
           "the rows of a list have different lengths", "pad them, "
           "`torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)`", look=_ragged),
    Family("tensor-of-text", r"too many dimensions 'str'|new\(\): invalid data type 'str'",
           "text is no tensor, nor an index", "number it first: `labels = {{name: i for i, name in "
           "enumerate(names)}}`; of a dict of tensors, take `batch[\"key\"]`"),
    Family("tensor-of-what", r"Could not infer dtype of (?P<type>\w+)", "a tensor is to be made of something that is "
           "no number", "give numbers, lists of numbers or arrays", look=_none),
    Family("dtype-word", r"argument 'dtype' must be torch\.dtype, not (?P<type>\w+)", "a type is given in another way "
           "than torch's", "`dtype=torch.float32`", fact="it is of type {type}"),
    Family("old-constructor", r"expected TensorOptions\(dtype=(?P<a>\w+).*\(got TensorOptions\(dtype=(?P<b>[\w ]+),",
           "a constructor of one type is given a tensor of another", "`x.float()`, `x.long()`",
           fact="it makes {a}, and was given {b}"),
    Family("size-of-what", r"(?P<call>\w+)\(\): argument 'size' (\(position 1\) )?(must be tuple of ints|failed to "
           r"unpack)", "a size is no whole number", "`int(n)` or `//` where it is computed; of a tensor, `x.shape`"),
    Family("range-direction", r"upper bound and lower bound inconsistent with step sign", "a range runs the other way "
           "than its step", "swap the ends, or the sign of the step"),
    Family("random-range", r"random_ expects 'from' to be less than 'to', but got from=(?P<a>-?\d+) >= to=(?P<b>-?\d+)",
           "`randint` is given an empty range", "`torch.randint(low, high, size)`: `high` is above `low`",
           fact="{a} to {b}"),
    Family("clamp-without-ends", r"At least one of 'min' or 'max' must not be None", "`clamp` is given no end",
           "`x.clamp(min=0)`"),
    Family("quantile-range", r"quantile\(\) q must be in the range \[0, 1\] but got (?P<q>\S+)",
           "a quantile is a share", "0.95 and not 95", fact="it is {q}"),
    Family("bad-probabilities", r"probability tensor contains either `inf`, `nan` or element < 0",
           "probabilities to draw by are NaN, infinite or negative", "`torch.softmax(scores, -1)` first; NaN comes "
           "from an earlier step: `torch.isfinite(scores).all()`", look=lambda seen: _probabilities(seen)),
    Family("no-probabilities", r"invalid multinomial distribution \(sum of probabilities <= 0\)",
           "all probabilities to draw by are 0", "leave such rows out, or add a small number"),
    Family("draw-too-many", r"cannot sample n_sample > prob_dist\.size\(-1\) samples without replacement",
           "more is drawn than there is", "`replacement=True`"),
    Family("negative-spread", r"normal expects all elements of std >= 0|normal expects std >= 0\.0, but found std (?P<std>\S+)",
           "a spread to draw with is negative or NaN", "make it positive: `F.softplus(raw) + 1e-6`, or `raw.exp()` of its "
           "logarithm; NaN comes from an earlier step", look=lambda seen: _spread(seen), fact="it is {std}"),
    Family("probability-range", r"Expected p_in >= 0 && p_in <= 1", "`bernoulli` takes probabilities",
           "`torch.sigmoid(scores)` first"),
    Family("distribution-parameter", r"Expected parameter (?P<what>\w+) \(.*?\) of distribution (?P<name>\w+).*? to satisfy "
           r"the constraint (?P<rule>.+?), but found|Expected value argument \(.*?\) to be within the support "
           r"\((?P<support>.+?)\) of the distribution (?P<of>\w+)", "a distribution is given values that it cannot have",
           "NaN comes from an earlier step: `torch.isfinite(values).all()`", look=lambda seen: _parameter(seen)),
    Family("distribution-shape", r"Value is not broadcastable with batch_shape\+event_shape: "
           r"torch\.Size\((?P<a>.*?)\) vs torch\.Size\((?P<b>.*?)\)", "a value has another shape than the distribution",
           "one value for each parameter: `.squeeze(-1)` or `.unsqueeze(-1)`", fact="the value is {a}, the "
           "distribution {b}"),
    Family("singular-matrix", r"(?P<call>[\w.]+): .*(singular|not positive-definite|failed to converge)",
           "`{call}` of a matrix that has no inverse or is not positive", "add a little to its diagonal, `A + 1e-6 * "
           "torch.eye(n)`; NaN in it fails so, too"),
    Family("seed", r"Overflow when unpacking long|invalid literal for int\(\) with base 10: (?P<given>.*)",
           "a seed is no whole number of 64 bits", "`torch.manual_seed(0)`", inside=r"torch/random\.py:"),
    Family("positive-threads", r"set_num_threads expects a positive integer", "the number of threads is not positive",
           "1 or more"),
    Family("no-such-method", r"'(Tensor|Parameter)' object has no attribute '(?P<name>\w+)'",
           "tensors have no method of that name", "`dir(x)` lists them", look=_unknown, fact="`{name}`"),
    Family("no-such-function", r"module '(?P<module>torch(\.nn(\.functional)?)?)' has no attribute '(?P<name>\w+)'",
           "torch has no function of that name", "look it up in torch's documentation, or its release in "
           "`torch.__version__`", look=_unknown, fact="`{module}.{name}`"),
    Family("result-of-two", r"'torch\.return_types\.(?P<call>\w+)' object has no attribute '(?P<name>\w+)'",
           "`{call}` with a dimension gives values and indices", "take `.values`, or write `values, indices = ...`"),
    Family("pair-of-strangers", r"unsupported operand type\(s\) for (?P<op>\S+): "
           r"'(?P<a>(?=.*(Tensor|Parameter)')[\w.-]+)' and '(?P<b>[\w.-]+)'", "a tensor meets something that is no "
           "number", "make it a tensor: `torch.as_tensor(value)`", look=_pair, kinds=(TypeError,),
           fits=lambda way: ".grad" not in _written(way)),
    Family("unknown-arguments", r"(?P<call>\w+)\(\) received an invalid combination of arguments - got "
           r"\((?P<got>.*?)\), but expected", "`{call}` is called with arguments that it does not know",
           "compare with the forms that torch lists above", look=_invalid),
    Family("shape-called", r"'torch\.Size' object is not callable", "a shape is called", "`x.shape[0]`, or `x.size(0)`"),
    Family("compile-backend", r"Invalid backend: '(?P<name>[\w-]+)'", "torch.compile knows no such backend",
           "\"inductor\" is the usual one; `torch.compiler.list_backends()` lists them", fact="`{name}`"),
    Family("compile-mode", r"Unrecognized mode=(?P<name>\S+), should be one of: (?P<list>.*)",
           "torch.compile knows no such mode", "one of {list}", fact="`{name}`"),
    Family("compile-branch", r"Data-dependent branching|Dynamic control flow is not supported",
           "a compiled function branches on the value of a tensor", "`torch.where`, or leave `fullgraph=True` out"),
    Family("gradient-function", r"Expected f\(\*args\) to return a scalar Tensor, got tensor with (?P<n>\d+) dims",
           "`torch.func.grad` takes a function that gives one number", "reduce it, `.sum()`, or use `torch.func.jacrev`"),
    Family("vmap-item", r"vmap: It looks like you're calling \.item\(\)", "a function under vmap asks a tensor for "
           "its number", "keep to tensors; branch with `torch.where`"),
)


def _written(way: list[Frame]) -> str:
    return printing.source_line(way[-1].where.location()) or "" if way else ""


def _probabilities(seen: Seen) -> Said | None:
    tensors = seen.tensors()
    if not tensors:
        return None
    value = tensors[0].value
    if bool(torch.isnan(value).any()):
        return Said(
            (f"`{tensors[0].name}` holds NaN",),
            tensors[0],
            "an operation before it made NaN: find which with `torch.isfinite(value).all()`",
        )
    low = value.min().item()
    return (
        Said(
            (f"`{tensors[0].name}` goes down to {low:.4g}",),
            tensors[0],
            f"`torch.softmax({tensors[0].name}, -1)` first",
        )
        if low < 0
        else None
    )


def _parameter(seen: Seen) -> Said:
    """What a distribution wants of a value, by the constraint that it names."""
    text = "NaN comes from an earlier step: `torch.isfinite(values).all()`"
    if seen.match["of"]:
        return Said((f"what {seen.match['of']} gives is {seen.match['support']}",), None, f"ask for no other values; {text}")
    rule = re.sub(r"^IndependentConstraint\((.*), \d+\)$", r"\1", seen.match["rule"])
    fact = f"`{seen.match['what']}` of {seen.match['name']} must be {rule}"
    if "Real" in rule:
        return Said((f"{fact}: NaN and infinite values alone are refused",), None, text)
    if "Simplex" in rule or "Interval" in rule:
        made = "softmax(scores, -1)" if "Simplex" in rule else "sigmoid(scores)"
        return Said((fact,), None, f"`torch.{made}` first, or give the scores as `logits=scores`; {text}")
    if "Definite" in rule:
        return Said((fact,), None, f"`A @ A.T + 1e-6 * torch.eye(n)`, or give `scale_tril`; {text}")
    return Said((fact,), None, f"scales are positive: `F.softplus(raw) + 1e-6`; {text}")


def _spread(seen: Seen) -> Said | None:
    for one in reversed(seen.tensors()):
        bad = bool(torch.isnan(one.value).any())
        if bad or bool((one.value < 0).any()):
            return Said((f"`{one.name}` {'holds NaN' if bad else f'goes down to {one.value.min().item():.4g}'}",), one)
    return None
