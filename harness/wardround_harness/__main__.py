"""`python -m wardround_harness`: the `wardround` program."""

import sys

from .cli import main

sys.exit(main())
