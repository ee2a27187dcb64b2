"""`python -m mini_engine`: the same as calling `main`."""

from __future__ import annotations

import sys

from mini_engine.main import main

if __name__ == "__main__":
    sys.exit(main())
