#!/usr/bin/env python
"""Runs the commands: `manage.py serve` starts everything, `manage.py help` lists the rest."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        import django  # noqa: F401  # only to see whether there is one

        from evalsite.__main__ import main
    except ImportError:
        sys.exit(
            "The packages are not installed for this Python. Run `make setup`, then use"
            " .venv/bin/python manage.py"
        )
    main()
