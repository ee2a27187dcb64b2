"""The binder: which expressions of a module are the record, by flow, and what the module offers to others.

`bind` takes one tree to its facts. It walks the module, then the bodies of its functions, again and again until what
they share (what they return, what attributes and globals keep) changes no more; what the last pass saw counts. The link
step (`analysis.link`) joins the facts of all modules, and asks for a module once more where an answer it was given
has changed.

What is known
    values      the lattice: a value is a set of atoms (a record, an accessor, a class, …), joined where paths meet
    containers  what containers are with one value more
    scopes      the names that a scope binds, and the values of names along one path (an env)
    tables      the functions and classes of the module while it is read
    starred     names for what `*args` and `**kwargs` take
    order       functions after those that they stand on
    state       those tables, in this pass and the one before
    names       the current scope: what a name is, what a name takes
    places      tokens and the lines of statements
    sights      what was seen: reads, writes, escapes, records handed on
    world       what other modules offer; every question is kept, so that an answer can be
    facts       what a module says in the end

What finds it out: `binder` holds one of each part and says which handles which node; a part asks another through it
    things      annotations, classes, attributes, items, growing (containers that take something)
    expressions expressions, conditions (what holds on either side of one), operators, displays, lambdas, presence
                (CB105)
    calls       calls, callees, summaries, builtins, by_name, library, getters, methods, spawning (threads), elsewhere
                (methods and constants of other modules, asked for by their paths)
    statements  statements, targets, writes, patterns, flow, loops, contexts, definitions, imports
    modules     bodies, leading (which names lead to a record), offering, answering (what others asked)
"""
