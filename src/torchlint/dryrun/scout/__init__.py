"""LibCST's nodes without LibCST's parser: what a scout looks at before anything is parsed for good.

The sieve has read each file with Python's own parser, which is ten times as fast as libcst's. From its tree, nodes of libcst's
own classes are made here, without white space, commas and comments, so that the dry run and the rules go over them as over
any others. What the scout finds is only a reason to look: what is told of a finding, or mended, stands in trees that libcst has
parsed, and the rule has said it of those.

`unit` holds the tree of one unit; `statements` and `expressions` make its nodes, `makers` the single one; `rows` tells what
stands where, and which parentheses are there for grouping alone. `graft` puts libcst's tree into a scout's, whose nodes stay the
objects that values and events know; `trees` tells which ones need it. What is seldom written (`match`, type parameters) is Odd:
libcst parses it at once.
"""
