"""Plans held against each other: locks, differences, and whether every rank has the same."""
