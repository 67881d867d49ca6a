"""What in a file can matter: one parse by the C parser and one flat walk over its tree.

The walk finds imports, functions, classes, and the stretches of text that libcst will be asked to parse on their own, the units
(a function, a method, a run of top-level statements). Each unit keeps the words in it (not those of annotations), and marks
for shapes of statements and for what is written where: `!discarded`, `!container` (an attribute is given a list that may hold
layers), `!kept` (or a tensor made there), `!leafwrite` (what may be a leaf is changed in place).

`rules/needs.py` says for each rule which words must be there before it can have anything to say; `dryrun/roots.py` follows the words
through the functions that a unit names, and takes statements outside functions together with those that set what they
mention. What meets no need is not run. Of functions that do nothing themselves that matters and mention the same of the
project (the 50 that build one model in 50 sizes), one is run. Marks of statements that a rule shows (`!state`, `!loading`)
count in the file that they stand in, not in those that call it: the models of a zoo are not all built because their common
loader loads weights.

The sieve may let too much through, never too little: a test judges everything with and without it, all rules and each alone.
Two rules are narrower on purpose: 508 asks for layers whose sizes are written where they are made (numbers, arithmetic,
CONSTANTS), or else it would have every model of every file parsed; 417 for a `Linear` or a backward near by.
"""
