"""The names of the package for a type checker; __init__.py has them for everybody else, and a test compares."""

from confbag.kernels.checks.agreement import Case as Case
from confbag.kernels.checks.agreement import Tolerance as Tolerance
from confbag.testing.checks import check_implementation as check_implementation
from confbag.testing.fixtures import published as published
