"""Reads that certainly are the record's become reads of the bag: edits in bytes, everything else stays as it is."""

from confbag.ratchets.fix.tree import fix_tree

__all__ = ["fix_tree"]
