"""Modules that are built or called wrongly: no super().__init__(), no forward, classes for objects, names that are not there."""

from __future__ import annotations

import difflib
from typing import Any

from torch import nn

from torchsan.errors.family import Family, Said, Seen
from torchsan.errors.operands import modules_on
from torchsan.own import re, torch
from torchsan.program.source import users_class

_MISSPELT = re.compile(r"_{0,3}(init|int|inti|inint|nit)_{0,3}")


def misspelt_init(cls: Any) -> str | None:
    """A method of the user's class that was to be `__init__`: "__int__"."""
    while cls is not None and issubclass(cls, nn.Module) and not cls.__module__.startswith("torch."):
        if "__init__" not in vars(cls):
            found = next(
                (name for name, value in vars(cls).items() if callable(value) and _MISSPELT.fullmatch(name)), None
            )
            if found is not None:
                return f"{cls.__name__}.{found}"
        cls = cls.__base__
    return None


def plain_lists(module: nn.Module) -> list[tuple[str, str]]:
    """Attributes of plain Python that hold modules or parameters, which nn.Module does not see there: (name, kind)."""
    found = []
    for path, part in module.named_modules():
        for key, value in vars(part).items():
            if key in ("_modules", "_parameters", "_buffers") or not isinstance(value, (list, tuple, dict)):
                continue
            items = list(value.values()) if isinstance(value, dict) else list(value)
            if items and all(isinstance(item, (nn.Module, nn.Parameter)) for item in items):
                found.append((f"{path}.{key}" if path else key, type(value).__name__))
    return found


def _attribute(seen: Seen) -> Said | None:
    """A name that a module does not have: the nearest that it has, or why it has none."""
    owner = seen.given("self")
    wanted = seen.match["name"]
    if not isinstance(owner, nn.Module):
        return None
    cls = type(owner).__name__
    if wanted in ("_parameters", "_modules", "_buffers", "_backward_hooks", "_forward_hooks", "training"):
        return Said(
            (f"`{cls}.__init__` has not called `super().__init__()`",),
            None,
            "call `super().__init__()` first in `__init__`",
            "nn.Module was never set up",
        )
    made = misspelt_init(type(owner))
    if made is not None:
        return Said(
            (f"`{made}` is never called",),
            None,
            f"rename `{made}` to `__init__`",
            "the method that builds the model is misspelt",
        )
    known = [
        name
        for name in {*owner.__dict__, *owner._modules, *owner._parameters, *owner._buffers, *dir(type(owner))}
        if name[:1] != "_"
    ]
    near = difflib.get_close_matches(wanted, known, 1, 0.6)
    children = ", ".join(list(owner._modules)[:6])
    facts = (f"`{cls}` has {f'the layers {children}' if children else 'no layers'}",)
    if wanted == "dim" and isinstance(owner, nn.Module):
        return Said(
            (f"a {cls} layer was given, and a tensor is wanted",),
            None,
            "give it the layer's `.weight`: `nn.init.xavier_uniform_(layer.weight)`",
        )
    if near:
        return Said(facts, None, f"`{near[0]}` is the nearest name that it has")
    if wanted == "module":
        return Said(facts, None, 'only a wrapped model has `.module`: `getattr(model, "module", model)`')
    return Said(facts)


def _no_tensor(seen: Seen) -> Said | None:
    """Something that is no tensor goes into a layer or function: what it is, and what of it was meant."""
    given = seen.match["type"]
    value: Any = seen.given(seen.match["arg"])
    if value is None:
        value = next(
            (
                one.value
                for one in seen.arguments()
                if one.value is not None and type(one.value).__name__ == given.split(".")[-1]
            ),
            None,
        )
    name = next((one.text for one in seen.arguments() if one.value is value and value is not None), None)
    own = f"`{name}`" if name else "it"
    name = name or "value"
    short = given.split(".")[-1]
    fact = (f"{own} is of type {given}",)
    if "return_types" in given:
        return Said(
            fact,
            None,
            f"`{short}` with a dimension gives values and indices: take `.values`, or write `values, indices = ...`",
        )
    if (
        short in ("tuple", "list")
        and isinstance(value, (tuple, list))
        and any(isinstance(item, torch.Tensor) for item in value)
    ):
        if (
            isinstance(value, tuple)
            and len(value) == 2
            and (isinstance(value[1], tuple) or short == "tuple" and _after_rnn(seen))
        ):
            return Said(
                fact,
                None,
                "LSTM and GRU give `output, state`: take the output, `x, _ = lstm(x)`; in an nn.Sequential, "
                "through a small module "
                "of its own",
            )
        held = ", ".join(
            str(list(item.shape)) if isinstance(item, torch.Tensor) else type(item).__name__ for item in value[:4]
        )
        return Said(
            (f"{own} is a {short} of {held}",),
            None,
            "take the tensor out of it, `x[0]`, or join them: `torch.stack(x)`, `torch.cat(x)`",
        )
    if short == "tuple" and _after_rnn(seen):
        return Said(fact, None, "LSTM and GRU give `output, state`: take the output, `x, _ = lstm(x)`")
    if short in ("list", "tuple", "ndarray"):
        return Said(fact, None, f"`torch.as_tensor({name}, dtype=torch.float32)`")
    if short in ("float", "int", "bool"):
        function = seen.match["call"]
        return Said(
            fact, None, f"for a number use Python's `math.{function}`, or make it a tensor, `torch.tensor({name})`"
        )
    if short == "NoneType":
        return Said(fact, None, "what should have made it returns nothing: look for a missing `return`")
    if isinstance(value, dict) or short in ("dict", "BatchEncoding"):
        return Said(fact, None, "take the tensor out of it, or hand its items on by name: `model(**batch)`")
    return Said(fact)


