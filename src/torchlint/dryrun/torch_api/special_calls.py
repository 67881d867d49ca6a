"""Functions with a meaning of their own, by qualified name: torch.no_grad, torch.save, nn.Parameter, functools.partial, ..."""

from __future__ import annotations

from torchlint.catalogue.effects import NAMESPACES
from torchlint.dryrun.torch_api import apex
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Opaque,
    Partial,
    Ref,
    Seq,
    Tensor,
    boolean,
    real,
    union_of,
    with_parts,
)


def _context(kind: str, value=None):
    def make(run, name, args, kwargs, node):
        made = Instance(Ref(name), "context", run.site(node), args, kwargs)
        if name in ("torch.set_grad_enabled", "torch.inference_mode"):
            given = args[0] if args else kwargs.get("mode")
            known = boolean(given) if given is not None else (True if name == "torch.inference_mode" else None)
            grad = known if name == "torch.set_grad_enabled" or known is None else not known
            run.base_store.set(made, " value", grad)  # fixed as it is made: no branch can change it
            if name == "torch.set_grad_enabled":
                run.pending_grad = (grad, run.site(node))
        else:
            run.base_store.set(made, " value", value)
        run.base_store.set(made, " kind", kind)
        return made

    return make


def _partial(run, name, args, kwargs, node):
    if not args:
        return Opaque("partial", "call")
    return Partial(args[0], args[1:], kwargs)


