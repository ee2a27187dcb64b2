"""What the whole of confbag is said with: provenance, secrets, suggestions, printable text, one spelling of a value."""
