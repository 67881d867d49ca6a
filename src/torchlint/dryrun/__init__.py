"""The run without running: what a program would do, told as events on values.

`roots` decides where runs start; `interpreter` holds one run and puts together what it can do, a file for each part:

- Python: `statements`, with `paths` (branches, loops) and `conditions`; `expressions`, with `names`, `containers`, `iteration`,
  `operators`, `attributes` and `assignment`; `calls`, with the project's `functions` and `classes` and Python's `builtins`.
- `torch_api`: `calls` of torch and `methods` of its objects, with `functions` and `special_calls`; `forwards`, `modules` and
  `module_parts`; `tensors`, `devices`; `optimizers`, `contexts`; `unknown`, of which only its use tells what it is; the sizes,
  `shaped` and `layer_shapes`, and the `axes` they stand on; `frameworks`, the libraries around torch; `names`.

The parts know each other only by way of the run: each is a class that `Run` inherits, and imports none that stands above it.

What holds for all of them:

- Values (`values`) are compared by identity: two names for one optimizer hold one object. A value remembers the forward calls
  it came out of (`flows`) and what it was computed from (`parts`): that is how a backward finds its models and optimizers.
- Sizes (`torch_api.shapes`, `shaped`) are known from a shape's end, `(..., 64)`; what is unknown fits everywhere.
- The store (`store`) holds what can change: names, attributes, list items, modes. A branch writes to a layer of its own; where
  branches meet, the layers are joined key by key.
- Branches run each path from the same state. Conditions fold only where they are certain (`self.training` in a known mode,
  flags passed as constants); numbers never fold, for they count loops. A path that returns, breaks or raises is kept apart
  and joins where it lands.
- Loops run until what is known at their head no longer changes, twice at most; what the first pass said is forgotten, so
  that what is left is true of any iteration. A back edge goes into the graph.
- Calls of the project's functions are run where they are called, up to a depth; a forward that was run once in a mode is not
  run again, nor is a call of plain Python that is like one before (`summaries`: what was `plain` about it, what `likeness` is). A call that cannot be seen becomes an `unknown` event, which may have done anything to what it was given.
- The event graph (`flow`) tells what may happen after what. When a file is done its events are taken apart: they know each
  other in circles, and what is left to the garbage collector costs a fifth of the time and twice the memory.

Files of the project are found by import from where the importing file stands (`world`); what was looked at is returned with the
findings, so that the cache knows on what they depend. The other way, who imports the file, is asked only where a finding
would be made (`World.project_of`).
"""
