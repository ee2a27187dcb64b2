"""The binder: one pass over a module's tree that says which expressions are the record, by flow."""