def _after_rnn(seen: Seen) -> bool:
    for module in modules_on(seen.way):
        if isinstance(module, nn.Sequential):
            return any(isinstance(part, nn.RNNBase) for part in module)
    return any(isinstance(part, nn.RNNBase) for module in modules_on(seen.way)[:1] for part in module.modules())


def _child(seen: Seen) -> Said | None:
    given = seen.match["given"]
    if given in ("list", "tuple", "generator"):
        return Said((f"a {given} was given",), None, "unpack it: `nn.Sequential(*layers)`")
    if given.startswith("torch.nn.functional."):
        return Said((f"`{given}` is a function",), None, f"take the layer: `nn.{_layer_of(given)}()`")
    last = given.rpartition(".")[2]
    if last[:1].isupper():
        return Said((f"`{last}` is the class and not a layer",), None, f"call it: `{last}()`")
    return Said((f"`{given}` was given",))


def _layer_of(function: str) -> str:
    known = {
        "relu": "ReLU",
        "leaky_relu": "LeakyReLU",
        "gelu": "GELU",
        "softmax": "Softmax",
        "sigmoid": "Sigmoid",
        "tanh": "Tanh",
        "elu": "ELU",
        "dropout": "Dropout",
        "silu": "SiLU",
        "max_pool2d": "MaxPool2d",
        "log_softmax": "LogSoftmax",
    }
    name = function.rpartition(".")[2]
    return known.get(name, name.title())


def _call(seen: Seen) -> Said | None:
    """forward is called with other arguments than it has."""
    said = seen.match["signature"]
    if ".forward" not in said:
        return None
    cls = said.rpartition(".forward")[0].rpartition(".")[2]
    losses = {"MSELoss", "CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss", "L1Loss", "NLLLoss"}
    if cls in losses:
        return Said((), None, f"make it, then call it: `nn.{cls}()(output, target)`")
    if cls == "Sequential":
        return Said((), None, "nn.Sequential takes one input: write a module whose `forward` takes several")
    if "takes 1 positional argument but 2 were given" in seen.text:
        return Said(
            (),
            None,
            "write `def forward(self, x):`; where `self` is there, make the model first: `Net()(x)` and not `Net(x)`",
        )
    return Said()


