"""LibCST's nodes without LibCST's parser: what a scout looks at before anything is parsed for good.

The sieve has read each file with Python's own parser, which is ten times as fast as libcst's. From its tree, nodes of libcst's
own classes are made here, without white space, commas and comments, so that the dry run and the rules go over them as over
any others. What the scout finds is only a reason to look: whatever is told was found on trees that libcst has parsed.

`unit` holds the tree of one unit; `statements` and `expressions` make its nodes, `makers` the single one; `rows` tells what
stands where, and which parentheses are there for grouping alone.
"""
