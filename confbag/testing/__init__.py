"""What an engine's and a vendor's own tests use; a promise, as the rest of the public names are."""

from __future__ import annotations

from confbag.words.exports import exported

__getattr__, __dir__, __all__ = exported(
    globals(),
    {
        "confbag.kernels.checks.agreement": "Case Tolerance",
        "confbag.testing.checks": "check_implementation",
        "confbag.testing.fixtures": "published",
    },
)
