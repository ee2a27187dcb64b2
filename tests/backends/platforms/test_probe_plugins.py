"""The looks that plug-ins bring: after ours, and never a reason to fail."""

from __future__ import annotations

from typing import Any

import pytest

from confbag.backends import Accelerator, Evidence, Platform, Registry, Software
from confbag.backends.platforms.probe import probe
from confbag.errors import RegistrationError


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    nodes = evidence.names("/dev", "acme[0-9]*")
    return Accelerator("acme", nodes[0], arch="a1", count=len(nodes)) if nodes else None


def failing(evidence: Evidence, software: Software) -> Accelerator | None:
    raise OSError("the card does not answer")


def test_a_device_of_a_plug_in_is_planned_for(stage: Any) -> None:
    found = probe(stage.evidence(), added={"acme": look})
    assert found.platform.device == "cpu"
    stage.file("/dev/acme0")
    stage.file("/dev/acme1")
    found = probe(stage.evidence(), added={"acme": look})
    assert (found.platform.device, found.platform.arch, found.platform.count) == ("acme", "a1", 2)
    assert found.facts[0].learnt == "/dev/acme0"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (failing, "probing acme failed (OSError: the card does not answer)"),
        (lambda evidence, software: "acme", "it answered str, not an Accelerator of acme"),
        (lambda evidence, software: Accelerator("cuda", "a card"), "not an Accelerator of acme"),
        (lambda evidence, software: Accelerator("acme", "a card", count=-1), "count -1"),
        (lambda evidence, software: Accelerator("acme", "a card", arch="A 1!"), "is no architecture of acme"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_look_that_is_wrong_becomes_a_note(stage: Any, wrong: Any, says: str) -> None:
    found = probe(stage.evidence(), added={"acme": wrong})
    assert found.platform.device == "cpu"
    assert any(says in note for note in found.platform.notes), found.platform.notes


def test_a_registry_takes_one_look_for_each_new_device() -> None:
    registry = Registry()
    registry.probe("acme", look)
    assert "acme" in registry.devices
    assert Platform.this(registry.probes).device != "acme"
    for device in ("acme", "npu"):
        with pytest.raises(RegistrationError, match=f"{device} is probed already"):
            registry.probe(device, look)
    with pytest.raises(RegistrationError, match="is no function of the evidence"):
        registry.probe("other", "look")  # type: ignore[arg-type]
