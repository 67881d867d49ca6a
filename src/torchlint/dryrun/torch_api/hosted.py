"""What Accelerate, Fabric, PEFT, transformers' trainers and datasets do with what they are given, by the tables of
`catalogue/protocols.py`."""

from __future__ import annotations

import re

from torchlint.catalogue import protocols
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Class,
    Const,
    Instance,
    Opaque,
    Ref,
    Value,
    boolean,
    real,
    union_of,
)

ADAPTED = "peft.PeftModel"  # a model around another one that it has put adapters into
_GIVES_BASE = frozenset({"merge_and_unload", "unload", "get_base_model"})
_SAYS = frozenset({"print_trainable_parameters", "save_pretrained", "get_nb_trainable_parameters", "set_adapter"})
_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})


class Hosted:
    """The part of a run that knows hosted training. See `interpreter.Run` for the state it works on."""

    # -- Accelerate and Fabric ---------------------------------------------------------------------------------------

    def accelerator_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """A method of accelerate.Accelerator or of Lightning's Fabric."""
        first = args[0] if args else None
        does = protocols.DRIVER_METHODS.get(name, "")
        if does == "backward":
            loss = first if first is not None else kwargs.get("loss", kwargs.get("tensor"))
            self.sent_backward(loss, owner, kwargs, node)
            return NONE
        if does == "same":
            return self.prepared(owner, args, kwargs, node)
        if does == "clip" and name in _CLIPS and first is not None:
            return self.utility("torch.nn.utils." + name, name, args, kwargs, node, by=owner)
        if does == "clip" and first is not None:
            limit = kwargs.get("max_norm", kwargs.get("clip_val"))
            held = self.holds.get(id(args[1])) if len(args) > 1 else None
            modules, tensors, complete = held or ((first,), (), False)
            self.emit("clip", first, node, modules=modules, tensors=tensors, complete=complete, limit=limit, name=name, by=owner)
            return NONE
        if does == "first" and first is not None:
            return first
        if does in ("context", "accumulate"):
            made = Instance(Ref("framework.context"), "context", self.site(node), args, kwargs)
            kind = "hosted autocast" if name == "autocast" and not args and not kwargs else "other"
            self.base_store.set(made, " kind", "accumulate" if does == "accumulate" else kind)
            return made
        if does == "gather":
            self.emit("gather", owner, node, name=name, args=args)
        if does == "state":
            self.emit("state", owner, node, name=name, args=args)
        if does == "write" and first is not None:
            self.emit("save", first, node, args=args, kwargs=kwargs, items=self.items_now(first))
            return NONE
        if does == "weights" and first is not None:
            return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, first, frozenset({"state_dict"}))
        if does in ("apart", "state"):
            return Opaque(name, "call", self.site(node), union_of(arg.flows for arg in args))
        return self.unknown_call(name, args, kwargs, node, owner)

    def prepared(self, owner: Value, args, kwargs, node) -> Value:
        """What `prepare` and `setup` give back: the same objects, models and batches on a device of their choice."""
        if not args or "*" in kwargs:
            self.emit("prepare", owner, node, args=args, unseen=True)
            return self.unknown_call("prepare", args, kwargs, node)
        self.emit("prepare", owner, node, args=args)
        for value in args:
            for alt in real(value):
                if isinstance(alt, Instance):
                    self.store.set(alt, " device", NONE)
                    self.base_store.set(alt, " prepared", TRUE)
                    if alt.kind == "loader":
                        self.escaped.add(id(alt))
                        self.keep.append(alt)
        return args[0] if len(args) == 1 else self.sequence("tuple", list(args), node)

    # -- what is made of a model -------------------------------------------------------------------------------------

    def hosted_call(self, name: str, args, kwargs, node) -> Value | None:
        """What a function or class of the tables gives; None where they say nothing, or a model that stands by itself."""
        made = protocols.made_by(name)
        if made is not None and made.gives == "same" and args:
            return args[0]
        if made is not None and made.gives == "adapted":
            return self.adapted(name, made, args, kwargs, node)
        kind = _kind(name)
        if not kind:
            return None
        result = self.unknown_call(name, args, kwargs, node)
        if kind == "table":
            self.tag(result, "table")
            return result
        thing = Instance(Ref(name), kind, self.site(node), args, kwargs)
        self.made_here(thing)
        if kind == "trainer":
            self.created_trainer(thing, node)
        return thing

    def created_trainer(self, trainer: Instance, node) -> None:
        """A trainer of a library, or of a class of the project that derives from it and is made as that is."""
        self.emit("trainer.create", trainer, node, given=_given(trainer))

    def adapted(self, name: str, made: protocols.Made, args, kwargs, node) -> Value:
        """A model whose parameters are frozen and that has new ones beside them."""
        base = args[0] if args else kwargs.get("model")
        if base is None:
            return self.unknown_call(name, args, kwargs, node)
        thing = Instance(Ref(ADAPTED), "wrapper", self.site(node), [base], {})
        self.made_here(thing)
        self.adopt(thing, base)
        trains = True if not made.trains else _said(made.trains, kwargs)
        if made.mode is None or trains:
            self.store.set(thing, self.MODE, TRUE)
        else:
            self.put_in_mode(thing, FALSE if trains is False else NONE, None)
        self.emit("adapt", base, node, made=thing, trains=trains, name=name)
        return thing

    def adapted_method(self, owner: Instance, name: str, args, kwargs, node) -> Value | None:
        """A method that an adapted model has beside those of a module; None if it has none of that name."""
        if name in _GIVES_BASE:
            return owner.args[0]
        if name in _SAYS:
            return Opaque(name, "call", self.site(node))
        return None

    def grown(self, owner: Value, name: str, args, kwargs, node) -> None:
        """A model gets new parameters, or a larger embedding in the place of its own."""
        self.emit("grow", owner, node, name=name, args=args)

    # -- trainers and tables -----------------------------------------------------------------------------------------

    def trainer_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        """A method of transformers' Trainer, or of one that derives from it: `train` and `evaluate` set the mode themselves."""
        model = _given(owner).get("model")
        if name in ("train", "evaluate", "predict"):
            self.emit(f"trainer.{'train' if name == 'train' else 'evaluate'}", owner, node, args=args, kwargs=kwargs)
            for alt in real(model):
                if isinstance(alt, (Instance, Opaque)):
                    if name == "train":
                        self.emit("module.mode", alt, node)
                    self.put_in_mode(alt, NONE, None)
        return self.unknown_call(name, args, kwargs, node, owner)

    def setting(self, settings: Value | None, name: str) -> Value | None:
        """The value of a setting of TrainingArguments, as it is given or by default; None where it is not known."""
        known = protocols.SETTINGS.get(name)
        alts = real(settings)
        alt = alts[0] if len(alts) == 1 else None
        if known is None or not isinstance(alt, Instance) or alt.kind != "settings":
            return None
        for word in (name, *known.before):
            if word in alt.kwargs:
                return alt.kwargs[word]
        own = canonical(alt.type).startswith("trl.") and name in protocols.TRL_SETS
        return None if own or "**" in alt.kwargs or "*" in alt.kwargs else Const(known.default)

    def table_method(self, owner: Opaque, name: str, args, kwargs, node) -> Value | None:
        """A method of a table of datasets; None if it has none of that name."""
        if name in protocols.FORMATS:
            self.emit("table.format", owner, node, name=name, args=args, kwargs=kwargs)
            self.unknown_call(name, args, kwargs, node, owner)
            return NONE
        if name not in protocols.TABLE_METHODS:
            return None
        if name == "map":
            batched = boolean(kwargs.get("batched", FALSE)) if "**" not in kwargs else None
            self.emit("table.map", owner, node, function=args[0] if args else kwargs.get("function"), batched=batched)
        self.unknown_call(name, args, kwargs, node, owner)
        return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"table"}))


