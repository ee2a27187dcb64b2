"""Architecture names: every spelling that vendors use for one architecture becomes one of ours."""

from __future__ import annotations

import re

_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)[af]?")
_CUDA = re.compile(r"(?:sm|compute)[_-]?(\d{2,3})[af]?")
_HIP = re.compile(r"gfx[_-]?([0-9a-f]{3,5})")
_MUSA = re.compile(r"mp[_-]?(\d)\.?(\d)")
_NAME = re.compile(r"[a-z][a-z0-9_]*(?:-[a-z0-9]+)*")
_SOC_FAMILIES = (
    # Ordered: the A3 names begin with what would also read as an old 910, and Ascend910_95xx was the 950's first name.
    (re.compile(r"ascend950(?:[a-z]|_|$)"), "ascend950"),
    (re.compile(r"ascend910_?95"), "ascend950"),
    (re.compile(r"ascend910_?9[1-4]"), "ascend910_93"),
    (re.compile(r"ascend910c"), "ascend910_93"),
    (re.compile(r"ascend910b"), "ascend910b"),
    (re.compile(r"ascend310p"), "ascend310p"),
)
_CPU = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "arm64": "aarch64", "arm64e": "aarch64"}
_FORMS = {
    "cuda": (re.compile(r"sm\d{2,3}"), "sm90"),
    "hip": (re.compile(r"gfx[0-9a-f]{3,5}"), "gfx942"),
    "npu": (re.compile(r"ascend[0-9][a-z0-9_]*"), "ascend910b"),
    "musa": (re.compile(r"mp\d\d"), "mp31"),
}


def normalise(text: str, device: str | None = None) -> str:
    """Our name for an architecture: `sm_90` and `9.0` are sm90, `Ascend910B2C` is ascend910b, `gfx942:sramecc+` gfx942.

    device: the device kind when it is known; a bare capability such as `9.0` or `3.1` reads as musa's only then. A
    name that is no known spelling comes back lower-case and otherwise as it is: a new architecture is no error, it
    only matches nothing.
    """
    plain = text.strip().lower()
    if device == "cpu":
        return _CPU.get(plain, plain)
    if match := _CUDA.fullmatch(plain):
        return f"sm{match.group(1)}"
    if match := _CAPABILITY.fullmatch(plain):
        return ("mp" if device == "musa" else "sm") + match.group(1) + match.group(2)
    if match := _HIP.fullmatch(plain.partition(":")[0]):
        return f"gfx{match.group(1)}"
    if match := _MUSA.fullmatch(plain):
        return f"mp{match.group(1)}{match.group(2)}"
    soc = plain.replace("ascend_", "ascend").replace(" ", "")
    if device == "npu" and soc[:1].isdigit():
        soc = f"ascend{soc}"
    for family, name in _SOC_FAMILIES:
        if family.match(soc):
            return name
    return _CPU.get(plain, soc if soc.startswith("ascend") else plain)


def fault(device: str, arch: str) -> str | None:
    """What is wrong with a normalised architecture as one of this device kind; None when nothing is."""
    form, example = _FORMS.get(device, (_NAME, "a plain name"))
    if form.fullmatch(arch):
        return None
    return f"{arch!r} is no architecture of {device}; write for example {example}"


def of_capability(major: int, minor: int) -> str:
    """A CUDA compute capability as our name."""
    return f"sm{major}{minor}"


def of_gfx_target(version: int) -> str:
    """The kernel driver's number for an AMD GPU as our name: 90402 is gfx942, 90010 is gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
