"""What the pages of all releases share: for whom, what was counted, the promise, the receipt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, assert_never

from winnow.core.checks import exact
from winnow.core.notebook import escaped as text
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.privacy import Guarantee
from winnow.privacy.rounding import text_up
from winnow.show.report.page import heading, page, pairs_table, paragraph

FOR_EVERYONE = "It is for everyone, and may be published."


@dataclass(frozen=True)
class Frame:
    """The parts of a page that are not about its numbers."""

    released: Released[Any]
    title: str
    """The public name of the dataset, or of the release."""
    date: str = ""
    rows_per_person: int | None = None

    def page(
        self,
        what: str,
        parts: Iterable[str],
        *,
        whom: str = FOR_EVERYONE,
        after: str = "",
        banner: str = "",
        private: str = "",
    ) -> bytes:
        """The page as the content of an .html file.

        ``what`` was released, ``parts`` are its numbers as markup, ``after`` stands between the
        promise and the receipt, and ``private`` is what only the owner may see.
        """
        released = self.released
        when = f" of {self.date}" if self.date else ""
        lead = f"{what}: a release{when} with noise that protects every "
        lead += f"{released.guarantee.unit.name}. {whom}"
        body = [f"<h1>{text(self.title)}</h1>\n", paragraph(lead, "lead")]
        if released.receipt.randomness != "os":
            seeded = "Seeded: this release is repeatable, for tests only. It is not private."
            body.append(paragraph(seeded, "warning"))
        for name, words in released.note():
            body.append(paragraph(f"{name.capitalize()}: {words}.", "warning"))
        body += parts
        body.append(heading("What is promised"))
        body += map(paragraph, promise_in_words(released.guarantee, self.rows_per_person))
        body += [after, heading("Receipt")]
        receipt = [("guarantee", str(released.guarantee)), *released.receipt.lines()]
        body += [pairs_table(receipt), private]
        title = f"{banner} - {self.title}" if banner else self.title
        return page(title, "".join(body), _warning(banner))


def _warning(banner: str) -> str:
    """A red line on top of a page that only the owner may see."""
    if not banner:
        return ""
    about = "This page shows true answers of the private table, without noise."
    return f'<div class="danger">{text(banner)}. {about}</div>\n'


def promise_in_words(guarantee: Guarantee, rows_per_person: int | None) -> list[str]:
    """The guarantee for people who do not know its definition."""
    contributed = ""
    if rows_per_person is not None:
        rows = "one row" if rows_per_person == 1 else f"at most {rows_per_person:,} rows"
        contributed = f"One person contributes {rows} of the table. "
    match guarantee.relation:
        case Relation.ADD_REMOVE:
            change = "were left out or added"
        case Relation.SUBSTITUTION:
            change = "were replaced by anything else"
        case never:
            assert_never(never)
    epsilon, delta = (text_up(exact("", x)) for x in (guarantee.epsilon, guarantee.delta))
    most = math.exp(min(guarantee.epsilon, 700))
    factor = f"e^{epsilon} = {most:.3g}" if most < 1e6 else f"e^{epsilon}"
    slack = f", but for a probability of at most delta = {delta}" if guarantee.delta else ""
    return [
        f"({epsilon}, {delta})-differential privacy. {contributed}"
        f"If the contribution of any one person {change}, no result would be more likely than "
        f"before by more than a factor of {factor}{slack}.",
        "This holds whatever others know, and whatever is computed from the release later.",
    ]
