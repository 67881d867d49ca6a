"""The events and traits of a training run, named once for the rule pages, the dry run and the live probes."""

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
    "loader.iterate": "a pass over a loader starts",
    "loader.batch": "a loader gives a batch",
    "loader.end": "a pass over a loader is complete",
    "sampler.set_epoch": "a distributed sampler is told the epoch",
    "save": "something is written to disk",
    "load": "state is loaded into a module or an optimizer",
    "module.add": "a module becomes part of another",
    "parameter.create": "a module gets a parameter while another one's forward runs",
    "error": "an exception leaves the program",
}

TRAITS = {
    "probabilities": "rows that sum to one: the output of softmax",
    "log-probabilities": "the logarithm of probabilities: the output of log_softmax",
    "sigmoid": "values in (0, 1): the output of sigmoid",
    "graph": "carries an autograd graph",
    "leaf": "a leaf that requires grad",
    "transposed": "strides out of order: transpose, permute, T",
    "expanded": "several elements share memory: expand",
}
