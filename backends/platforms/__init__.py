"""The facts of one machine: probed, read from a file, or known by name."""
