"""What is drawn equals what the logs say; every figure draws, or says what it lacks."""

import itertools
import json
import re
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import pytest
from make_logs import Options, Settings, make_folder, make_run

from dglbench.clock import PHASES
from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.figures import FIGURES, find, save, time_vs_regret
from dglbench.report.statistics.profiles import anytime_means, anytime_scores, times_to_target
from dglbench.report.style.layout import Layout, parse_width
from dglbench.report.style.titles import title
from dglbench.report.tables import build

# They compare predictors, which the invented logs do not have: tests/report/test_rivals.py.
OF_PREDICTORS = ("when-it-pays", "predictors")


def rows_of(logs, run_id, table):
    return pq.read_table(logs / run_id / f"{table}.parquet").to_pylist()


def test_every_figure_says_what_it_shows():
    for figure in FIGURES.values():
        assert figure.title
        assert figure.caption.endswith(".")


@pytest.fixture(scope="module")
def sizes(tmp_path_factory):
    """One task at three sizes, which scaling asks for."""
    settings = [("matching", n, 25) for n in (10, 25, 50)]
    methods = ["two-stage", "spo", "dgl-1"]
    return make_folder(tmp_path_factory.mktemp("sizes"), methods, settings, epochs=6)


@dataclass(frozen=True)
class Curved:
    n: int = 5
    degree: int = 1


@pytest.fixture(scope="module")
def degrees(tmp_path_factory):
    """One task at two degrees, which by-degree asks for."""
    folder = tmp_path_factory.mktemp("degrees")
    for degree in (1, 6):
        for seed in (1, 2, 3):
            for method in ("two-stage", "spo"):
                settings = Curved(degree=degree)
                make_run(folder, method, "paths", 5, seed, epochs=3, settings=settings)
    return folder


