"""What A and B of `confbag diff` are, told by their content, and the plan or the lock that each stands for."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from confbag.cli.common import plan_of
from confbag.errors import ConfigError, Fault, PlatformError

if TYPE_CHECKING:
    from confbag.backends.compare.lock import Lock
    from confbag.backends.decide.plan import Plan
    from confbag.backends.declare.registry import Registry
    from confbag.backends.platforms.platform import Platform

CONFIG, PLATFORM, LOCK = "configuration", "platform", "lock"
_SCHEMA = re.compile(r"^schema\s*:", re.MULTILINE)


def kind_of(word: str, registry: Registry) -> str:
    """Whether a word names a configuration, a platform or a lock. ConfigError when it is none of them."""
    from confbag.backends.compare.lock_file import is_lock
    from confbag.backends.platforms.known import lookup
    from confbag.sources.files import read_bounded
    from confbag.sources.nodes import LIMITS
    from confbag.sources.yaml import load_document

    if word in ("this", "cpu") or word in registry.platforms or lookup(word) is not None:
        return PLATFORM
    content, fault = read_bounded(word, LIMITS.size)
    if content is None:
        raise ConfigError([_nothing(word, fault, registry)])
    text = content.decode("utf-8", "replace")
    if is_lock(text):
        return LOCK
    document, _ = load_document(content, word)
    if document is None:
        return PLATFORM if _SCHEMA.search(text) else CONFIG
    return PLATFORM if isinstance(document.data, dict) and _is_platform(document.data) else CONFIG


def _is_platform(data: dict[str, Any]) -> bool:
    """A platform file has a schema and names its device; in a configuration `device` is a section of settings."""
    return "schema" in data or (isinstance(data.get("device"), str) and not {"exec", "model", "parallel"} & data.keys())


def sides_of(args: Namespace, registry: Registry) -> tuple[Plan | Lock, Plan | Lock]:
    """The plan or the lock of args.a and of args.b. ConfigError with every fault of both.

    A configuration is planned on --platform; without it on this machine, or beside a lock on the lock's platform. A
    platform is planned for --config and the configuration beside it. --config files lie beneath both.
    """
    words = (args.a, args.b)
    faults: list[Fault] = []
    kinds: list[str] = []
    for word in words:
        try:
            kinds.append(kind_of(word, registry))
        except ConfigError as error:
            faults += error.faults
    if not faults:
        faults += _unused(args, kinds)
    if faults:
        raise ConfigError(faults)
    files = [word for word, kind in zip(words, kinds, strict=True) if kind == CONFIG]
    found: dict[int, Plan | Lock] = {}
    # Locks first: a configuration beside one is planned for its platform.
    for place in sorted((0, 1), key=lambda place: kinds[place] != LOCK):
        try:
            found[place] = _side(words[place], kinds[place], files, found.get(1 - place), args, registry)
        except ConfigError as error:
            faults += [fault for fault in error.faults if fault not in faults]
    if faults:
        raise ConfigError(faults)
    return found[0], found[1]


def platform_of(lock: Lock, registry: Registry) -> str | None:
    """What --platform would be for the platform of a lock: its name where its packages were assumed, none where they
    were measured on a machine like this one, or on its CPU. ConfigError where it is neither."""
    from confbag.backends.platforms import known
    from confbag.backends.platforms.platform import Platform

    def is_it(platform: Platform) -> bool:
        return platform.spec == lock.platform and tuple(sorted(platform.features)) == lock.features

    named = {**{name: known.known(name) for name in known.names()}, **registry.platforms}
    name = next((name for name, platform in named.items() if is_it(platform)), None)
    if name is not None and "packages" in lock.assumed:
        return name
    if is_it(Platform.this(registry.probes)) or is_it(Platform.cpu()):
        return None
    raise ConfigError(
        [
            Fault(
                lock.name,
                "platform",
                f"was measured on a machine with {lock.platform}, and this one is another; write --platform FILE, "
                f"which `confbag doctor --dump FILE` wrote there{f', or --platform {name}' if name else ''}",
            )
        ]
    )


def _side(
    word: str, kind: str, files: list[str], beside: Plan | Lock | None, args: Namespace, registry: Registry
) -> Plan | Lock:
    from confbag.backends.compare.lock import Lock
    from confbag.backends.compare.lock_file import read_lock

    if kind == LOCK:
        return read_lock(word)
    if kind == PLATFORM:
        changed = {"config": [*args.config, *files], "platform": word}
    else:
        platform = args.platform
        if platform is None and isinstance(beside, Lock):
            platform = platform_of(beside, registry)
        changed = {"config": [*args.config, word], "platform": platform}
    return plan_of(Namespace(**{**vars(args), **changed}), registry)


def _unused(args: Namespace, kinds: list[str]) -> list[Fault]:
    """Options that would change nothing."""
    given = [
        (option, bool(getattr(args, option.strip("-"))))
        for option in ("--config", "--preset", "--model", "--set", "--record", "--platform")
    ]
    if kinds == [LOCK, LOCK]:
        return [Fault(option, None, "two locks are compared as they are; leave it out") for option, yes in given if yes]
    if args.platform is not None and CONFIG not in kinds:
        return [Fault("--platform", None, "is for a configuration, and neither A nor B is one; leave it out")]
    return []


def _nothing(word: str, fault: Fault | None, registry: Registry) -> Fault:
    """Why a word is neither a file nor a platform."""
    from confbag.backends.platforms.known import unknown
    from confbag.words.text import printable

    if fault is not None and (os.path.exists(word) or "\0" in word):
        return fault
    shown = printable(word)
    error: PlatformError = unknown(shown, registry.platforms)
    return Fault(None, None, f"{shown}: no such file; {error}")
