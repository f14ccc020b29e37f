"""The ten categories, each in a module of its own, and the table that names them; then other packages'."""

from .age import Age
from .base import Category, Grader, Traits
from .find_patient import FindPatient
from .glucose_mean import GlucoseMean
from .glucose_newest import NewestGlucose
from .hba1c import HbA1c
from .magnesium import RecentMagnesium
from .magnesium_order import MagnesiumOrder
from .plugged import plugin_category
from .potassium_order import PotassiumOrder
from .record_bp import RecordBloodPressure
from .referral import Referral

CATEGORIES: tuple[Category, ...] = (
    FindPatient(),
    Age(),
    RecordBloodPressure(),
    RecentMagnesium(),
    MagnesiumOrder(),
    GlucoseMean(),
    NewestGlucose(),
    Referral(),
    PotassiumOrder(),
    HbA1c(),
)
_BY_ID = {category.traits.id: category for category in CATEGORIES}


def find_category(category_id: str) -> Grader | None:
    """The category of an id: task1 to task10, or an installed plugin's (docs/plugins.md); None for others.

    UserError, one line with its name, for a plugin that is broken.
    """
    return _BY_ID.get(category_id) or plugin_category(category_id)


__all__ = ["CATEGORIES", "Category", "Grader", "Traits", "find_category"]
