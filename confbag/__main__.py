"""`python -m confbag` is the command `confbag`."""

import sys

if __name__ == "__main__":
    # `python -m` puts the current folder first, and no name of a schema or a plug-in is to be looked for there.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]

    from confbag.cli import main

    raise SystemExit(main())
