"""``--plot`` without a file name: the figure is called after the command."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class PlottingCommand(TyperCommand):
    """A command whose ``--plot`` may stand alone.

    It does where nothing or another option follows it, so it comes last or before an option;
    ``winnow lp --plot model.mps`` names the figure model.mps, which is refused by its ending.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill in the name, then parse as ever."""
        filled: list[str] = []
        for place, argument in enumerate(args):
            filled.append(argument)
            following = args[place + 1] if place + 1 < len(args) else None
            if argument == "--plot" and (following is None or following.startswith("-")):
                filled.append(f"{self.name}.png")
        return super().parse_args(ctx, filled)
