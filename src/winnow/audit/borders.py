"""The list of all places where something private chooses between two ways.

``BORDERS`` are numbers, each declared where it is used (``winnow.core.borders``) and replayed on
both sides (``winnow.audit.replay.borders``). ``CHOICES`` have no number of ours: what the noise,
the scores or the memory leave open decides. Both are a table of the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass

from winnow.ask.crossing import WIDE_SUM
from winnow.core.borders import Border, Same
from winnow.core.bounded import FEW_NOISES
from winnow.core.noisy_top.class_counts import AT_ONCE
from winnow.core.noisy_top.filter import FEW_KEYS, FEW_LEFT
from winnow.core.noisy_top.ranking import FEW_VALUES, MANY_EQUAL
from winnow.core.noisy_top.support_classes import NEAR_ZERO
from winnow.core.workloads.part import EXACT_FLOAT
from winnow.inner_product.crossing import SCAN_FROM
from winnow.itemsets.kernels import borders as mining
from winnow.learn.kernels.rule_counts import MANY_ROWS
from winnow.numbers.crossing.segment import WINDOW
from winnow.read.crossing import WIDE_KEYS
from winnow.read.engines.kept import SMALL_CLASS
from winnow.read.engines.private_duck import FEW_ROWS, MOST_PACKED, PART_SHARE
from winnow.read.files import LARGE_FILE
from winnow.read.kept import MOST_COLLECTED, MOST_PAIRS
from winnow.read.kernels.csv_states import FEW_BYTES
from winnow.release.rounds.kernels.clocked_sampler import FOLLOW, LAZY_START
from winnow.select.mechanisms.margin_counts import WIDE_GAPS
from winnow.select.mechanisms.margin_search import ONE_BY_ONE


@dataclass(frozen=True)
class PrivateChoice:
    """A choice that no number of ours decides."""

    where: str
    decides: str
    ways: str
    same: Same
    because: str


BORDERS: dict[str, tuple[Border, ...]] = {
    "winnow.read.kept": (MOST_COLLECTED, MOST_PAIRS),
    "winnow.read.engines.private_duck": (FEW_ROWS, PART_SHARE, MOST_PACKED),
    "winnow.read.engines.kept": (SMALL_CLASS,),
    "winnow.read.files": (LARGE_FILE,),
    "winnow.read.kernels.csv_states": (FEW_BYTES,),
    "winnow.read.crossing": (WIDE_KEYS,),
    "winnow.core.workloads.part": (EXACT_FLOAT,),
    "winnow.core.noisy_top.filter": (FEW_LEFT, FEW_KEYS),
    "winnow.core.bounded": (FEW_NOISES,),
    "winnow.core.noisy_top.ranking": (FEW_VALUES, MANY_EQUAL),
    "winnow.core.noisy_top.support_classes": (NEAR_ZERO,),
    "winnow.select.mechanisms.margin_counts": (WIDE_GAPS,),
    "winnow.select.mechanisms.margin_search": (ONE_BY_ONE,),
    "winnow.core.noisy_top.class_counts": (AT_ONCE,),
    "winnow.itemsets.kernels.borders": (
        mining.PLAIN,
        mining.SHORT,
        mining.SAMPLE,
        mining.BITSET_BYTES,
        mining.KEPT_BYTES,
        mining.DENSE,
        mining.LISTED,
        mining.AHEAD,
        mining.FEW_ITEMS,
        mining.MOST_ITEMS,
        mining.NARROW,
    ),
    "winnow.inner_product.crossing": (SCAN_FROM,),
    "winnow.release.rounds.kernels.clocked_sampler": (LAZY_START, FOLLOW),
    "winnow.ask.crossing": (WIDE_SUM,),
    "winnow.learn.kernels.rule_counts": (MANY_ROWS,),
    "winnow.numbers.crossing.segment": (WINDOW,),
}
"""All of them, by the module that declares them."""

_REJECTION = "rejection from any bound that holds gives the exponential mechanism's own law"
_EXACT = "all bounds hold, so the result is that of ideal arithmetic: a function of the tape"

CHOICES: tuple[PrivateChoice, ...] = (
    PrivateChoice(
        "winnow.core.threads",
        "how many candidates or rows there are, where that is private",
        "one thread; several, each with a range of them",
        "value",
        "every bit of noise has an address, and ranges are put together by rules that do not "
        "depend on where they end (tests/core/test_threads.py: 1, 2, 3 and 7 threads)",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.draw",
        "how many items a filter leaves, and whether their noisy scores are apart",
        "the only one left wins; bounds in float64; more bits and digits",
        "value",
        _EXACT,
    ),
    PrivateChoice(
        "winnow.core.noisy_top.ranking",
        "how many scores lie above a guess from a sample",
        "these alone are sorted; all are",
        "value",
        "what is asked below the guess has all scores sorted: ranks and positions are the same",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.ranked",
        "how many candidates have a count or more",
        "listed down to that count; no further, and the count at a rank is found by halving",
        "law",
        "candidates of one count are alike: only how many there are is used, and both give that",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.keyed",
        "whether an item stands in several parts, and how many contenders there are",
        "contenders as they came; each item once, with its highest score",
        "value",
        "its noise is a function of the key and its name, and its highest score wins either way; "
        "what leaves is encrypted and padded",
    ),
    PrivateChoice(
        "winnow.core.noise",
        "whether the first 32 bits decide a noisy count",
        "its floor in float64; with 96 bits; with as many as it takes",
        "value",
        _EXACT,
    ),
    PrivateChoice(
        "winnow.core.noisy_top.laplace_counts",
        "which counts may be among the k largest, by the first bits of their noise",
        "noise is drawn in full; it is left out",
        "value",
        "rough noise is within a proven reach, and what is dropped lies below k others",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.rounds",
        "which scores are similar, and how often a round is drawn anew",
        "items in more or fewer blocks; further clocks of a block, or none",
        "law",
        "any blocks and any bounds above their scores give the law of the rounds",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.best_class",
        "which classes of equal scores may hold the winner",
        "blocks of classes are split, or passed over",
        "law",
        "clocks of a block are split exactly, and what bounds leave open is refined",
    ),
    PrivateChoice(
        "winnow.core.noisy_top.cube",
        "how many candidates are near the k-th largest",
        "the bar is raised by a chunk, or not",
        "value",
        _EXACT,
    ),
    PrivateChoice(
        "winnow.select.mechanisms.margin_search",
        "how many candidates have a count at which a test would pass",
        "counts listed as far as a test asks, or all",
        "value",
        "each test fails at a bound above its margin, or has its exact outcome: a function of the "
        "tape; far ranks have their law whatever the bounds",
    ),
    PrivateChoice(
        "winnow.select.crossing.selection",
        "how many values are above the threshold",
        "a stream goes on with the next values, or ends at the cutoff",
        "value",
        "that is the mechanism: what is reported is released",
    ),
    PrivateChoice(
        "winnow.inner_product.kernels.exact_dot",
        "how near an inner product is to the edge of a step, and how large it is",
        "float64; sums of two float64; integers of any length, clipped",
        "value",
        _EXACT,
    ),
    PrivateChoice(
        "winnow.inner_product.kernels.lazy_gumbel",
        "how many candidates outside the head are met",
        "more or fewer of them are looked at",
        "law",
        "the docstrings of both mechanisms prove their law for every head",
    ),
    PrivateChoice(
        "winnow.release.rounds.kernels.block_sampler",
        "how badly the public distribution answers the queries",
        "more or fewer proposals, bounds set anew, a scan of all",
        "law",
        f"{_REJECTION} (winnow.core.kernels.envelope)",
    ),
    PrivateChoice(
        "winnow.lp.kernels.scalar_solver",
        "how far right-hand sides are from the point",
        "rows in buckets, by quantised bounds, or all scanned",
        "law",
        f"{_REJECTION} (winnow.core.kernels.envelope)",
    ),
    PrivateChoice(
        "winnow.itemsets.kernels.mine",
        "the supports of itemsets",
        "mined down to one support or to a lower one",
        "value",
        "classes above a support are the same however far down was mined",
    ),
    PrivateChoice(
        "winnow.core.baskets",
        "whether a basket is longer than the bound",
        "baskets are as they were; the long ones are cut",
        "value",
        "a basket that is not longer is not cut, whatever others are",
    ),
    PrivateChoice(
        "winnow.read.engines.private_duck",
        "whether a part fits the memory",
        "counted; split in two",
        "value",
        "a part that failed added nothing, and counts add up",
    ),
    PrivateChoice(
        "winnow.read.engines.packed_pairs",
        "whether anybody has an item so often that it fills the first values kept of a person",
        "these values alone; all pairs of such people made distinct",
        "value",
        "where the values kept hold as many different ones as the bound, they are the least",
    ),
    PrivateChoice(
        "winnow.read.large_counts",
        "whether every line of a file of counts is plain",
        "read by whole arrays; line by line",
        "value",
        "both give the labels and counts of the file, in its order",
    ),
    PrivateChoice(
        "winnow.read.records",
        "whether a piece of a text file has a quote",
        "its line ends by a search; each byte looked at",
        "value",
        "without a quote no byte changes what a line end means",
    ),
    PrivateChoice(
        "winnow.read.scores",
        "whether every score is a whole number",
        "64-bit integers; float64",
        "value",
        "both are taken as exact numbers, on steps that follow from the sensitivity alone",
    ),
    PrivateChoice(
        "winnow.lp.crossing.constraint",
        "whether there is any row",
        "an index of the rows; a scan of none",
        "law",
        "of no rows both draw from the public weights",
    ),
    PrivateChoice(
        "winnow.lp.kernels.dense_projection",
        "how far weights have moved since the round before",
        "steps from the last threshold; from a sorted one",
        "charge",
        "the sensitivity includes L1_ERROR, and the distance to the exact projection is measured",
    ),
    PrivateChoice(
        "winnow.lp.kernels.lazy_columns",
        "how far weights have moved since a scan, and how many columns were turned down",
        "more or fewer proposals; a scan of all columns",
        "law",
        f"{_REJECTION} (winnow.lp.kernels.lazy_columns)",
    ),
    PrivateChoice(
        "winnow.lp.kernels.owned_rows",
        "how many rows people have",
        "float64 sums of one block of 2^22 rows; of several, one after another",
        "charge",
        "the sensitivity includes SUM_ERROR, which bounds the rounding of up to 2^31 rows in any "
        "blocks",
    ),
    PrivateChoice(
        "winnow.core.workloads.real",
        "how many rows, cells with rows, or contenders there are",
        "one block of an array; several (learn.kernels.rule_counts and core.noisy_top.keyed, too)",
        "value",
        "blocks are of queries, hypotheses or items, each computed by itself and exactly",
    ),
    PrivateChoice(
        "winnow.release.tables.crossing",
        "whether whole numbers stay within 64 bits: 2^34 rows of a table, 2^42 of learning, 2^62 "
        "of counts",
        "a release; a refusal before the charge, whose message is for the curator",
        "value",
        "an error of this kind is not public (sharp edges), and nothing is charged or drawn",
    ),
)
