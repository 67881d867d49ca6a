"""981: a checkpoint of the state before the first step is written over the one that a run goes on from."""

INTERFACE = 1  # of torchlint.matching, which says what can be asked of a view
CALLS = {"torch.save"}  # the names whose calls become events


def check(view):
    for save in view.calls("torch.save"):
        for loss in view.events("backward"):
            # The gradients are computed, the file is written, and only then the step is taken: on every path.
            saved = view.ahead(loss, "call", "optimizer.step", "unknown")
            if saved.ends or not saved.events or not all(event == save for event in saved.events):
                continue
            step = view.ahead(save, "optimizer.step", "backward", "unknown")
            if not step.ends and step.events and all(event.kind == "optimizer.step" for event in step.events):
                optimizer = step.events[0]
                yield view.finding(
                    save,
                    related=[(loss, "the gradients are computed here"), (optimizer, "and used only here")],
                    step=optimizer.text,
                )
                break
