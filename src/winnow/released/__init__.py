"""What crosses the boundary: values with their guarantee and their receipt."""

from winnow.released.release import Receipt, Released

__all__ = ["Receipt", "Released"]
