"""How many dimensions data have before they are tensors: pandas' frames and columns, what NumPy reads, what scikit-learn brings,
parts and scales. Of sizes nothing is known, and of what is asked for by a name that is not seen, nothing at all.

A cell of a frame may be a list of numbers. An array of such cells is no tensor's, so one that is made a tensor has one number in each;
but of a single cell, and of a column that is gone through, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.torch_api.shapes import ANY, Shape
from torchlint.dryrun.values import NONE, TRUE, Const, Opaque, Seq, Value

EACH = " each"  # a store key that no program can write: the sizes of what an unknown value has in it
_FRAME, _COLUMN = Shape((None, None), False), Shape((None,), False)
_NUMBERS = {"frame": _FRAME, "column": _COLUMN}  # what `.values` of each is
_CELLS = {1: "cells", 2: "grid"}  # what an array of so many dimensions is called that came out of a frame
OF_CELLS = frozenset({"column", "cells", "grid"})
_KIND, _KINDS = " table", " tables"  # store keys that no program can write: what a value is, and what is in it
_READS = frozenset("read_csv read_excel read_table read_parquet read_feather read_sql DataFrame merge".split())
_SEVERAL = frozenset({"chunksize", "iterator", "squeeze", "sheet_name", "typ", "header", "**"})
_KEEPS = frozenset(
    """drop dropna fillna ffill bfill sample copy astype head tail sort_values sort_index drop_duplicates rename replace interpolate
    set_index select_dtypes assign query nlargest nsmallest clip round abs shift infer_objects convert_dtypes""".split()
)
_KEEPS_COLUMN = frozenset(
    """dropna fillna ffill bfill sample copy astype head tail sort_values sort_index drop_duplicates map replace interpolate clip round
    abs shift""".split()
)
# Attributes of a frame that are no columns of it.
_OF_FRAMES = frozenset("iloc loc iat at T values shape style plot attrs flags axes".split())
_BUNCHES = frozenset("load_diabetes load_boston load_iris load_wine load_digits load_breast_cancer fetch_california_housing".split())
_OF_BUNCHES = {"data": _FRAME, "target": _COLUMN}
_MADE = frozenset("make_classification make_moons make_circles make_blobs make_regression make_friedman1 make_s_curve".split())
_TRANSFORMS = frozenset({"fit_transform", "transform", "inverse_transform"})
_COPIES = frozenset({"array", "asarray", "ascontiguousarray"})
_PUT_TOGETHER = frozenset({"concatenate", "vstack", "hstack", "append"})


class Tables:
    """The part of a run that knows tables. See `interpreter.Run` for the state it works on."""

    def table(self, value: Value | None) -> str | None:
        """What a value is: "frame", "column", their numbers ("grid", "cells"), "bunch" (of scikit-learn's data), "numbers" (an array
        that NumPy read)."""
        return self.base_store.get(value, _KIND) if type(value) is Opaque else None

    def note_table(self, value: Value, kind: str | None) -> None:
        if type(value) is Opaque and kind is not None:
            self.base_store.set(value, _KIND, kind)
            self.note_shape(value, _FRAME if kind == "frame" else ANY)

    def note_cells(self, value: Value, shape: Shape) -> None:
        """Notes an array that came out of a frame."""
        if type(value) is Opaque and shape.rank in _CELLS:
            self.base_store.set(value, _KIND, _CELLS[shape.rank])
            self.note_shape(value, shape)

    def table_call(self, name: str, args: Sequence[Value], kwargs, made: Value) -> None:
        """What a function of one of these libraries gives."""
        package, last = name.partition(".")[0], name.rpartition(".")[2]
        if type(made) is not Opaque or kwargs.keys() & {"*", "**"}:
            return
        if package == "pandas":
            self.note_table(made, self._of_pandas(last, args, kwargs))
        elif package == "numpy":
            if last in ("loadtxt", "genfromtxt") and not kwargs.keys() & {"unpack", "names"}:
                self.note_table(made, "numbers")
            elif last in _COPIES and args and self.table(args[0]) in ("frame", *OF_CELLS) and "dtype" not in kwargs:
                self.note_cells(made, _NUMBERS.get(self.table(args[0])) or self.noted_shape(args[0]))
            elif last in _PUT_TOGETHER and args:
                items = self.items_of(args[0]) if isinstance(args[0], Seq) else args[:2] if last == "append" and "axis" in kwargs else None
                ranks = {self.noted_shape(item).rank for item in items or ()} - {None}
                rank = ranks.pop() if len(ranks) == 1 else None  # what is not known has as many, or this would raise
                if rank and (rank > 1 or last == "concatenate"):
                    self.note_shape(made, Shape((None,) * rank, False))
        elif package == "sklearn":
            self._of_sklearn(last, args, kwargs, made)

    def _of_pandas(self, last: str, args: Sequence[Value], kwargs) -> str | None:
        if last in _READS:
            given = kwargs.keys() & _SEVERAL
            return "frame" if not given or given == {"header"} and isinstance(kwargs["header"], Const) else None
        first = args[0] if args else None
        if last == "Series":
            return "column"
        if last == "get_dummies":
            return "frame" if self.table(first) else None
        if last == "to_numeric":
            return self.table(first)
        if last == "concat" and isinstance(first, Seq):
            kinds = {self.table(item) for item in self.items_of(first) or ()}
            return "frame" if kinds == {"frame"} else None
        return None

    def _of_sklearn(self, last: str, args: Sequence[Value], kwargs, made: Opaque) -> None:
        if last == "train_test_split":
            shapes = [_COLUMN if self.table(arg) == "column" else self.noted_shape(arg) for arg in args]
            if any(shape.rank for shape in shapes):
                kinds = tuple(self.table(arg) for arg in args for _ in range(2))
                parts = [Shape((None, *shape.dims[1:]), False) if shape.rank else ANY for shape in shapes for _ in range(2)]
                self.base_store.set(made, EACH, tuple(ANY if kind == "column" else part for kind, part in zip(kinds, parts)))
                self.base_store.set(made, _KINDS, kinds)
        elif last in _BUNCHES and "as_frame" not in kwargs:
            given = args[0] if args else kwargs.get("return_X_y")
            if given is None:
                self.note_table(made, "bunch")
            elif given is TRUE or isinstance(given, Const) and given.value is True:
                self.base_store.set(made, EACH, (_FRAME, _COLUMN))
        elif last in _MADE and not kwargs.keys() & {"n_targets", "return_centers", "coef", "return_distributions"}:
            self.base_store.set(made, EACH, (_FRAME, _COLUMN))

    def note_kind_of_part(self, part: Value, whole: Value, index: int | None) -> None:
        """What one of several tables is: of `train_test_split`."""
        kinds = self.base_store.get(whole, _KINDS) if type(whole) is Opaque else None
        if kinds is not None and isinstance(index, int) and -len(kinds) <= index < len(kinds) and type(part) is Opaque and kinds[index]:
            self.base_store.set(part, _KIND, kinds[index])

    def note_table_method(self, owner: Value, name: str, args: Sequence[Value], kwargs, made: Value) -> None:
        """What a method of a table, or of something that scales tables, gives."""
        if type(owner) is not Opaque or type(made) is not Opaque or made is owner:
            return
        kind = self.table(owner)
        if kind == "frame":
            if name in _KEEPS or name == "reset_index":
                self.note_table(made, "frame")
            elif name == "pop":
                self.note_table(made, "column")
        elif kind == "column" and (name in _KEEPS_COLUMN or name == "reset_index" and kwargs.get("drop") is TRUE):
            self.note_table(made, "column")
        if name == "to_numpy" and (kind in _NUMBERS or self._is_column_of(owner)):
            self.note_cells(made, _NUMBERS.get(kind, _COLUMN))
        if name in _TRANSFORMS and args and (owner.name or "").startswith("sklearn."):
            scales = owner.name.startswith("sklearn.preprocessing.") and "Label" not in owner.name
            if scales or self.noted_shape(args[0]).rank == 2:
                self.note_shape(made, _FRAME)  # they take nothing else

    def note_table_attribute(self, owner: Value, name: str, value: Value) -> None:
        """What an attribute of a table is: its numbers, one of its columns' numbers, what a bunch holds."""
        kind = self.table(owner)
        if kind == "bunch":
            self.note_shape(value, _OF_BUNCHES.get(name, ANY))
        elif name == "values" and (kind in _NUMBERS or self._is_column_of(owner)):
            self.note_cells(value, _NUMBERS.get(kind, _COLUMN))
        elif kind == "frame" and name == "T":
            self.note_table(value, "frame")

    def _is_column_of(self, value: Value) -> bool:
        """Whether it is `frame.price`, of which the numbers are asked for."""
        return type(value) is Opaque and value.source == "attr" and self.table(value.origin) == "frame" and value.name not in _OF_FRAMES

    def note_table_item(self, item: Value, owner: Opaque, keys: Sequence[Value | None], node: cst.CSTNode) -> None:
        """What a part of a table is: `frame["price"]`, `frame.iloc[:, -1]`, `numbers[:, 0]`."""
        kind = self.table(owner)
        if kind == "numbers":
            if len(keys) == 2:  # so it has two dimensions, or this would raise
                self.note_shape(item, self.indexed_shape(_FRAME, keys, node))
        elif kind == "bunch" and len(keys) == 1 and isinstance(keys[0], Const):
            self.note_shape(item, _OF_BUNCHES.get(keys[0].value, ANY))
        elif kind in ("cells", "grid"):
            shape = self.indexed_shape(self.noted_shape(owner), keys, node)
            if shape.rank is None and len(keys) == 1 and _asks(node):
                shape = Shape((None, *self.noted_shape(owner).dims[1:]), False)
            self.note_cells(item, shape)
        elif kind in _NUMBERS and len(keys) == 1:
            if keys[0] is None or _asks(node):
                self.note_table(item, kind)
            elif kind == "frame" and isinstance(keys[0], Const) and isinstance(keys[0].value, str):
                self.note_table(item, "column")
            elif kind == "frame" and isinstance(keys[0], Seq) and keys[0].kind == "list":
                self.note_table(item, "frame")
        elif owner.source == "attr" and owner.name in ("iloc", "loc"):
            self._note_place(item, self.table(owner.origin), keys, node)

    def _note_place(self, item: Value, kind: str | None, keys: Sequence[Value | None], node: cst.CSTNode) -> None:
        """`frame.iloc[rows, columns]`: a slice, a list or a condition leaves a dimension, a number or a name takes it."""
        if kind == "column" and len(keys) == 1 and keys[0] is None:
            self.note_table(item, "column")
        if kind != "frame" or not keys or len(keys) > 2 or any(key is NONE for key in keys):
            return
        left = 2 - len(keys)
        for key in keys:
            if key is None or isinstance(key, Seq) and key.kind == "list" or len(keys) == 1 and _asks(node):
                left += 1
            elif not (isinstance(key, Const) and isinstance(key.value, (int, str)) and key.value is not True and key.value is not False):
                return
        self.note_table(item, {2: "frame", 1: "column"}.get(left))


def _asks(node: cst.CSTNode) -> bool:
    """Whether what stands in the brackets is a condition on the rows: `frame[frame.price > 0]`."""
    if type(node) is not cst.Subscript or len(node.slice) != 1 or type(node.slice[0].slice) is not cst.Index:
        return False
    value = node.slice[0].slice.value
    both = type(value) is cst.BinaryOperation and type(value.operator) in (cst.BitAnd, cst.BitOr)
    return type(value) is cst.Comparison or both or type(value) is cst.UnaryOperation and type(value.operator) is cst.BitInvert
