"""apex.amp: models and optimizers come back as they were given, and a loss goes backward multiplied by a number."""

from __future__ import annotations

from torchlint.dryrun.values import Instance, Ref


def initialize(run, name, args, kwargs, node):
    """`model, optimizer = amp.initialize(model, optimizer, opt_level="O1")`: it changes both in place and gives them back
    (https://nvidia.github.io/apex/amp.html#apex.amp.initialize)."""
    models = args[0] if args else kwargs.get("models")
    optimizers = args[1] if len(args) > 1 else kwargs.get("optimizers")
    if models is None or kwargs.keys() & {"*", "**"}:
        return run.unknown_call(name, args, kwargs, node)
    return models if optimizers is None else run.sequence("tuple", [models, optimizers], node)


def scale_loss(run, name, args, kwargs, node):
    """`with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`: what goes backward is the loss, larger."""
    made = Instance(Ref(name), "context", run.site(node), args, kwargs)
    run.base_store.set(made, " kind", "other")
    loss = args[0] if args else kwargs.get("loss")
    if loss is not None:
        run.base_store.set(made, " binds", loss)
    return made
