"""Examples of confbag in use; a package so that `python -m examples.mini_engine` finds ours and nobody else's."""
