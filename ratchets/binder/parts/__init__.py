"""The parts of the binder: each answers one kind of question, and asks the others through the binder."""
