"""Errors of private regressions: Winnow beside diffprivlib and AdaSSP, on made-up tables.

Linear: by how much predictions differ from those of the least squares without noise, in root mean
square, as a share of half the target's range; predictions are cut to that range. Pure epsilon
beside diffprivlib, with the same bounds: Winnow's neighbours replace a row, which costs it twice as
much as a row more or less. With a delta beside AdaSSP [Wang 2018]: neighbours add or remove a row.

Logistic: the area under the curve and the log loss of 20,000 new rows. Sums of products give a
quadratic approximation of the logistic loss [Huggins-Adams-Broderick 2017], so a linear regression
of -1 and 1, times a factor, is what Winnow could offer. Beside it objective perturbation
[Chaudhuri-Monteleoni-Sarwate 2011] by diffprivlib's mechanism for it.
Run: python benchmarks/regression.py [--quick]
"""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

import winnow as wn
from _common import arguments, machine, report, save
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.read.crossing import SealedTable, group

DELTA = 1e-6
STEPS = 2_000
FAMILIES = ("even", "bell", "one factor", "skewed", "rare")
SETTINGS = list(product(FAMILIES, (1_000, 10_000), (3, 10), (0.5, 2.0)))
LOGISTIC = list(product(("even", "bell"), (1_000, 10_000), (3, 10), (0.5, 2.0)))
FACTOR = 1 / (4 * 0.0825)
"""Of log(1 + e^-s) the best square on -4 .. 4 has .0825 s^2."""


def features(family: str, n: int, many: int, rng: np.random.Generator) -> Any:
    """Numbers between -1 and 1."""
    if family == "even":
        return rng.uniform(-1, 1, (n, many))
    if family == "bell":
        return np.clip(rng.normal(0.1, 0.3, (n, many)), -1, 1)
    if family == "one factor":
        common = rng.normal(0, 0.25, (n, 1))
        return np.clip(common + rng.normal(0, 0.2, (n, many)), -1, 1)
    if family == "skewed":
        return np.clip(2 * rng.lognormal(-2, 0.7, (n, many)) - 1, -1, 1)
    return rng.choice([-1.0, 1.0], (n, many), p=[0.9, 0.1])


def explained(z: Any, rng: np.random.Generator) -> Any:
    """A target between -1 and 1, four fifths of whose variance the features explain."""
    score = z @ rng.normal(0, 1, z.shape[1])
    score = (score - score.mean()) / score.std()
    return np.clip(0.3 * score + rng.normal(0, 0.15, len(z)) - 0.1, -1, 1)


def sealed(z: Any, y: Any, relation: Relation, codes: int = STEPS + 1) -> SealedTable:
    """A table of features and target on a grid of 2,001 numbers; of classes with two codes."""
    number = {"type": "number", "low": -1, "high": 1, "step": 2 / STEPS}
    names = [f"x{i}" for i in range(z.shape[1])]
    schema = wn.Schema.parse({**dict.fromkeys(names, number), "y": number if codes > 2 else 2})
    held = [*z.T, y] if codes > 2 else [*z.T, 2 * y / STEPS - 1]
    columns = tuple(np.rint((each + 1) * STEPS / 2).astype(np.int32) for each in held)
    rows = group(columns, np.ones(len(y), np.int64), schema.shape)
    return SealedTable(schema, Sealed(rows, "rows"), 1, relation)


def adassp(z: Any, y: Any, epsilon: float, rng: np.random.Generator) -> Any:
    """Algorithm 2 of Wang 2018 with Gaussian noise: three parts of the budget."""
    x = np.column_stack([np.ones(len(z)), z])
    size, bound = x.shape[1], x.shape[1]  # the square of the longest row
    deviation = math.sqrt(math.log(6 / DELTA)) / (epsilon / 3)
    gram = x.T @ x
    least = np.linalg.eigvalsh(gram)[0] + deviation * bound * rng.normal()
    least = max(0.0, least - math.log(6 / DELTA) / (epsilon / 3) * bound)
    ridge = math.sqrt(size * math.log(2 * size**2 / 0.05)) * deviation * bound
    noise = np.triu(rng.normal(0, 1, (size, size)))
    noise = noise + np.triu(noise, 1).T
    return np.linalg.solve(
        gram + deviation * bound * noise + max(0.0, ridge - least) * np.eye(size),
        x.T @ y + deviation * math.sqrt(bound) * rng.normal(0, 1, size),
    )


