"""`builtin/always-act`: makes each action category's write without looking, then answers `[]`.

What a score is worth that acting blindly reaches. Doses are the middle ones: 2 g of magnesium of 1,
2 and 4; potassium for the middle of the tasks' range of 2.5 to 3.5.
"""

from __future__ import annotations

from . import orders
from .brief import Brief
from .scripted import Finish, Script

MIDDLE_POTASSIUM = 3.0


def script(brief: Brief) -> Script:
    """The category's writes, if it is one of action, and the end."""
    subject = f"Patient/{brief.mrn}"
    yield from orders.for_category(brief, subject, orders.MIDDLE_TIER, MIDDLE_POTASSIUM)
    yield Finish([])
