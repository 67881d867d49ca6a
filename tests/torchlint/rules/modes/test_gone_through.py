"""202 of an evaluation that reads nothing of what the model gives: a calibration."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "kept under no name": """
def calibrate(model, loader):
    model.eval()
    for inputs, _ in loader:
        model(inputs)  # <- 202
""",
    "under a name that nothing reads": """
def calibrate(model, loader, device):
    model.to(device)
    model.eval()
    for inputs, labels in loader:
        _ = model(inputs.to(device))  # <- 202
""",
    "without gradients": """
def calibrate(model, loader):
    model.eval()
    with torch.no_grad():
        for inputs, _ in loader:
            model(inputs)
""",
    "in no mode": """
def calibrate(model, loader):
    for inputs, _ in loader:
        model(inputs)
""",
    "a warm-up": """
def warm_up(model, inputs):
    model.eval()
    for _ in range(10):
        model(inputs)
""",
    "a hook keeps it": """
def features(model, loader, keep):
    model.eval()
    model.layer.register_forward_hook(keep)
    for inputs, _ in loader:
        model(inputs)
""",
    "its losses are kept in it": """
def fit(model, image, losses, steps):
    model.eval()
    optimizer = torch.optim.Adam([image])
    for step in steps:
        optimizer.zero_grad()
        model(image)
        sum(part.loss for part in losses).backward()
        optimizer.step()
""",
    "the model keeps what it computes": """
def estimate(model, loader):
    model.eval()
    total = 0
    for inputs, _ in loader:
        model(inputs)
        total += model.features[0]
    return total
""",
    "no model": """
def measure(metric, loader):
    metric.eval()
    for inputs, labels in loader:
        metric(inputs, labels)
""",
})
def test_gone_through(code):
    holds(code)
