"""Workloads of every kind over one small schema."""

import numpy as np

import winnow as wn

SCHEMA = wn.Schema.parse(
    {
        "age": {"edges": [0, 20, 40, 60, 120], "other": True},
        "sex": {"values": ["Female", "Male"]},
        "rank": 7,
    }
)
WORKLOADS = {
    "marginals": wn.marginals([1, 2, 3]),
    "sampled marginals": wn.marginals(2, sample=2, seed=3),
    "prefixes": wn.prefixes("age"),
    "ranges": wn.ranges("rank"),
    "sampled ranges": wn.ranges("rank", count=9, seed=1),
    "prefixes times a table": wn.prefixes("age") * wn.marginals(["sex"]),
    "products of ranges": wn.ranges("rank", count=4, seed=2) * wn.prefixes("age"),
    "three factors": wn.marginals("sex") * wn.ranges("age", count=3, seed=5) * wn.prefixes("rank"),
    "where": wn.where(age=(20, 60), sex="Female") + wn.where(rank=[1, 4], age="other"),
    "binary": wn.random_queries(40, seed=1),
    "sparse binary": wn.random_queries(40, density=0.1, seed=1),
    "real": wn.random_queries(40, kind="real", seed=1),
    "coarse real": wn.random_queries(40, kind="real", grid=3, seed=1),
    "fine real": wn.random_queries(40, kind="real", grid=70_000, seed=1),
    "gaussian": wn.random_queries(40, kind="gaussian", draws=20, seed=1),
    "array": wn.queries(np.eye(70, dtype=bool)),
    "signed array": wn.queries(np.linspace(-2, 2, 70)[None, :].round(1), grid=20, bound=2),
}
