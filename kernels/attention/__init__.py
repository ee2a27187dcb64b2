"""attention: its contract, and the implementations of it that are ours."""
