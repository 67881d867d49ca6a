"""616 of a scaler that is fitted on the training's rows and the test's, joined and cut apart again."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import numpy as np
import pandas as pd
from sklearn.preprocessing import LabelEncoder, StandardScaler

table = pd.read_csv("wells.csv").to_numpy()
x_train, y_train, x_test = table[:90, :4], table[:90, 4:], table[90:, :4]
both = {joined}
scaler = {kind}()
{fitted}
train = torch.tensor({cut}).float()
model = nn.Linear(4, 1)
"""


def code(joined="np.concatenate([x_train, x_test], axis=0)", cut="train_rows", fitted="both = scaler.fit_transform(both)", kind="StandardScaler",
         told=True, between="train_rows = both[:90]"):
    return CODE.format(joined=joined, cut=cut, fitted=f"{fitted}{'  # <- 616' if told else ''}\n{between}", kind=kind)


@table({
    "concatenated": code(),
    "stacked": code("np.vstack((x_train, x_test))"),
    "frames": code("pd.concat([x_train, x_test])"),
    "by another name": code(fitted="scaled = scaler.fit_transform(both)", between="train_rows = scaled[0:90]"),
})
def test_fitted_on_both(code):
    holds(code)


@table({
    "fitted on one part": code(fitted="scaler.fit(x_train)\nboth = scaler.transform(both)", told=False),
    "joined of two for training": code("np.concatenate([x_train, y_train])", told=False),
    "joined by columns": code("np.concatenate([x_train, x_test], axis=1)", told=False),
    "not cut": code(between="train_rows = both", told=False),
    "columns cut": code(between="train_rows = both[:, :2]", told=False),
    "something else by then": code(between="both = x_train\ntrain_rows = both[:90]", told=False),
    "labels": code(kind="LabelEncoder", told=False),
    "given something else before": code(fitted="both = x_train\nboth = scaler.fit_transform(both)", told=False),
})
def test_sound_forms(code):
    holds(code)