def _parameter(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("data")
    wants = kwargs.get("requires_grad", args[1] if len(args) > 1 else None)
    shape, site = run.noted_shape(given), run.site(node)
    if wants is not None and boolean(wants) is not True:
        return run.with_shape(Tensor("", "made", site, NOTHING, NOTHING, given, {"param": True}), shape, site)
    traits = {"graph": True, "leaf": True, "param": True}
    return run.with_shape(Tensor("", "made", site, NOTHING, NOTHING, given, traits, {"leaf": site}), shape, site)


def _buffer(run, name, args, kwargs, node):
    """A tensor that the module it is assigned to registers: it asks for no gradient."""
    given = args[0] if args else kwargs.get("data")
    return Tensor("", "made", run.site(node), NOTHING, NOTHING, given, {"graph": False, "buffer": True})


def _variable(run, name, args, kwargs, node):
    wants = boolean(kwargs.get("requires_grad"))
    if not args:
        return Opaque("Variable", "call")
    if boolean(kwargs.get("volatile")):
        run.emit("volatile", args[0], node)  # the author's word that nothing learns from here
    if wants:
        return Tensor("", "made", run.site(node), NOTHING, NOTHING, args[0], {"graph": True, "leaf": True})
    return args[0]


def _random_split(run, name, args, kwargs, node):
    """As many parts of a dataset as there are lengths, of samples drawn once."""
    whole = args[0] if args else kwargs.get("dataset")
    lengths = run.items_of(args[1] if len(args) > 1 else kwargs.get("lengths", NONE))
    if whole is None or lengths is None:
        return run.unknown_call(name, args, kwargs, node)
    parts = [Instance(Ref("torch.utils.data.Subset"), "dataset", run.site(node), [whole], {}) for _ in lengths]
    return run.sequence("list", parts, node)


def _load(run, name, args, kwargs, node):
    return Opaque("load", "call", run.site(node), NOTHING, NOTHING, None, frozenset({"loaded"}))


def _save(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("obj")
    run.emit("save", given, node, args=args, kwargs=kwargs, items=run.items_now(given))
    return NONE


def _backward(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("tensors")
    values = [alt for alt in real(given)]
    items = [item for value in values if isinstance(value, Seq) for item in run.known_items(value)] or values
    flows = union_of(item.flows for item in items)
    parts = union_of(with_parts(item) for item in items)
    run.emit("backward", given, node, flows=flows, parts=parts, framework=None, kwargs=kwargs)
    return NONE


def _grad(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("outputs")
    flows = given.flows if given is not None else NOTHING
    run.emit("autograd.grad", given, node, flows=flows, parts=with_parts(given) if given is not None else NOTHING)
    return Opaque("grad", "call", run.site(node), flows, NOTHING)


def _ordered(run, name, args, kwargs, node):
    if args:
        given = real(args[0])
        inside = run.store.get(given[0], "{}") if len(given) == 1 and isinstance(given[0], Dict) else None
        if inside is not None:
            return run.mapping({**inside.known, **kwargs}, node, bool(inside.open))
        items = run.items_of(args[0])
        if items is not None:
            known = {}
            for pair in items:
                inner = run.items_of(pair)
                if inner is None or len(inner) != 2 or not isinstance(inner[0], Const):
                    return run.mapping({}, node, True)
                known[inner[0].value] = inner[1]
            return run.mapping(known, node)
        return run.mapping({}, node, True)
    return run.mapping(dict(kwargs), node)


def _compile(run, name, args, kwargs, node):
    return args[0] if args else Opaque("compile", "call", tags=frozenset({"decorator"}))


def _checkpoint(run, name, args, kwargs, node):
    if not args:
        return Opaque("checkpoint", "call")
    return run.each(real(args[0]), lambda alt: run.call_value(alt, args[1:], {}, node))


def _data_parallel(run, name, args, kwargs, node):
    """The function of that name: the module is called, with what is given as a tuple or alone, and its inputs are moved."""
    module, inputs = [*args, None, None][:2]
    module, inputs = kwargs.get("module", module), kwargs.get("inputs", inputs)
    if module is None or inputs is None:
        return run.unknown_call(name, args, kwargs, node)
    given = list(run.items_of(inputs) or (inputs,))

    def call(alt):
        if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
            return run.call_module(alt, given, {}, node, wrapped=True)
        return run.call_value(alt, given, {}, node)

    return run.each(real(module), call)


def _chain(run, name, args, kwargs, node):
    return Iter("generator", run.sequence("list", [run.element(arg) for arg in args], node, True), run.site(node), once=True) if not any(
        isinstance(alt, Iter) and alt.kind in ("parameters", "named_parameters") for arg in args for alt in real(arg)
    ) else Iter("filter", run.sequence("list", list(args), node), run.site(node), once=True)


def _export(run, name, args, kwargs, node):
    """A model is frozen as it stands. The older ONNX exporter puts it in evaluation mode itself."""
    model = args[0] if args else kwargs.get("model", kwargs.get("mod", kwargs.get("func")))
    itself = name == "torch.onnx.export" and ("training" in kwargs or "**" in kwargs or boolean(kwargs.get("dynamo")) is not True)
    for alt in real(model) if not itself else ():
        if isinstance(alt, (Instance, Opaque)):
            run.emit("export", alt, node, name=name, modes=run.modes_within(alt), mode_site=run.mode_site(alt))
    return run.unknown_call(name, args, kwargs, node)


def _spawn(run, name, args, kwargs, node):
    """torch.multiprocessing.spawn(fn, args): each process calls `fn(rank, *args)`."""
    given = args[1] if len(args) > 1 else kwargs.get("args")
    items = run.items_of(given) if given is not None else ()
    for target in real(args[0] if args else kwargs.get("fn")):
        if isinstance(target, Func):
            rank = Opaque("rank", "param", run.site(node))
            run.call_value(target, [rank, *(items or ())], {} if items is not None else {"*": given}, node)
            return NONE
    return run.unknown_call(name, args, kwargs, node)


def _sync_batchnorm(run, name, args, kwargs, node):
    return args[0] if args else Opaque("", "call")


def _namespace(run, name, args, kwargs, node):
    """`SimpleNamespace(model=model, ...)`: an object that has its keywords as attributes, and nothing else."""
    if args or not kwargs or kwargs.keys() & {"*", "**"}:
        return run.unknown_call(name, args, kwargs, node)
    made = Instance(Ref(name), "instance", run.site(node), args, kwargs)
    for key, value in kwargs.items():
        run.store.set(made, key, value)
    return made


SPECIAL = {
    "torch.no_grad": _context("grad", False),
    "torch.inference_mode": _context("grad", False),
    "torch.enable_grad": _context("grad", True),
    "torch.set_grad_enabled": _context("grad"),
    "torch.amp.autocast": _context("autocast"),
    "torch.autograd.set_detect_anomaly": _context("other"),
    "torch.autograd.detect_anomaly": _context("other"),
    "torch.profiler.profile": _context("other"),
    "torch.profiler.record_function": _context("other"),
    "torch.autograd.profiler.profile": _context("other"),
    "torch.autograd.profiler.record_function": _context("other"),
    "contextlib.nullcontext": _context("other"),
    "contextlib.ExitStack": _context("exitstack"),
    "contextlib.suppress": _context("other"),
    "functools.partial": _partial,
    "torch.nn.Parameter": _parameter,
    "torch.nn.Buffer": _buffer,
    "torch.autograd.Variable": _variable,
    "torch.load": _load,
    "torch.utils.data.random_split": _random_split,
    "torch.save": _save,
    "torch.autograd.backward": _backward,
    "torch.autograd.grad": _grad,
    "apex.amp.initialize": apex.initialize,
    "apex.amp.scale_loss": apex.scale_loss,
    "deepspeed.initialize": lambda run, name, args, kwargs, node: run.deepspeed_initialize(args, kwargs, node),
    "collections.OrderedDict": _ordered,
    "torch.compile": _compile,
    "torch.jit.script": _compile,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.nn.parallel.data_parallel": _data_parallel,
    "torch.multiprocessing.spawn": _spawn,
    "torch.multiprocessing.spawn.spawn": _spawn,
    "torch.jit.trace": _export,
    "torch.onnx.export": _export,
    "torch.export.export": _export,
    "itertools.chain": _chain,
    **dict.fromkeys(NAMESPACES, _namespace),
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": _sync_batchnorm,
}
