"""Which name stands for what: scopes, bindings and dotted paths, for the rules beside the record rules."""