def linear(setting: tuple[Any, ...], seed: int, runs: int) -> dict[str, Any]:
    """The errors of one setting: a new table for each run."""
    from diffprivlib.models import LinearRegression

    family, n, many, epsilon = setting
    rng = np.random.default_rng([seed, *map(ord, family), n, many])
    off: dict[str, list[float]] = {}
    for run in range(runs):
        z = features(family, n, many, rng)
        y = explained(z, rng)
        x = np.column_stack([np.ones(n), z])
        true = x @ np.linalg.lstsq(x, y, rcond=None)[0]
        found = {}
        for name, relation, delta in (
            ("winnow", Relation.SUBSTITUTION, 0.0),
            ("winnow, delta", Relation.ADD_REMOVE, DELTA),
        ):
            table = sealed(z, y, relation)
            asked = {"epsilon": epsilon, "delta": delta, "seed": seed + run}
            found[name] = wn.regress(table, "y", **asked).value.coefficient
        ends = -np.ones(many), np.ones(many)
        model = LinearRegression(epsilon=epsilon, bounds_X=ends, bounds_y=(-1, 1), random_state=run)
        model.fit(z, y)
        found["diffprivlib"] = np.append(model.intercept_, model.coef_)
        found["adassp"] = adassp(z, y, epsilon, rng)
        for name, coefficients in found.items():
            error = np.clip(x @ coefficients, -1, 1) - true
            off.setdefault(name, []).append(float(np.mean(error**2)))
    errors = {name: math.sqrt(float(np.mean(each))) for name, each in off.items()}
    return {"data": family, "n": n, "features": many, "epsilon": epsilon, **errors}


def logistic(setting: tuple[Any, ...], seed: int, runs: int) -> dict[str, Any]:
    """Areas and log losses of one setting."""
    family, n, many, epsilon = setting
    rng = np.random.default_rng([seed, *map(ord, family), n, many, 7])
    found: dict[str, list[tuple[float, float]]] = {}
    for run in range(runs):
        z = features(family, n + 20_000, many, rng)
        slopes = rng.normal(0, 1, many)
        chance = expit(2.5 * (z @ slopes) / np.std(z @ slopes) - 0.5)
        y = (rng.uniform(size=len(z)) < chance).astype(int)
        table = sealed(z[:n], y[:n], Relation.SUBSTITUTION, 2)
        released = wn.regress(table, "y", epsilon=epsilon, seed=seed + run).value.coefficient
        perturbed = by_objective(z[:n], y[:n], epsilon, run)
        scores = {
            "winnow": FACTOR * (2 * (released[0] + z[n:] @ released[1:]) - 1),
            "diffprivlib": perturbed[0] + z[n:] @ perturbed[1:],
        }
        for name, score in scores.items():
            found.setdefault(name, []).append((area(score, y[n:]), loss(score, y[n:])))
    means = {name: [float(each) for each in np.mean(held, axis=0)] for name, held in found.items()}
    return {"data": family, "n": n, "features": many, "epsilon": epsilon, **means}


def by_objective(z: Any, y: Any, epsilon: float, seed: int) -> Any:
    """Coefficients by objective perturbation, with a ridge of 1 as diffprivlib has."""
    from diffprivlib.mechanisms import Vector
    from scipy.optimize import minimize

    x, sign = np.column_stack([np.ones(len(z)), z]), 2 * y - 1
    size = x.shape[1]
    mechanism = Vector(
        epsilon=epsilon, dimension=size, alpha=1.0, function_sensitivity=0.25,
        data_sensitivity=math.sqrt(size), random_state=seed,
    )  # fmt: skip

    def objective(w: Any) -> tuple[float, Any]:
        margin = sign * (x @ w)
        slope = -(x.T @ (sign * expit(-margin))) + w
        return float(np.logaddexp(0, -margin).sum() + w @ w / 2), slope

    noisy = mechanism.randomise(objective)
    return minimize(noisy, np.zeros(size), jac=True, method="L-BFGS-B").x


def area(score: Any, y: Any) -> float:
    """The chance that a row of class 1 has the higher score."""
    ranks = np.argsort(np.argsort(score))
    ones = int(y.sum())
    return float((ranks[y == 1].sum() - ones * (ones - 1) / 2) / (ones * (len(y) - ones)))


def loss(score: Any, y: Any) -> float:
    """The mean logarithmic loss."""
    return float(np.mean(np.logaddexp(0, np.where(y == 1, -score, score))))


def main() -> None:
    """Measure all settings."""
    parser = arguments(__doc__ or "", "regression")
    parser.add_argument("--quick", action="store_true", help="3 runs each")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    runs = 3 if asked.quick else 20
    rows = [linear(each, asked.seed, runs) for each in SETTINGS]
    classes = [logistic(each, asked.seed, runs) for each in LOGISTIC]
    names = ("winnow", "diffprivlib", "winnow, delta", "adassp")
    report(
        "Errors of predictions",
        ["data", "n", "features", "epsilon", *names],
        [
            [r["data"], f"{r['n']:,}", str(r["features"]), f"{r['epsilon']:g}",
             *(f"{r[name]:.3g}" for name in names)]
            for r in rows
        ],
    )  # fmt: skip
    report(
        "Areas under the curve, and log losses",
        ["data", "n", "features", "epsilon", "winnow", "diffprivlib"],
        [
            [r["data"], f"{r['n']:,}", str(r["features"]), f"{r['epsilon']:g}",
             *(f"{r[name][0]:.3f} {r[name][1]:.3f}" for name in ("winnow", "diffprivlib"))]
            for r in classes
        ],
    )  # fmt: skip
    save(asked.out, {"machine": machine(), "runs": runs, "rows": rows, "logistic": classes})


if __name__ == "__main__":
    main()
