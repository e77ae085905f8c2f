"""`python -m skillsync`."""

from skillsync.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
