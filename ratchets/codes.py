"""The codes of the rules: data, so that configuration and listings import no rule."""

from __future__ import annotations

# code -> module; the record rules share one collector.
RULES: dict[str, str] = {
    "CB101": "record_read",
    "CB102": "holder_read",
    "CB103": "opaque_read",
    "CB104": "record_handoff",
    "CB105": "presence_probe",
    "CB111": "record_write",
    "CB121": "module_state",
    "CB131": "platform_branch",
    "CB132": "raw_native_op",
    "CB133": "host_sync",
    "CB141": "call_site",
    "CB142": "legacy_name",
}
RECORD_RULES = ("CB101", "CB102", "CB103", "CB104", "CB105", "CB111")
# A comment that allows nothing; always on.
SUPPRESSION = "CB100"