def is_table(value: Value) -> bool:
    """Whether a value is a table of datasets, or read out of several: `data` of `data["train"]`."""
    while isinstance(value, Opaque):
        if "table" in value.tags:
            return True
        if value.source != "item" or value.origin is None:
            return False
        value = value.origin
    return False


def is_accelerator(value: Value | None) -> bool:
    """Whether a value is an Accelerator or Fabric, for all that is known of it."""
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Instance) and alt.kind == "accelerator"
        or isinstance(alt, Opaque) and bool(protocols.DRIVER_NAME.search(alt.name)) for alt in alts
    )


def _kind(name: str) -> str:
    if not _HOSTS.match(name):
        return ""
    if protocols.TRAINER.match(name):
        return "trainer"
    if protocols.SETTINGS_CLASS.match(name):
        return "settings"
    if protocols.collator(name):
        return "collator"
    return "table" if protocols.TABLES.match(name) else ""


_HOSTS = re.compile("transformers|trl|sentence_transformers|datasets")


def _said(name: str, kwargs) -> bool | None:
    """Whether an argument is given as true; None where that is not known."""
    if name in kwargs:
        return boolean(kwargs[name])
    return None if "**" in kwargs else False


def _given(trainer: Instance) -> dict[str, Value]:
    """What a trainer is given, by the name of the argument."""
    if isinstance(trainer.cls, Class):
        if trainer.cls.method("__init__") is not None:
            return {}
        name = next((base for base in trainer.cls.externals() if protocols.TRAINER.match(base)), "")
    else:
        name = canonical(trainer.type)
    last = name.rpartition(".")[2]
    names = protocols.TRAINER_ARGUMENTS.get(last, protocols.TRAINER_ARGUMENTS[""])
    return {**dict(zip(names, trainer.args)), **trainer.kwargs}
