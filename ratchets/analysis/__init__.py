"""From files to findings: triggers, processes, the cache, the link step."""
