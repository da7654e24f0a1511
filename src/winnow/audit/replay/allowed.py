"""What may differ between neighbours, field by field, and why. All else must not.

The table is the claim: whatever it does not name is the same, to the last byte, whoever is in the
data. A field is a pattern of paths of an observation, in which a star stands for anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

Why = Literal["released", "derived", "keyed", "laid-out", "refusal"]


@dataclass(frozen=True)
class AllowedField:
    """One field that may differ.

    released   it is what the mechanism drew: that is what epsilon pays for;
    derived    a function of what was released and of public things: equal wherever that is equal;
    keyed      a clock, or a code under a secret key: only its type and its length are compared;
    laid-out   where codes under a secret key put something: also its length is random;
    refusal    the text of an error that unusable data meet, which is for the curator.
    """

    path: str
    why: Why
    reason: str

    def matches(self, path: str) -> bool:
        """Whether the pattern fits."""
        return fnmatchcase(path, self.path)


def _released(reason: str, *paths: str) -> tuple[AllowedField, ...]:
    return tuple(AllowedField(path, "released", reason) for path in paths)


def _derived(reason: str, *paths: str) -> tuple[AllowedField, ...]:
    return tuple(AllowedField(path, "derived", reason) for path in paths)


def _keyed(reason: str, *paths: str) -> tuple[AllowedField, ...]:
    return tuple(AllowedField(path, "keyed", reason) for path in paths)


def _laid_out(*paths: str) -> tuple[AllowedField, ...]:
    reason = "branches of the ledger's tree follow from codes under its random key"
    return tuple(AllowedField(path, "laid-out", reason) for path in paths)


def _refused(*texts: str) -> tuple[AllowedField, ...]:
    reason = "unusable data are refused; the message is for the curator (sharp edges)"
    return tuple(AllowedField(text, "refusal", reason) for text in texts)


_ANSWERED = tuple(
    f"result.value.{name}*" for name in ("factors", "standard_errors", "reach", "errors")
)
_SHOWN = _derived("how the released value is shown", "repr", "str", "json")
_VALUE = _released("what the mechanism drew", "result.value", "result.value.*")


def _bound(at: str) -> tuple[AllowedField, ...]:
    words = ("guarantee.unit*", "receipt.reason", "receipt.counted", "value.counted*")
    return _released("the bound, and what it went by", f"{at}.bound*") + _derived(
        "the words of the bound that was chosen", *(f"{at}.{word}" for word in words)
    )


_CUT = _released(
    "people who were cut and what of theirs, with noise",
    "*.cut.whole",
    "*.cut.cut",
    "*.cut.left_out",
) + _derived("the sentence about these", "*.cut.says")
_FITTED = tuple(
    f"result*.value.{name}*" for name in ("factors", "errors", "total", "rests_on", "marginals")
)
_ANSWERS = _released(
    "the answers, and whether a private test found the hypothesis near the data",
    *(f"result*.answers.*.{name}" for name in ("value", "count", "kind", "number", "error")),
) + _derived(
    "how often tests crossed, and what is left of the session",
    "result*.texts.*", "result*.before.*", "result*.after", "result*.state.updates",
)  # fmt: skip

_REGRESSED = ("coefficient", "standard_error", "low", "high", "sampling_error", "rows", "notes")
_TEXT = _derived(
    "how the released value is shown and written",
    "result.*.stdout",
    "files.*.content",
    "files.*.size",
)
_DOCUMENT = _released("what the mechanism drew", "*.json.value", "*.json.value.*")
_JOURNAL = (
    _released(
        "what the journal keeps of the answers",
        "*.line.*.count",
        "*.line.*.update",
        "*.line.*.answer",
    )
    + _keyed(
        "the name and the key of a session, and the mark of its data under that key",
        "*.line.*.session",
        "*.line.*.data",
        "*.line.*.entropy",
        "files.*.session.content",
    )
    + _derived("what the journal keeps of the answers", "*.line.*", "files.*.session.size")
)
_CODES = (
    "*.time",
    "*.tag",
    "*.previous",
    "*.receipt.ledger",
    "*.fingerprint",
    "*.head",
    "*.opened",
    "files.*.key.content",
)
_LAYOUT = (
    "*.tree*",
    "files.*.ledger.content",
    "files.*.ledger.size",
    "files.*journal.content",
    "files.*journal.size",
)

ALLOWED: dict[str, tuple[AllowedField, ...]] = {
    "select": _VALUE + _SHOWN,
    "top_k": _VALUE + _SHOWN,
    "labels": _VALUE + _SHOWN,
    "open_selection": _released("the selected candidates", "result.released.value*"),
    "scores": _released("the selected candidates", "result.released.value*"),
    "above": _VALUE + _SHOWN,
    "open_above": _released("which values were reported", "result.answers*.value*")
    + _derived(
        "how many were asked, and what is left",
        "result.answers",
        "result.shown",
        "result.answers.*",
        "result.exhausted",
        "result.answered",
    ),
    "mips": _VALUE + _SHOWN,
    "itemsets": _VALUE + _SHOWN,
    "classes": _VALUE + _SHOWN,
    "release": _released(
        "the noisy counts of the queries that were selected",
        "result.value.measurements*",
        "result.value.total",
        "result.value.first_tables*",
    )
    + _released(
        "the noisy whole numbers of tables, or whole noisy tables",
        "result.value.tables.layers.*.details*",
        "result.value.marginals*",
        "result.value.estimates*",
    )
    + _derived("fitted to the noisy counts", *_FITTED)
    + _derived("made of the noisy numbers and their total", *_ANSWERED, "result.value.fit*")
    + _SHOWN,
    "tabulate": _released("the noisy whole numbers", "result.value.layers.*.details*")
    + _bound("result")
    + _CUT
    + _SHOWN,
    "quantiles": _released("the quantiles", "result.value.values*", "result.value.low*")
    + _released("the other ends of their intervals", "result.value.high*")
    + _SHOWN,
    "describe": _released("the noisy counts, moments and quantiles", "result.value.columns*")
    + _released("the noisy number of rows", "result.value.rows*")
    + _SHOWN,
    "histogram": _released("the noisy counts", "result.value.estimate*")
    + _released("the edges, where they are private", "result.value.starts*", "result.value.ends*")
    + _SHOWN,
    "regress": _released(
        "the coefficients and what follows from them",
        *(f"result.value.{name}*" for name in _REGRESSED),
    )
    + _SHOWN,
    "bounds": _released("the bounds", "result.value.low", "result.value.high") + _SHOWN,
    "moments": _released("the moments", "result.value.held*", "result.value.notes*") + _SHOWN,
    "ask": _ANSWERS,
    "resume": _ANSWERS + _JOURNAL,
    "Session": _released("what the verbs drew", "result.*.value", "result.*.value.*")
    + _ANSWERS
    + _keyed("times and codes of the ledger, under its key", *_CODES)
    + _laid_out(*_LAYOUT),
    "labelled": (),
    "in_bins": (),
    "learn": _released(
        "which hypothesis was chosen, or which ones, and the noisy number of correct rows",
        "result.value.number",
        "result.value.numbers*",
        "result.value.correct",
    )
    + _released("points of the noisy tables", "result.value.points*", "result.value.start*")
    + _released("which of two kinds of model was chosen", "result.value.kind")
    + _released("fitted to noisy counts", "result.value.calibration*")
    + _derived("the type and the class of that kind", "result.value", "result.value.hypotheses")
    + _derived(
        "the rule of that number, and bounds that follow from the noisy number",
        "result.value.rule*",
        "result.value.bound.error",
        "result.value.function",
    )
    + _SHOWN,
    "PrivateClassifier": _released("which hypothesis was chosen", "result.released.value.number")
    + _derived(
        "the rule of that number", "result.released.value.rule*", "result.said*", "result.text"
    ),
    "boost": _VALUE + _SHOWN,
    "lp": _released(
        "the point of the selected rows or columns, and noisy looks at it",
        "result.value.x",
        "result.value.selected",
        "result.value.opt",
        "result.value.measured",
        "result.value.unmet",
        "result.value.feasible",
    )
    + _derived("c'x, from the released point", "result.value.objective")
    + _SHOWN,
    "counts": _released("the top k of what was counted", "result.top.value*")
    + _bound("result.top"),
    "read_table": _released("noisy counts of what was read", "result.measured*")
    + _refused("the column * holds a value outside the schema, or an empty one; *"),
    "read_baskets": _released("an itemset of what was read", "result.found.value*"),
    "read_lp": (),
    "lp_problem": (),
    "seal_query": (),
    "seal_examples": (),
    "seal_scores": (),
    "seal_counts": (),
    "seal_vectors": (),
    "winnow schema": (),
    "winnow plan": (),
    "winnow select": _DOCUMENT + _TEXT,
    "winnow top-k": _DOCUMENT + _CUT + _TEXT,
    "winnow labels": _DOCUMENT + _TEXT,
    "winnow itemsets": _DOCUMENT + _TEXT,
    "winnow lp": _DOCUMENT + _TEXT,
    "winnow mips": _DOCUMENT + _TEXT,
    "winnow boost": _DOCUMENT + _TEXT,
    "winnow learn": _released(
        "which hypothesis was chosen, or which ones, and the noisy number of correct rows",
        "*.json.value.number",
        "*.json.value.numbers*",
        "*.json.value.correct",
    )
    + _derived(
        "the rule of that number, and what follows from the noisy number",
        "*.json.value.rule",
        "*.json.value.tests*",
        "*.json.value.rules*",
        "*.json.value.calibration*",
        "*.json.value.accuracy",
        "*.json.value.bound.error",
    )
    + _TEXT,
    "winnow release": _released(
        "the noisy counts of the queries that were selected", "*.json.value.measurements*"
    )
    + _derived("fitted to the noisy counts", "*.json.value.factors*", "*.json.value.errors*")
    + _released("estimates from noisy tables", "*.json.value.estimates*", "*.json.value.total")
    + _TEXT,
    "winnow tabulate": _released("the noisy tables", "*.json.total*", "*.json.tables*")
    + _DOCUMENT
    + _TEXT,
    "winnow quantiles": _released("the quantiles", "*.json.quantiles*") + _DOCUMENT + _TEXT,
    "winnow describe": _released(
        "the noisy counts, moments and quantiles", "*.json.columns*", "*.json.rows*"
    )
    + _DOCUMENT
    + _TEXT,
    "winnow histogram": _released("the noisy counts and their edges", "*.json.bins*")
    + _DOCUMENT
    + _TEXT,
    "winnow regress": _released(
        "the coefficients and what follows from them",
        "*.json.coefficients*",
        "*.json.rows",
        "*.json.notes*",
    )
    + _DOCUMENT
    + _TEXT,
    "winnow bounds": _released("the bounds", "*.json.low", "*.json.high") + _DOCUMENT + _TEXT,
    "winnow moments": _released("the moments", "*.json.moments*", "*.json.notes*")
    + _DOCUMENT
    + _TEXT,
    "winnow ask": _released(
        "the answers, and whether a private test found the hypothesis near the data",
        *(f"*.json.answers.*.{name}" for name in ("value", "count", "kind", "number", "error")),
    )
    + _derived("how many tests crossed", "*.json.status", "result.*.stderr")
    + _JOURNAL
    + _TEXT,
    "winnow ledger": _released("what was released before", "*.json.value.*")
    + _keyed(
        "times and codes of the ledger, under its key",
        *_CODES,
        "result.*.stdout",
    )
    + _laid_out(*_LAYOUT, "files.export.json.content", "files.export.json.size"),
}
