"""CB101 record-read: a field read off the published record, through any alias."""

from __future__ import annotations

from confbag.ratchets.rules import (
    record_read_alias_cases,
    record_read_clean_cases,
    record_read_container_cases,
    record_read_flow_cases,
    record_read_module_cases,
    record_read_name_cases,
)
from confbag.ratchets.rules.case import Case

CODE = "CB101"
NAME = "record-read"
MEANS = "A field is read off the published start-up record, through whatever alias it was reached."
WHY = (
    "Whoever reads the record decides for itself what a setting means: overrides, resolved values and provenance are "
    "lost, and the field can never be renamed or split."
)
INSTEAD = "Read the setting from the bag: `get_exec().deterministic` instead of `get_server_args().enable_…`."

CASES: tuple[Case, ...] = (
    *record_read_alias_cases.CASES,
    *record_read_name_cases.CASES,
    *record_read_module_cases.CASES,
    *record_read_container_cases.CASES,
    *record_read_flow_cases.CASES,
    *record_read_clean_cases.CASES,
)
