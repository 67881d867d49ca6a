"""Rule pages of the user's own: their order and trait forms are judged live."""

from __future__ import annotations

import pytest

PAGE = '''+++
code = {code}
name = "own-{code}"
summary = "of my own"
group = "correctness"
message = "`{{optimizer}}` and `{{model}}` are in the wrong order"
help = "mend `{{optimizer}}`"

{form}
+++
'''
LOOP = '''import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
for x in torch.randn(3, 8, 4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(torch.sigmoid(model(x)), x[:, :1])
    loss.backward()
    {between}
    optimizer.step()
    scheduler.step()
'''
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


def order(after, before, **more):
    return "[[order]]\n" + "\n".join(f'{k} = "{v}"' for k, v in {"after": after, "before": before, **more}.items())


@pytest.mark.parametrize(
    ("form", "between", "rows"),
    [
        (order("backward", "optimizer.step", expect="clip", subject="optimizer"), "pass", {12}),
        (order("backward", "optimizer.step", expect="clip", subject="optimizer"), CLIP, set()),
        (order("backward", "optimizer.step", forbidden="clip", subject="optimizer"), CLIP, {11}),
        (order("backward", "optimizer.step", forbidden="clip", subject="optimizer"), "pass", set()),
        (order("scheduler.create", "scheduler.step", expect="optimizer.step", subject="scheduler"), "scheduler.step()", {11}),
        (order("scheduler.step", "scheduler.step", expect="optimizer.step", subject="scheduler"), "pass", set()),
        (order("optimizer.step", "optimizer.zero_grad", expect="clip", subject="optimizer"), "pass", {8}),
        (
            '[[trait]]\ncall = ["torch.nn.functional.mse_loss"]\nargument = "input"\nposition = 0\n'
            'trait = "sigmoid"\nmust = "not have"',
            "pass",
            {9},
        ),
        (
            '[[trait]]\ncall = ["torch.nn.MSELoss"]\nargument = "target"\ntrait = "probabilities"\nmust = "not have"',
            "nn.functional.mse_loss(model(x), torch.full((8, 2), 0.5))",
            {11},
        ),
        (
            '[[trait]]\ncall = ["torch.nn.MSELoss"]\nargument = "target"\ntrait = "probabilities"\nmust = "not have"',
            "nn.functional.mse_loss(torch.full((8, 2), 0.5), model(x))",
            set(),
        ),
        ('torch = "<2.0"\n' + order("backward", "optimizer.step", expect="clip", subject="optimizer"), "pass", set()),
    ],
)
def test_own_pages(run, tmp_path, form, between, rows):
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "own.md").write_text(PAGE.format(code=987, form=form), encoding="utf-8")
    ran = run(LOOP.format(between=between), extend_rules=[str(folder)], select="TS987")
    assert ran.lines == {(987, row) for row in rows}, ran.san.report()
    if rows:
        assert ran.findings[0].name == "own-987"


def test_a_broken_page_is_said(run, tmp_path, capsys):
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "own.md").write_text("no front matter", encoding="utf-8")
    ran = run(LOOP.format(between="pass"), extend_rules=[str(folder)])
    assert not ran.findings
    assert "own.md" in capsys.readouterr().err


SCALED = LOOP.replace("scheduler = ", "scaler = torch.amp.GradScaler('cpu')\nscheduler = ").replace("loss.backward()", "scaler.scale(loss).backward()").replace(
    "    optimizer.step()", "    scaler.step(optimizer)\n    scaler.update()"
)


@pytest.mark.parametrize(("between", "rows"), [("pass", {13}), (CLIP, set())])
def test_a_scaler_knows_of_clipping(run, tmp_path, between, rows):
    form = order("scaler.scale", "scaler.step", expect="clip", subject="scaler")
    (tmp_path / "own.md").write_text(PAGE.format(code=987, form=form), encoding="utf-8")
    ran = run(SCALED.format(between=between), extend_rules=[str(tmp_path)], select="TS987")
    assert ran.lines == {(987, row) for row in rows}, ran.san.report()
