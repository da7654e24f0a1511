"""The experiments of the five papers, run again, each with a line on what agrees and what differs.

LMM and PMW have no experiments; their claims are drawn instead. Data are generated, or read from
a folder that the user names. Every experiment runs with stated seeds on public or made-up data,
so nothing here is private, and nothing is charged.
"""

from winnow.reproduce.experiment import Claim, Experiment, Reproduced, Run
from winnow.reproduce.papers import PAPERS, Paper, chosen, paper_named

__all__ = [
    "PAPERS",
    "Claim",
    "Experiment",
    "Paper",
    "Reproduced",
    "Run",
    "chosen",
    "paper_named",
]
