"""The events and traits of a training run, named once for the rule pages, the dry run and the live probes."""

import re

EVENTS = {
    "forward": "a module is called; `training` and `grad` tell the modes it ran under",
    "backward": "gradients are accumulated: Tensor.backward, torch.autograd.backward, or a framework's own call",
    "autograd.grad": "gradients are computed and returned, none is accumulated",
    "loss": "a loss function is called",
    "optimizer.create": "an optimizer is built over parameters",
    "optimizer.step": "parameters are updated",
    "optimizer.zero_grad": "gradients are cleared: by the optimizer, the module, or by hand",
    "scheduler.create": "a learning-rate scheduler is built for an optimizer",
    "scheduler.step": "the learning rate moves on",
    "scaler.scale": "a loss is scaled by a GradScaler",
    "scaler.unscale": "gradients are unscaled",
    "scaler.step": "an optimizer steps through a GradScaler",
    "scaler.update": "the loss scale moves on",
    "clip": "gradients are clipped",
    "module.train": "a module is put in training mode",
    "module.eval": "a module is put in evaluation mode",
    "loader.create": "a DataLoader is built",
    "loader.fetch": "a batch is made of samples of a data set",
    "loader.iterate": "a pass over a loader starts",
    "loader.batch": "a loader gives a batch",
    "loader.end": "a pass over a loader is complete",
    "cache.empty": "the memory allocator's cache is emptied",
    "sampler.set_epoch": "a distributed sampler is told the epoch",
    "save": "something is written to disk",
    "transfer": "something is sent to one other process, or received",
    "collective": "the processes of a group exchange something: all come to it, or those that do wait",
    "module.move": "a module's parameters go to another device or dtype",
    "state.take": "a module's state_dict is taken",
    "load": "state is loaded into a module or an optimizer",
    "module.add": "a module becomes part of another",
    "module.end": "the program has let go of a model",
    "module.flag": "`requires_grad` is set on a module",
    "parameter.create": "a module gets a parameter while another one's forward runs",
    "error": "an exception leaves the program",
}

TRAITS = {
    "probabilities": "rows that sum to one: the output of softmax",
    "log-probabilities": "the logarithm of probabilities: the output of log_softmax",
    "sigmoid": "values in (0, 1): the output of sigmoid",
}

# Pitfall 521. What nn.Module and the tools around it call on every module, and on the modules in it.
OF_EVERY_MODULE = frozenset(
    "train eval apply children modules named_children named_modules parameters named_parameters buffers state_dict "
    "load_state_dict zero_grad requires_grad_ to cuda cpu forward".split()
)
# A function that is called so evaluates.
NAMED_AS_EVALUATION = re.compile(
    r"(?:^|_)(?:test|eval|evaluate|evaluation|valid|validate|validation|val|predict|prediction|infer|inference)(?:$|_)", re.IGNORECASE
)
# Those that are called with nothing in the brackets, by nn.Module itself, by optimizers and by every training loop.
CALLED_WITH_NOTHING = frozenset(
    "eval children modules named_children named_modules parameters named_parameters zero_grad state_dict".split()
)
WHO_CALLS = {
    "train": "`eval()`, and `train()` of every module around it, call it with True or False",
    "eval": "`eval()` of any evaluation loop calls it with nothing",
    "apply": "`apply(fn)` of every module around it calls it",
    "children": "`train()`, `eval()` and `to()` of every module around it call it",
    "named_children": "`children()`, and with it `train()` and `eval()`, call it",
    "parameters": "the optimizer, `zero_grad()` and `requires_grad_()` call it",
    "named_parameters": "`parameters()` calls it",
    "forward": "calling the module calls it",
}
NAMES_OF_MODES = r"(?i)mode|train|flag|enable|^on$|^t$|^is_"  # what `train` calls its argument, as a pattern
