"""``winnow.load_predictor``: a model from the file of a release."""

from __future__ import annotations

import json
from pathlib import Path

from winnow.errors import DataError
from winnow.foreign import guarded
from winnow.learn.additive import AdditivePredictor
from winnow.learn.boosted import BoostedPredictor
from winnow.learn.predictor import Predictor
from winnow.learn.ruled import RulePredictor
from winnow.learn.stacked import ON_TOP, StackedPredictor
from winnow.learn.words import ADDITIVE, BOOSTED


@guarded
def load_predictor(path: str | Path) -> Predictor:
    """A predictor from the JSON file of a release, as `winnow learn --out` writes it."""
    document = problem = None
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        document = document.get("value", document)
        kind = str(document.get("kind"))
        if kind == ADDITIVE:
            return AdditivePredictor.from_dict(document)
        if kind.startswith(ON_TOP):
            return StackedPredictor.from_dict(document)
        if kind.startswith(BOOSTED):
            return BoostedPredictor.from_dict(document)
        return RulePredictor.from_dict(document)
    except OSError as error:
        problem = f"cannot be read ({type(error).__name__}); check the path"
    except (ValueError, KeyError, TypeError, AttributeError):
        problem = "is not a saved model; give the file that winnow learn --out has written"
    raise DataError(f"the file {str(path)!r} {problem}")
