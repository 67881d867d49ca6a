"""The run without running: what a program would do, told as events on values.

`roots` decides where runs start, `interpreter` walks statements, `expressions` and `calls` the rest; `torch_api` knows what torch's
functions, classes and methods do, and what the libraries around it do with code written for them.

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
  run again. A call that cannot be seen becomes an `unknown` event, which may have done anything to what it was given.
- The event graph (`flow`) tells what may happen after what. When a file is done its events are taken apart: they know each
  other in circles, and what is left to the garbage collector costs a fifth of the time and twice the memory.

Files of the project are found by import from where the importing file stands (`world`); what was looked at is returned with the
findings, so that the cache knows on what they depend. The other way, who imports the file, is asked only where a finding
would be made (`World.project_of`).
"""
