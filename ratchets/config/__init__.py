"""The configuration as it is written: TOML with places, names checked, the fields table."""