@dataclass(frozen=True)
class Formed:
    lr: float = 0.01
    form: str = "plain"


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """The dual-guided loss in its three forms, plain and adjusted with two rates each."""
    folder = tmp_path_factory.mktemp("forms")
    for seed in (1, 2):
        make_folder(folder, ["spo", "rdgl-newton", "rdgl-5"], [("matching", 5, seed)], epochs=3)
        for number, (form, lr) in enumerate(itertools.product(("plain", "adjusted"), (0.1, 1.0))):
            for method in ("dgl-none", "dgl-5"):
                options, worse = Formed(lr, form), 1 + number / 10
                make_run(folder, method, "matching", 5, seed, epochs=3, options=options,
                         regret_factor=worse)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A search of three trials of one method."""
    folder = tmp_path_factory.mktemp("searched")
    for lr in (0.1, 0.2, 0.3):
        run = make_run(folder, "spo", epochs=3, options=Options(lr=lr), regret_factor=1 + lr)
    group = {"method": "spo", "run_id": run.name}
    (folder / "sweep-abc.json").write_text(json.dumps({"search": "random", "groups": [group]}))
    return folder


def test_every_form_and_refresh_shows_its_best_run_by_validation(forms):
    report = load(forms)
    frame = FIGURES["forms"].data(report)
    assert set(frame.select("form", "refresh").iter_rows()) == {
        *itertools.product(("plain", "adjusted"), ("none", "5")),
        *itertools.product(("reactive",), ("newton", "5")),
    }
    assert len(frame) == 2 * 6
    for (method, form), rows in frame.group_by("method", "form"):
        rates = {}  # a configuration is chosen for all data seeds of the setting at once
        for run in report.done:
            if run.method == method and run.options.get("form", "reactive") == form:
                rates.setdefault(run.options["lr"], []).append(run)
        best = min(rates.values(), key=lambda runs: sum(run.val_regret for run in runs))
        assert sorted(rows["test_regret"]) == sorted(run.test_regret for run in best)


def test_boxes_hold_the_pooled_regret_of_every_chosen_run(degrees):
    report = load(degrees)
    frame = FIGURES["by-degree"].data(report)
    columns = frame.select("setting", "method", "pooled_regret")
    assert sorted(columns.iter_rows()) == sorted(
        (run.unit.label, run.method, run.record.selected.test.pooled_regret)
        for run in report.chosen_runs()
    )
    assert set(frame["degree"]) == {1, 6}
    assert frame["panel"].n_unique() == 1


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in OF_PREDICTORS])
def test_every_figure_draws_without_a_warning(
    report, sizes, degrees, forms, searched, tmp_path, name, capfd
):
    target = tmp_path / f"{name}.png"
    special = {"scaling": sizes, "by-degree": degrees, "forms": forms, "tuning": searched}
    save(name, load(special[name]) if name in special else report, target)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert capfd.readouterr() == ("", "")


def test_vector_formats_and_the_same_bytes_twice(report, tmp_path):
    save("complexity", report, tmp_path / "figure.pdf", "pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    for name in ("first", "second"):
        save("complexity", report, tmp_path / name, "svg")
    first = (tmp_path / "first").read_bytes()
    assert first.startswith(b"<?xml")
    assert first == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("name", ["time-vs-regret", "solves-vs-regret", "per-seed"])
def test_curves_are_the_logs(report, logs, name):
    frame = FIGURES[name].data(report)
    shown = {row["run_id"] for row in frame.iter_rows(named=True)}
    runs = {run.run_id: run for run in report.chosen_runs()}
    for run_id in shown:
        mine = [row for row in frame.iter_rows(named=True) if row["run_id"] == run_id]
        logged = [row for row in rows_of(logs, run_id, "regret") if row["split"] == "test"]
        for column, source in (("test_regret", "relative_regret"), ("elapsed_s", "elapsed_s")):
            assert [row[column] for row in mine] == [row[source] for row in logged]
        assert mine[-1]["best_test_regret"] == runs[run_id].test_regret
    seeds = {row["seed"] for row in frame.iter_rows(named=True)}
    assert seeds == ({10, 25} if name == "per-seed" else {25})


def test_markers_sit_where_the_selected_epoch_was_reached(report):
    plot = FIGURES["time-vs-regret"].draw(report)
    markers = next(
        layer._data
        for layer in plot.layers
        if set(layer._data.columns) == {"method", "x", "y", "panel"}
    )
    chosen = {(run.unit.label, run.method): run for run in report.chosen_runs()}
    assert len(markers) == 3 * 8
    for mark in markers.itertuples():
        selected = chosen[mark.panel, mark.method].record.selected
        assert mark.y == selected.test.relative_regret
        assert mark.x == pytest.approx(selected.elapsed_s)


def test_warm_start_level_is_the_logged_one(report):
    frame = FIGURES["time-vs-regret"].data(report)
    for run in report.chosen_runs():
        level = frame.filter(setting=run.unit.label)["warm_start_regret"].unique().to_list()
        if level and run.warm_start_regret is not None:
            assert level == [run.warm_start_regret]


def test_time_split_is_the_mean_of_the_epochs(report, logs):
    ids = {(run.unit.label, run.method): run.run_id for run in report.chosen_runs()}
    for row in FIGURES["time-split"].data(report).iter_rows(named=True):
        run_id = ids[row["setting"], row["method"]]
        epochs = [line for line in rows_of(logs, run_id, "timing") if line["epoch"] > 0]
        phase = sum(line[f"{row['phase']}_s"] for line in epochs)
        assert row["seconds_per_epoch"] == pytest.approx(phase / len(epochs))
        assert row["share"] == pytest.approx(phase / sum(line["epoch_s"] for line in epochs))
        assert row["phase"] in PHASES


def test_complexity_follows_the_papers_formulas(report, logs):
    frame = FIGURES["complexity"].data(report)
    assert frame["run_id"].n_unique() == len(frame) == len(report.done)
    setting = "matching-50, seed 25"
    points = {row["method"]: row for row in frame.filter(setting=setting).iter_rows(named=True)}
    k = points["spo"]["instances"]

    def total(method, column):
        lines = rows_of(logs, points[method]["run_id"], "timing")
        return sum(line[column] for line in lines if line["epoch"] > 0)

    t_m = total("two-stage", "epoch_s") / (12 * k)
    t_o = total("spo", "solve_s") / total("spo", "solves_train")
    qp = (total("qptl", "solve_s") + total("qptl", "differentiate_s")) / (12 * k)
    refreshed = total("dgl-auto", "solves_refresh") / (12 * k)
    for method, extra in {
        "two-stage": 0,
        "spo": t_o,
        "qptl": qp,
        "dgl-none": 0,
        "dgl-1": t_o,
        "dgl-5": t_o / 5,
        "dgl-20": t_o / 20,
        "dgl-auto": refreshed * t_o,
    }.items():
        assert points[method]["predicted_s"] == pytest.approx(k * (t_m + extra))
    assert points["spo"]["measured_s"] == pytest.approx(total("spo", "epoch_s") / 12)


def test_complexity_never_mixes_conditions(tmp_path):
    make_run(tmp_path, "two-stage", epochs=3)
    make_run(tmp_path, "spo", epochs=3, environment={"concurrency": 4})
    methods = FIGURES["complexity"].data(load(tmp_path))["method"].to_list()
    assert methods == ["two-stage"]


def test_scaling_reads_epochs_and_target_off_the_logs(sizes):
    frame = FIGURES["scaling"].data(load(sizes))
    assert set(frame["task"]) == {"matching"}
    assert set(frame["measure"]) == {"one epoch, per instance", "to half of the best gain"}
    for row in frame.iter_rows(named=True):
        lines = rows_of(sizes, row["run_id"], "timing")
        if row["measure"] == "one epoch, per instance":
            spent = sum(line["epoch_s"] for line in lines if line["epoch"] > 0)
            if row["method"] == "dgl-1":  # its first refresh is booked as set-up
                spent += lines[0]["refresh_s"]
            assert row["seconds"] == pytest.approx(spent / (6 * 400))
        else:
            assert row["seconds"] in [line["elapsed_s"] for line in lines]


def test_dual_health_and_bound_are_the_logs(report, logs):
    health = FIGURES["dual-health"].data(report)
    bound = FIGURES["regret-bound"].data(report)
    assert set(health["method"]) == {"dgl-none", "dgl-1", "dgl-5", "dgl-20", "dgl-auto"}
    for run_id in health["run_id"].unique():
        duals = rows_of(logs, run_id, "duals")
        for measure in ("dual_gap", "share_refreshed", "share_broken"):
            first = 1 if measure == "share_refreshed" else 0
            drawn = health.filter(run_id=run_id, measure=measure)
            assert drawn["share"].to_list() == [row[measure] for row in duals[first:]]
        if run_id.startswith("knapsack"):
            continue  # its relaxation is not integral, as the theorem assumes
        for column in ("regret", "bound"):
            logged = [row[column] for row in rows_of(logs, run_id, "bound")]
            assert bound.filter(run_id=run_id)[column].to_list() == logged
        ratio = bound.filter(run_id=run_id)["ratio"].to_list()
        assert ratio == [row["bound"] / row["regret"] for row in rows_of(logs, run_id, "bound")]
    assert not any(name.startswith("knapsack") for name in bound["run_id"])


def test_refreshes_are_counted_where_duals_are_not_looked_at_every_epoch(tmp_path):
    folder = make_run(tmp_path, "dgl-1", epochs=12)
    report = load(tmp_path)
    duals = pq.read_table(folder / "duals.parquet")
    pq.write_table(duals.take(list(range(0, len(duals), 4))), folder / "duals.parquet")
    health = FIGURES["dual-health"].data(report)
    assert health.filter(measure="dual_gap")["epoch"].to_list() == [0, 4, 8, 12]
    refreshed = health.filter(measure="share_refreshed")
    assert refreshed["epoch"].to_list() == list(range(1, 13))
    assert refreshed["share"].sum() == 11, "every epoch but the first, whose duals are the set-up's"


def test_the_bound_is_drawn_where_the_run_says_the_relaxation_is_integral(tmp_path):
    make_run(tmp_path, "dgl-5", "matching", epochs=2)  # from before runs said so
    make_run(tmp_path, "dgl-5", "top-k", epochs=2, integral=True)
    make_run(tmp_path, "dgl-5", "offers", epochs=2, integral=False)
    report = load(tmp_path)
    assert set(FIGURES["regret-bound"].data(report)["setting"]) == {"matching-50", "top-k-50"}
    assert FIGURES["regret-bound"].draw(report).labels.get("caption", None) is None
    make_run(tmp_path, "dgl-5", "someone-elses", epochs=2)
    report = load(tmp_path)
    assert set(FIGURES["regret-bound"].data(report)["setting"]) == {"matching-50", "top-k-50"}
    caption = FIGURES["regret-bound"].draw(report).labels.caption
    assert caption == "left out, not known to have an integral relaxation: someone-elses"


def test_a_bound_that_says_nothing_is_refused_in_a_sentence(tmp_path):
    make_run(tmp_path, "dgl-5", "knapsack", n=24, epochs=2)
    make_run(tmp_path, "dgl-5", "scheduling", epochs=2, integral=False)
    with pytest.raises(ReportError, match="which it is not for knapsack, scheduling; `dglbench"):
        FIGURES["regret-bound"].draw(load(tmp_path))


@pytest.mark.parametrize(
    ("name", "methods", "sentence"),
    [
        ("per-seed", ["spo"], r"at least two data seeds; `dglbench sweep"),
        ("by-degree", ["spo"], r"at least two degrees.*`dglbench sweep --preset shortest-path"),
        ("forms", ["dgl-5"], r"two forms .*`dglbench sweep --methods dgl-5,rdgl-5"),
        ("complexity", ["spo"], r"needs a two-stage run .*`dglbench sweep"),
        ("scaling", ["spo"], r"at least three sizes.*`dglbench sweep"),
        ("dual-health", ["spo"], r"run of a dgl method with --diagnostics; `dglbench train"),
        ("regret-bound", ["spo"], r"run of a dgl method with --diagnostics; `dglbench train"),
        ("ranks", ["spo", "qptl"], r"three methods .*at least two settings; `dglbench sweep"),
        ("profile", ["spo"], r"two methods in at least two settings.*`dglbench sweep"),
        ("anytime", ["spo"], r"two methods or more.*`dglbench sweep"),
    ],
)
def test_what_is_missing_is_said_with_the_command(tmp_path, name, methods, sentence):
    make_folder(tmp_path, methods, [("matching", 10, 25)], epochs=3)
    with pytest.raises(ReportError, match=sentence):
        FIGURES[name].draw(load(tmp_path))


@pytest.mark.parametrize("method", ["two-stage", "dgl-auto", "someone-elses-long-name"])
@pytest.mark.parametrize("name", ["time-vs-regret", "solves-vs-regret"])
def test_one_run_is_enough_for_the_main_figures(tmp_path, name, method):
    make_run(tmp_path, method, epochs=2)
    save(name, load(tmp_path), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_one_method_on_one_setting(tmp_path):
    make_run(tmp_path, "dgl-5", epochs=1)
    report = load(tmp_path)
    for name in ("time-split", "dual-health", "regret-bound"):
        save(name, report, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").is_file()


def test_seconds_that_may_not_be_ranked_are_marked(tmp_path):
    make_run(tmp_path, "spo", epochs=2)
    make_run(tmp_path, "dgl-1", epochs=2, environment={"threads": 2})
    plot = FIGURES["time-vs-regret"].draw(load(tmp_path))
    assert "different conditions" in plot.labels.caption
    assert {panel for layer in plot.layers for panel in layer._data["panel"]} == {"matching-50 *"}


def test_unknown_figure_and_format_list_the_choices(report, tmp_path):
    with pytest.raises(ReportError, match="there is no figure 'pie'; there are restarts, spread"):
        find("pie")
    with pytest.raises(ReportError, match="png, svg, pdf, not as 'gif'"):
        save("pipelines", report, tmp_path / "x.gif", "gif")
    assert not (tmp_path / "x.gif").exists()


@pytest.mark.parametrize(
    "name", [name for name in FIGURES if name not in ("scaling", *OF_PREDICTORS)]
)
def test_figures_come_as_wide_as_a_column_or_the_text(
    report, degrees, forms, searched, tmp_path, name
):
    special = {"by-degree": degrees, "forms": forms, "tuning": searched}
    report = load(special[name]) if name in special else report
    save(name, report, tmp_path / "figure.pdf", "pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    for words, inches in (("column", 3.4), ("text", 7.0)):
        target = tmp_path / f"{words}.svg"
        save(name, report, target, "svg", Layout(parse_width(words)))
        width, height = re.search(
            r'width="([\d.]+)pt" height="([\d.]+)pt"', target.read_text()
        ).groups()
        assert float(width) == pytest.approx(72 * inches, abs=1)
        assert float(height) > 100


def test_many_settings_show_the_best_of_each_family_by_validation(tmp_path):
    settings = [("matching", n, 25) for n in (10, 20, 30, 40, 50)]
    make_folder(tmp_path, ["spo", "dgl-none", "dgl-1", "dgl-5"], settings, epochs=4)
    report = load(tmp_path)
    frame = FIGURES["time-vs-regret"].data(report)
    for unit in report.units:
        drawn = set(frame.filter(setting=unit.label)["method"].to_list())
        dgl = [run for run in report.chosen_runs(unit) if run.method.startswith("dgl")]
        assert drawn == {"spo", min(dgl, key=lambda run: run.val_regret).method}
    everything = time_vs_regret.data(report, Layout(every_method=True))
    assert set(everything["method"]) == {"spo", "dgl-none", "dgl-1", "dgl-5"}


def test_three_seeds_are_drawn_as_mean_and_range(tmp_path):
    make_folder(tmp_path, ["spo", "qptl"], [("matching", 10, s) for s in (1, 2, 3)], epochs=4)
    report = load(tmp_path)
    plot = FIGURES["time-vs-regret"].draw(report)
    (band,) = (
        layer._data
        for layer in plot.layers
        if set(layer._data.columns) == {"x", "method", "low", "high", "panel"}
    )
    assert set(band["panel"]) == {"matching-10, 3 seeds"}
    for method in ("spo", "qptl"):
        regrets = [run.test_regret for run in report.chosen_runs() if run.method == method]
        last = band[band["method"] == method].iloc[-1]
        assert last["low"] < np.mean(regrets) < last["high"]
        # What the data seeds differ by for both methods alike is no part of the band.
        assert last["high"] - last["low"] < max(regrets) - min(regrets)


def test_forms_keep_the_order_of_the_settings_and_to_a_page(tmp_path):
    for share in (0.75, 0.25, 0.5):
        settings = Settings(n=48, capacity_fraction=share)
        methods = ("dgl-5", "rdgl-5") if share == 0.75 else ("rdgl-5", "dgl-5")
        for method in methods[: 1 if share == 0.5 else 2]:
            make_run(tmp_path, method, "knapsack", 48, epochs=2, settings=settings)
    report = load(tmp_path)
    drawn = FIGURES["forms"].draw(report).data["panel"].cat.categories.to_list()
    assert drawn == [title(unit) for unit in report.units]
    for columns in (1, 2):
        plot = FIGURES["forms"].draw(report, Layout(3.4 * columns))
        assert plot.theme.getp("figure_size")[1] <= 9


def uneven(folder):
    """Two methods in four settings, a third in one of them: where scores are low, or high."""
    make_folder(folder, ["spo", "dgl-1"], [("matching", n, 25) for n in (10, 20, 30, 40)], epochs=8)
    make_run(folder, "dgl-5", n=10, epochs=8)
    return load(folder)


def test_means_compare_over_the_settings_that_methods_share(tmp_path):
    report = uneven(tmp_path)
    scores, _ = anytime_scores(report)
    means = anytime_means(report, scores)
    assert [mean.shared for mean in means.values()] == [True, True, False]
    assert list(means)[-1] == "dgl-5"
    assert means["dgl-5"].settings == 1
    assert means["spo"].score == pytest.approx(np.mean([found["spo"] for found in scores.values()]))
    plot = FIGURES["anytime"].draw(report)
    names = plot.data["name"].cat.categories.to_list()
    assert names[0] == "DGL-5 (1)", "the lowest row, with how many settings it has"
    assert "means over 4 of 4 settings" in plot.labels.caption
    rows = {row["method"]: row for row in build("anytime", report).records()}
    assert rows["dgl-5"]["mean"] == means["dgl-5"].score
    marked = [row[0].value for row in build("anytime", report).rows if row[1].tone == "best"]
    assert marked == [next(iter(means))]


def test_what_was_not_run_is_said_in_the_picture(tmp_path):
    report = uneven(tmp_path)
    assert "counts as not getting there: DGL-5" in FIGURES["profile"].draw(
        report
    ).labels.caption.replace("\n", " ")
    make_folder(tmp_path, ["qptl"], [("matching", n, 25) for n in (10, 20, 30, 40)], epochs=8)
    report = load(tmp_path)
    assert "left out: 1 method not run in all" in FIGURES["ranks"].draw(report).labels.caption
    blank = FIGURES["time-split"].draw(report).layers[-1]
    assert blank.geom.aes_params["label"] == "not run"
    assert set(blank._data["name"]) == {"DGL-5"}
    assert len(blank._data) == 3


def test_profiles_step_where_a_method_gets_within_a_factor(report):
    frame = FIGURES["profile"].data(report)
    times = times_to_target(report)
    for row in frame.iter_rows(named=True):
        assert row["share"] == pytest.approx(times.share(row["method"], row["factor"]))
