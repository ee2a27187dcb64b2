"""Whether a mirror on the CPU still says what its tensor on the device says: `exec.debug.mirrors`."""

from __future__ import annotations

from torch import Tensor

from confbag.errors import ConfbagError
from confbag.process.context import get_exec, is_published


class MirrorError(ConfbagError):
    """A tensor on the device and its mirror on the CPU differ; names the first index."""


def mirrors_checked() -> bool:
    """Whether mirrors are compared after every build and refresh. Comparing waits for the device."""
    return is_published() and get_exec().debug.mirrors


def compare(name: str, device: Tensor, mirror_name: str, mirror: Tensor, *, padding: bool = False) -> None:
    """Raise MirrorError at the first index that differs. padding: the mirror may hold 0 where the device holds 1."""
    found = device.cpu()
    if found.shape != mirror.shape:
        raise MirrorError(
            f"{name}: the device holds {list(found.shape)}, its mirror {mirror_name} {list(mirror.shape)}"
        )
    differs = found != mirror
    if padding:
        differs &= (found != 1) | (mirror != 0)
    if bool(differs.any()):
        row = int(differs.nonzero()[0])
        raise MirrorError(
            f"{name}[{row}]: the device holds {int(found[row])}, its mirror {mirror_name} {int(mirror[row])}"
        )
