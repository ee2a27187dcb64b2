"""Whether operands are checked by value too: `exec.debug.bounds` of the published bag, or CONFBAG_DEBUG_BOUNDS=1.

Reading a value from a device waits for it, and no captured graph may wait. So kernels check values only under this
switch, which needs `exec.graph` false; references check them always on CPU tensors, where it costs little, and
elsewhere under the switch. What torch.compile traces checks none. A role that calls kernels declares the namespace
exec.
"""

from __future__ import annotations

import os
from typing import Final

from torch import Tensor
from torch.compiler import is_compiling

from confbag.process.context import get_exec, is_published

SWITCH: Final = "CONFBAG_DEBUG_BOUNDS"

# Read once, when the first implementation is bound: an environment look-up per call would cost more than every other
# check.
_switched_on = os.environ.get(SWITCH, "").lower() in ("1", "true")


def kernels_check_values(operand: Tensor) -> bool:
    """Whether a kernel checks the values of its operands before it is launched, whatever device `operand` is on."""
    return not is_compiling() and (_switched_on or (is_published() and get_exec().debug.bounds))


def reference_checks_values(operand: Tensor) -> bool:
    """Whether a reference checks the values of its operands, one of which is `operand`."""
    return not is_compiling() and (operand.device.type == "cpu" or kernels_check_values(operand))
