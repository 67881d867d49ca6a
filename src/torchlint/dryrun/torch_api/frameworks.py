"""What Lightning, transformers and DeepSpeed do with the classes that are written for them: which methods they call, in which
mode, with or without gradients, and which half of a training step is theirs. The tables stand in `catalogue/protocols.py`.

- Lightning calls `training_step` for each batch in training mode; then, unless `automatic_optimization` is off, it
  clears the gradients, computes them and steps. Validation, test and prediction: evaluation mode, no gradients.
- transformers' `Trainer` calls `compute_loss` for each batch; backward, clipping, step and zero_grad are its own.
- Accelerate's `prepare` and Fabric's `setup` give back what they were given, wrapped: models on their device, loaders
  that share the data among processes and tell their sampler the epoch.
- DeepSpeed's engine is the model; `engine.step()` steps the optimizer and clears the gradients.
"""

from __future__ import annotations

import libcst as cst

from torchlint.catalogue.protocols import (
    CALLBACK,
    DATA_MODULE,
    LIGHTNING,
    LIGHTNING_HOOKS,
    LIGHTNING_METHODS,
    TRAINER,
    TRAINER_HOOKS,
    Hook,
)
from torchlint.dryrun.torch_api.hosted import ADAPTED, Hosted
from torchlint.dryrun.values import (
    FALSE,
    NONE,
    TRUE,
    Class,
    Dict,
    Func,
    Instance,
    Opaque,
    Ref,
    Seq,
    Value,
    boolean,
    real,
    union_of,
)

ENGINE = "deepspeed.DeepSpeedEngine"


def hook_of(cls: Value, name: str) -> Hook | None:
    """How the framework that a class is written for calls one of its methods; None where that is not known."""
    if not isinstance(cls, Class):
        return None
    bases = cls.externals()
    if LIGHTNING in bases:
        return LIGHTNING_HOOKS.get(name)
    if DATA_MODULE in bases:
        return LIGHTNING_HOOKS[name] if name == "train_dataloader" else None
    if any(CALLBACK.match(base) for base in bases):
        hook = LIGHTNING_HOOKS.get(name)
        return hook._replace(model="pl_module") if hook is not None and name.startswith("on_") else None
    if any(TRAINER.match(base) for base in bases):
        return TRAINER_HOOKS.get(name)
    return None


def inherited_hooks(cls: Value) -> list[str]:
    """Methods that a framework calls for each batch, written in a base class of the project."""
    names = ("training_step",)
    found = [name for name in names if hook_of(cls, name) and name not in cls.cf.methods and cls.method(name)]
    forward = cls.method("forward")
    if forward is not None and forward[0] is not cls and "torch.nn.Module" in cls.externals() and not forward[0].externals():
        found.append("forward")  # of a class that is mixed in: by itself it is of no module
    return found


