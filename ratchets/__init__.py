"""The linter that keeps engine code on the road; it stands alone on libcst and the standard library."""
