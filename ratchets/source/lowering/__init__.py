"""libcst's tree in the vocabulary of `ast`, with exact positions: for syntax that the running Python cannot read.

What the old vocabulary has no node for becomes what it does: `except*` an except, a template string an f-string, a type
alias an assignment annotated as one. Of type parameters those with a bound stay, as parameters with an annotation.
`module` takes a file, `statements` stand on `patterns`, these on `expressions`, all on `placing`.
"""
