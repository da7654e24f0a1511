"""``winnow plan release``: the errors of every method of a release, from public numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.cli.derived import Typed
from winnow.cli.of_table import AssumedTable
from winnow.cli.options import (
    OutOption,
)
from winnow.cli.reporting import reported
from winnow.release.cli.command import WorkloadOption
from winnow.release.request import PlannedRelease

if TYPE_CHECKING:
    pass


EXAMPLES = """\
Examples:

winnow plan release --schema schema.json --workload marginals:3 -n 30000 --epsilon 1 --delta 1e-6

winnow plan release --schema schema.json --workload marginals:2+ranges:age -n 30000 --error 50 \
--delta 1e-6
"""


@reported()
def release(
    assumed: AssumedTable,
    workload: WorkloadOption,
    asked: Typed[PlannedRelease],
    out: OutOption = None,
) -> None:
    """Predict the errors of a release; no data are read and nothing is spent.

    One line for each method: the errors to expect over all queries, in rows.
    """
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.printing import show_plan
    from winnow.core.saving import check_target, save
    from winnow.release.cli.run import public_files, with_cells
    from winnow.release.cli.view import workload_of

    if out is not None:
        check_target(out)
        refuse_overwriting(public_files(asked, assumed.schema, workload), "--out", out)
    declared = assumed.declared()
    request = asked(workload=workload_of(workload), method=with_cells(asked, declared))
    planned = request.plan(assumed.about(declared))
    document = planned.to_dict()
    show_plan(planned, json=assumed.json)
    if out is not None:
        names = ("cells", "queries", "rows", "rows_per_person", "epsilon", "delta", "relation")
        said = {name: document[name] for name in names}
        save(out, document, [{**row, **said} for row in document["compared"]])