FAMILIES = (
    Family("no-super-init", r"cannot assign (?P<what>module|parameters|parameter|buffers|buffer) before "
           r"Module\.__init__\(\) call", "nn.Module is not set up yet", "call `super().__init__()` first in `__init__`",
           fact="it assigns {what} before that"),
    Family("no-forward", r"Module \[(?P<cls>\w+)\] is missing the required \"forward\" function",
           "the module that is called has no `forward`", "define `def forward(self, x):` in it, on the level of "
           "`__init__`; of a ModuleList, call the layers one by one", look=lambda seen: _forward(seen)),
    Family("unknown-attribute", r"'(?P<cls>\w+)' object has no attribute '(?P<name>\w+)'", "a module has nothing of "
           "that name", "look at how `__init__` spells it", fact="`{cls}` has no `{name}`", look=_attribute,
           inside=r"modules/module\.py:__getattr__$", kinds=(AttributeError,)),
    Family("wrong-arguments-of-forward", r"(?P<signature>[\w.<>]*forward)\(\) (?P<said>takes \d+ positional "
           r"arguments? but \d+ (was|were) given|takes from .*|missing \d+ required .*|got an unexpected keyword "
           r"argument .*|got multiple values for argument .*)", "a module is called with other arguments than its "
           "`forward` has", "compare the call with `def forward(self, ...)`", fact="{signature}() {said}", look=_call,
           inside=r"modules/module\.py:_call_impl$", kinds=(TypeError,)),
    Family("is-no-layer", r"(?P<given>[\w.]+) is not a Module subclass", "something that is no layer stands among "
           "layers", "give layers: `nn.ReLU()`", look=_child),
    Family("index-of-a-container", r"^index (?P<at>-?\d+) is out of range$", "a container has fewer layers",
           "count from 0", inside=r"modules/container\.py:", look=lambda seen: _length(seen)),
    Family("name-with-a-dot", r"(?P<what>module|parameter|buffer) name can\\?'t contain \"\.\"(, got: (?P<name>\S+))?",
           "a name inside of a module has a dot", "use `_`: dots part the names of a state dict"),
    Family("name-taken", r"attribute '(?P<name>\w+)' already exists", "a module has an attribute of that name already",
           "choose another name; in an nn.ModuleDict, no name of a method such as `keys` or `type`",
           fact="`{name}` is there"),
    Family("parameter-expected", r"cannot assign '(?P<given>[\w.]+)' (object to|as) parameter '(?P<name>\w+)'",
           "a parameter can only be replaced by a parameter", "`nn.Parameter(value)`; to change its values, `with "
           "torch.no_grad(): layer.{name}.copy_(value)`"),
    Family("buffer-expected", r"cannot assign '(?P<given>[\w.]+)' (object to|as) buffer '(?P<name>\w+)'",
           "a buffer takes a tensor", "`torch.tensor(value)`"),
    Family("module-expected", r"cannot assign '(?P<given>[\w.]+)' as child module '(?P<name>\w+)'",
           "a layer can only be replaced by a layer", "use another name for it, or `nn.Identity()` to take the layer "
           "out"),
    Family("layer-sizes", r"empty\(\): argument 'size' \(position 1\) must be tuple of ints, but found element of "
           r"type (?P<type>\w+) at pos (?P<at>\d+)", "a layer is made with a size that is no whole number",
           "`//` instead of `/` where it is computed, or `int(size)`", fact="it is of type {type}",
           inside=r"torch/nn/modules/"),
    Family("no-such-entry", r"^'(?P<name>\w+)'$", "an nn.ModuleDict has no layer of that name",
           "look at what it was made with", fact="`{name}`", look=lambda seen: _entries(seen),
           inside=r"modules/container\.py:__getitem__$", kinds=(KeyError,)),
    Family("train-mode", r"training mode is expected to be boolean", "`train()` takes True or False",
           "`model.train()`, and `model.eval()` to evaluate"),
    Family("no-submodule", r"(?P<cls>\w+) has no attribute `(?P<name>\w+)`", "there is no layer of that name",
           "`dict(model.named_modules())` lists them", inside=r"modules/module\.py:get_\w+$"),
    Family("fan-of-a-vector", r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
           "Xavier and Kaiming initialise matrices, not biases", "`if p.dim() > 1:` before it; biases with "
           "`nn.init.zeros_`", look=lambda seen: _vector(seen)),
    Family("no-tensor-to-layer", r"(?P<call>\w+)\(\): argument '(?P<arg>\w+)' \(position \d+\) must be Tensor, not "
           r"(?P<type>[\w.]+)", "a function of torch is given something that is no tensor",
           "make it a tensor: `torch.as_tensor(x)`", look=_no_tensor),
    Family("hook-is-no-function", r"'(?P<type>\w+)' object is not callable", "a hook or function was set that cannot "
           "be called", "give the function itself, `register_forward_hook(function)`, and not what it returns",
           fact="it is of type {type}", inside=r"modules/module\.py:(inner|_call_impl)$"),
    Family("parametrised", r"does not have a parametrization on (?P<name>\w+)", "the layer has no such parametrisation",
           "register it first"),
)


def _forward(seen: Seen) -> Said | None:
    owner = seen.given("self")
    if not isinstance(owner, nn.Module):
        return None
    if isinstance(owner, (nn.ModuleList, nn.ModuleDict)):
        return Said(
            (), None, f"an nn.{type(owner).__name__} only holds layers: call them one by one, or take nn.Sequential"
        )
    cls = users_class(owner)
    near = (
        difflib.get_close_matches("forward", [name for name in vars(cls or object) if name != "forward"], 1, 0.6)
        if cls
        else []
    )
    if near:
        return Said((f"`{type(owner).__name__}` has `{near[0]}`",), None, f"rename `{near[0]}` to `forward`")
    return Said(
        (),
        None,
        f"define `def forward(self, x):` in `{type(owner).__name__}`; look whether it is indented into `__init__`",
    )


def _length(seen: Seen) -> Said | None:
    owner = seen.given("self")
    return (
        Said((f"it has {len(owner)} layer{'s' * (len(owner) != 1)}, 0 to {len(owner) - 1}",))
        if isinstance(owner, (nn.Sequential, nn.ModuleList))
        else None
    )


def _vector(seen: Seen) -> Said | None:
    value = seen.given("tensor")
    if not isinstance(value, torch.Tensor):
        return None
    return Said((f"the tensor is {list(value.shape)}",), seen.operand(value))


def _entries(seen: Seen) -> Said | None:
    owner = seen.given("self")
    if not isinstance(owner, nn.ModuleDict):
        return None
    return Said((f"there is no `{seen.match['name']}`: it has {', '.join(f'`{key}`' for key in list(owner)[:6])}",))
