"""`python -m confbag` is the command `confbag`."""

from confbag.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