class Frameworks(Hosted):
    """The part of a run that knows these protocols. See `interpreter.Run` for the state it works on."""

    # -- methods that a framework calls -----------------------------------------------------------------------------

    def run_method(self, func: Func, instance: Instance) -> None:
        """Runs a method that nothing seen calls, as the framework that its class is written for calls it."""
        hook = hook_of(instance.cls, func.name)
        if hook is None:
            self.run_turns(func, instance)
        else:
            self.run_hook(hook, func, instance)

    def run_hook(self, hook: Hook, func: Func, instance: Instance) -> None:
        """Runs a method as its framework does."""
        given: dict[str, Value] = {"**": NONE}
        model: Value = instance
        definition, parsed = self.definition(func)
        if definition is None:
            return
        if hook.model and hook.model in func.unit.params:
            model = given[hook.model] = Opaque(hook.model, "param", None, tags=frozenset({"module"}))
        if hook.mode is not None:
            self.put_in_mode(model, TRUE if hook.mode else FALSE, None)
        if hook.grad is not None:
            self.store.set(self.graph_key, "grad", (hook.grad, None))
        by_hand = hook.result == "loss" and self.by_hand(instance)
        if by_hand:
            self.configured(instance, silently=False)

        def once() -> None:
            value = self.run_given(func, instance, given)
            if hook.result == "loss" and not by_hand and not self.graph.dead:
                self.train_on(value, instance, func)

        self.parsed = parsed
        if hook.loop:
            self.run_loop("hook", definition.name, None, once)
        elif hook.result == "data":
            self.train_over(self.run_given(func, instance, given), func)
        else:
            once()

    def run_given(self, func: Func, instance: Instance, given: dict[str, Value]) -> Value:
        """Runs a method with those of its arguments that are known."""
        static = "staticmethod" in func.unit.decorators
        return self.inline(func, [] if static else [instance], given, None, None if static else instance)

    def by_hand(self, instance: Instance) -> bool:
        """Whether a LightningModule's author takes the training step, or may take it, in his own hands."""
        bases = instance.cls.externals()
        if LIGHTNING not in bases:
            return False
        name = "automatic_optimization"
        automatic = self.store.get(instance, name) or self.class_attribute(instance.cls, name)
        return automatic is not None and boolean(automatic) is not True

    def last_return(self, func: Func) -> cst.CSTNode:
        """The statement with which a function that was run gave its result; its name where it has none."""
        _, parsed = self.definition(func)
        for event in reversed(self.graph.events):
            if event.kind == "return" and event.site.parsed is parsed:
                return event.site.node
        return func.node.name

    def train_on(self, value: Value, instance: Instance, func: Func) -> None:
        """The rest of a training step on what a method returned: a loss, or a dict or tuple with one in it."""
        losses = []
        for alt in real(value):
            if isinstance(alt, Dict):
                items = self.store.get(alt, "{}")
                losses.extend(real(items.known.get("loss")) if items is not None else ())
            elif isinstance(alt, Seq):
                losses.extend(real((self.known_items(alt) or (None,))[0]))
            else:
                losses.append(alt)
        losses = [loss for loss in losses if isinstance(loss, Opaque) and loss.flows]
        if not losses:
            return
        _, self.parsed = self.definition(func)
        node = self.last_return(func)
        found = self.configured(instance)[0] if LIGHTNING in instance.cls.externals() else []
        optimizer = found[0] if len(found) == 1 else Opaque("optimizer", "attr", tags=frozenset({"optimizer"}))
        self.emit("optimizer.zero_grad", optimizer, node)
        for loss in losses:
            self.sent_backward(loss, instance, {}, node)
        # The method is the closure of this step: what it does comes before the step and is no part of its order.
        self.emit("optimizer.step", optimizer, node, closure=func)

    def sent_backward(self, loss: Value | None, framework: Value, kwargs: dict[str, Value], node) -> None:
        """A framework computes the gradients of a loss."""
        if loss is not None:
            parts = union_of((frozenset({loss}), loss.parts))
            self.emit("backward", loss, node, flows=loss.flows, parts=parts, framework=framework, kwargs=kwargs)

    def train_over(self, value: Value, func: Func) -> None:
        """Training goes through the loader that a method returned, epoch after epoch."""
        loaders = real(value)
        if len(loaders) != 1 or not isinstance(loaders[0], Instance) or loaders[0].kind != "loader" or self.graph.dead:
            return
        _, self.parsed = self.definition(func)
        node, loader = self.last_return(func), loaders[0]
        loader.name = loader.name or func.name

        def step() -> None:
            self.emit("optimizer.step", Opaque("optimizer", "attr", tags=frozenset({"optimizer"})), node, closure=func)

        def epoch() -> None:
            self.emit("sampler.set_epoch", loader, node)  # Lightning tells every sampler that can be told
            self.emit("loader.iterate", loader, node, over=loader)
            self.run_loop("hook", func.node.name, loader, step)

        self.run_loop("hook", func.node.name, None, epoch)

    def framework_method(self, owner: Instance, name: str, args, kwargs, node) -> Value | None:
        """A method that a module has from its framework; None if it has none of that name."""
        if isinstance(owner.cls, Class):
            known = LIGHTNING in owner.cls.externals()
            return self.lightning_method(owner, name, args, kwargs, node) if known else None
        if owner.cls.name == ADAPTED:
            return self.adapted_method(owner, name, args, kwargs, node)
        return self.engine_method(owner, name, args, kwargs, node) if owner.cls.name == ENGINE else None

    # -- Lightning ---------------------------------------------------------------------------------------------------

    def lightning_method(self, owner: Instance, name: str, args, kwargs, node) -> Value | None:
        """A method that LightningModule has; None if it has no such method."""
        first = args[0] if args else None
        if name == "manual_backward":
            loss = first if first is not None else kwargs.get("loss")
            self.sent_backward(loss, owner, kwargs, node)
            return NONE
        if name in ("optimizers", "lr_schedulers"):
            found = self.configured(owner)[name == "lr_schedulers"]
            if not found:
                return Opaque(name, "call", self.site(node))
            return found[0] if len(found) == 1 else self.sequence("list", found, node)
        if name == "clip_gradients":
            for optimizer in real(first):
                modules, tensors, complete = self.holds.get(id(optimizer), ((), (), False))
                limit = args[1] if len(args) > 1 else kwargs.get("gradient_clip_val")
                self.emit("clip", optimizer, node, modules=modules, tensors=tensors, complete=complete, limit=limit,
                          name=name)
            return NONE
        if name in ("freeze", "unfreeze"):
            self.freeze(owner, name == "freeze", node)
            return NONE
        if name in LIGHTNING_METHODS:
            for value in [*args, *kwargs.values()]:
                self.register(value)
            if name in ("log", "log_dict") and boolean(kwargs.get("sync_dist")):
                self.emit("logged", owner, node, name=name)
            return Opaque(name, "call", self.site(node))
        return None

    def freeze(self, owner: Value, frozen: bool, node) -> None:
        """LightningModule.freeze(): evaluation mode, and no parameter needs a gradient."""
        self.set_mode(owner, "eval" if frozen else "train", [], {}, node)
        self.store.set(owner, " frozen", TRUE if frozen else FALSE)

    def configured(self, instance: Instance, silently: bool = True) -> tuple[list[Value], list[Value]]:
        """The optimizers and schedulers that a LightningModule's configure_optimizers returns, as far as known."""
        found = self.store.get(instance, " configured")
        if found is None:
            have = instance.cls.method("configure_optimizers")
            found = Opaque("", "call")
            if have is not None and have[1] not in self.stack:
                func = Func("configure_optimizers", have[0].facts, have[1], have[0])
                if silently:
                    with self.silent():
                        self.frame = None
                        found = self.run_root_function(func, instance)
                else:
                    found = self.run_root_function(func, instance)
            self.base_store.set(instance, " configured", found)
            self.store.set(instance, " configured", found)
        optimizers: list[Value] = []
        schedulers: list[Value] = []
        self._sort(found, optimizers, schedulers, 0)
        return optimizers, schedulers

    def _sort(self, value: Value, optimizers: list[Value], schedulers: list[Value], depth: int) -> None:
        """Finds optimizers and schedulers in what configure_optimizers returned: one, lists of them, or dicts."""
        for alt in real(value) if depth < 5 else ():
            if isinstance(alt, Instance) and alt.kind in ("optimizer", "scheduler"):
                where = optimizers if alt.kind == "optimizer" else schedulers
                if alt not in where:
                    where.append(alt)
            elif isinstance(alt, (Seq, Dict)):
                for item in self.known_items(alt):
                    self._sort(item, optimizers, schedulers, depth + 1)

    # -- DeepSpeed ---------------------------------------------------------------------------------------------------

    def deepspeed_initialize(self, args, kwargs, node) -> Value:
        """deepspeed.initialize(...): the engine, the optimizer, a loader and a scheduler."""
        model = kwargs.get("model", args[1] if len(args) > 1 else None)
        optimizer = kwargs.get("optimizer", args[2] if len(args) > 2 else None)
        if model is None or "**" in kwargs:
            return self.unknown_call("deepspeed.initialize", args, kwargs, node)
        made = Instance(Ref(ENGINE), "wrapper", self.site(node), [model], {})
        self.made_here(made)
        self.store.set(made, self.MODE, TRUE)
        self.adopt(made, model)
        known = [alt for alt in real(optimizer) if isinstance(alt, Instance)]
        stepped: Value = known[0] if len(known) == 1 else Opaque("optimizer", "call", tags=frozenset({"optimizer"}))
        self.base_store.set(made, " optimizer", stepped)
        for alt in real(model):
            self.store.set(alt, " device", NONE)
        loader = Opaque("loader", "call", self.site(node))
        scheduler = kwargs.get("lr_scheduler", args[5] if len(args) > 5 else None)
        self.escaped.update(id(alt) for alt in real(scheduler))  # the engine steps it
        self.keep.extend(real(scheduler))
        scheduler = scheduler or Opaque("scheduler", "call", self.site(node))
        return self.sequence("tuple", [made, stepped, loader, scheduler], node)

    def engine_method(self, owner: Instance, name: str, args, kwargs, node) -> Value | None:
        """A method of a DeepSpeed engine; None for those that it has as a module."""
        optimizer = self.base_store.get(owner, " optimizer")
        if name == "backward":
            loss = args[0] if args else kwargs.get("loss")
            self.sent_backward(loss, owner, kwargs, node)
            return loss if loss is not None else NONE
        if name == "step":
            # When it steps, and what it clips and clears, stands in its configuration.
            self.emit("optimizer.step", optimizer, node, closure=None, engine=owner)
            self.emit("optimizer.zero_grad", optimizer, node)
            return NONE
        if name in ("save_checkpoint", "load_checkpoint", "save_16bit_model"):
            return self.unknown_call(name, args, kwargs, node, owner)
        return None
