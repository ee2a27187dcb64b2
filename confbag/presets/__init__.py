"""Presets: named sets of values, as data; one YAML file each."""
