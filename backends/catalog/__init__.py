"""The catalogue: attention backends, rules, known platforms and distribution names, as data."""
