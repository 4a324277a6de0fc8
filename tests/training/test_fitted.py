"""Least squares and boosted trees: fitted at once, then a predictor like any other."""

import dataclasses
import io
import json

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor

import dglbench
from dglbench.errors import OptionError
from dglbench.layout import Table
from dglbench.methods.boosted_trees import BoostedTreesOptions, fit_models, tree_arrays
from dglbench.methods.least_squares import solve
from dglbench.plugins import find_task
from dglbench.predictors.checks import build_predictor
from dglbench.predictors.choice import check_predictor, find_predictor
from dglbench.predictors.fitted import table
from dglbench.predictors.trees import Trees
from dglbench.sweep.request.defaults import resolve_data
from dglbench.sweep.request.specs import single_run
from dglbench.training.apply import load_predictor
from dglbench.training.compatibility import check_fit
from dglbench.training.evaluation import load_data
from dglbench.training.predictor import predict
from dglbench.training.train import train

from .helpers import FITTED, TASKS, fastest


def dataset_of(task):
    return load_data(resolve_data(find_task(task), TASKS[task], 25)).dataset


TASK_NAMES = [
    name
    for name in sorted(TASKS)
    if not find_predictor("boosted-trees").refuses(find_task(name), dataset_of(name))
]


def fitted(task, method, **protocol):
    spec = single_run(task, method, settings=TASKS[task], solver=fastest(task), **protocol)
    loaded = load_data(spec.data)
    check_fit(spec, loaded.dataset)
    return spec, train(spec, loaded.dataset, None, evaluator=loaded.evaluator)


def network_of(task, method, weights):
    network = build_predictor(find_predictor(method), find_task(task), dataset_of(task))
    network.load_state_dict(torch.load(io.BytesIO(weights), weights_only=True))
    return network.eval()


def drawn(rows=60, features=5, outputs=3, missing=0.0, seed=0):
    draws = np.random.default_rng(seed)
    counted = draws.random((rows, outputs)) >= missing
    return Table(
        draws.normal(size=(rows, features)), draws.normal(size=(rows, outputs)) + 2.0, counted
    )


def whole_design(rows, shared):
    """A column per unknown: shared weights, then each output's own weights and intercept."""
    features, outputs = rows.inputs.shape[1], rows.targets.shape[1]
    own = features - shared
    width = shared + outputs * (own + 1)
    design = np.zeros((*rows.targets.shape, width))
    for j in range(outputs):
        first = shared + j * (own + 1)
        design[:, j, :shared] = rows.inputs[:, :shared]
        design[:, j, first : first + own] = rows.inputs[:, shared:]
        design[:, j, first + own] = 1.0
    return design[rows.counted], rows.targets[rows.counted]


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("shared", [0, 2])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_least_squares_is_numpys_solution(missing, shared, ridge):
    rows = drawn(missing=missing)
    outputs, own = 3, 5 - shared
    design, right = whole_design(rows, shared)
    penalised = np.ones(design.shape[1])
    penalised[shared + own :: own + 1] = 0.0  # intercepts
    extra = np.sqrt(ridge) * np.diag(penalised)
    wanted = np.linalg.lstsq(
        np.vstack([design, extra]), np.concatenate([right, np.zeros(len(extra))]), rcond=None
    )[0]
    line = solve(rows, shared, ridge)
    by_output = wanted[shared:].reshape(outputs, own + 1)
    np.testing.assert_allclose(line.shared, wanted[:shared], atol=1e-10)
    np.testing.assert_allclose(line.own, by_output[:, :own], atol=1e-10)
    np.testing.assert_allclose(line.intercept, by_output[:, own], atol=1e-10)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_least_squares_predicts_what_numpy_predicts_on_every_layout(task):
    """From raw features and labels, by the pseudoinverse: no frame, no standardisation."""
    _, output = fitted(task, "least-squares")
    assert output.record.state == "done", output.record.status.traceback
    data, layout = dataset_of(task), find_task(task).layout(dataset_of(task))
    network = network_of(task, "least-squares", output.weights)
    features = data.part(data.features, "train")
    inputs = features.reshape(-1, layout.features[0])
    rows = table(network, layout, data, "train")
    level = network.outputs.level.numpy()
    labels = rows.targets * float(network.outputs.unit) + level  # in the labels' own unit
    design, right = whole_design(Table(inputs, labels, rows.counted), layout.shared)
    wanted = design @ (np.linalg.pinv(design) @ right)
    with torch.no_grad():
        answers = network.outputs(network.network(network.inputs(torch.from_numpy(inputs))))
    scale = np.abs(right).max()
    np.testing.assert_allclose(answers.numpy()[rows.counted], wanted, atol=1e-10 * scale, rtol=0)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_trees_are_scikit_learns_to_rounding(task):
    data, chosen = dataset_of(task), find_task(task)
    network = build_predictor(find_predictor("boosted-trees"), chosen, data)
    train_rows, val_rows = (
        table(network, chosen.layout(data), data, split) for split in ("train", "val")
    )
    options = BoostedTreesOptions(rounds=30, leaves=7)
    models = fit_models(HistGradientBoostingRegressor, train_rows, val_rows, options)
    network.network.load_state_dict(tree_arrays(models))
    wanted = np.stack([model.predict(val_rows.inputs) for model in models], axis=1)
    with torch.no_grad():
        answers = network.network(torch.from_numpy(val_rows.inputs)).numpy()
    np.testing.assert_allclose(answers, wanted, rtol=1e-12, atol=1e-12)
    assert np.ptp(wanted) > 0 or train_rows.targets.std() == 0 or len(train_rows.inputs) < 40


def test_trees_end_where_validation_error_stops_falling():
    rows, noise = drawn(rows=200, outputs=1), drawn(rows=80, outputs=1, seed=1)
    nobody = Table(noise.inputs[:0], noise.targets[:0], noise.counted[:0])
    options = BoostedTreesOptions(rounds=60)
    (watched,) = fit_models(HistGradientBoostingRegressor, rows, noise, options)
    (unwatched,) = fit_models(HistGradientBoostingRegressor, rows, nobody, options)
    assert watched.n_iter_ < unwatched.n_iter_ == 60


def test_trees_follow_every_row_whatever_the_chunk(monkeypatch):
    rows = drawn(rows=90, outputs=2)
    models = fit_models(HistGradientBoostingRegressor, rows, rows, BoostedTreesOptions(rounds=5))
    trees = Trees(2)
    trees.load_state_dict(tree_arrays(models))
    inputs = torch.from_numpy(rows.inputs).reshape(9, 10, 5)
    whole = trees(inputs)
    assert whole.shape == (9, 10, 2)
    monkeypatch.setattr("dglbench.predictors.trees._AT_ONCE", 1)
    assert torch.equal(trees(inputs), whole)


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("method", FITTED)
def test_a_run_is_evaluated_once_and_costs_no_solve(task, method):
    spec, output = fitted(task, method, epochs=7)
    record = output.record
    assert record.state == "done", record.status.traceback
    assert record.summary.epochs_run == record.selected.epoch == 0
    assert record.summary.train_s == record.summary.setup_s > 0
    assert record.summary.training_solves == 0
    assert [row["epoch"] for row in output.tables["regret"].to_pylist()] == [0, 0]
    again = fitted(task, method, epochs=3)
    assert again[0].run_id == spec.run_id, "what epochs others have changes nothing"
    assert again[1].record.selected.test == record.selected.test
    assert again[1].weights == output.weights
    assert fitted(task, method, dtype="float32")[1].record.state == "done"


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("method", FITTED)
def test_it_is_kept_applied_and_exported(task, method, tmp_path):
    def made():
        return dglbench.train(
            task, method, set=TASKS[task], solver=fastest(task), out=tmp_path / "runs"
        )

    trained = made()
    data, problem = trained.dataset, trained.dataset.problem
    features, labels = data.part(data.features, "train"), data.part(data.labels, "train")
    loaded = load_predictor(trained.folder)
    at_labels = np.square(loaded.predict(features) - labels)[:, problem.counted].mean()
    assert at_labels < labels[:, problem.counted].var(), "it fits better than their mean does"
    before = trained.folder.stat().st_mtime_ns
    assert made().folder.stat().st_mtime_ns == before, "the same command leaves it as it is"
    _, output = fitted(task, method)
    network = network_of(task, method, output.weights)
    test = torch.from_numpy(data.part(data.features, "test"))
    judged = predict(network, test).numpy()
    assert loaded.predict(test.numpy()).tobytes() == judged.tobytes(), "as it was evaluated"
    trained.export(tmp_path / "model.pt2")
    program = torch.export.load(tmp_path / "model.pt2").module()
    np.testing.assert_allclose(program(test).detach(), judged, rtol=1e-9, atol=1e-9)


def test_data_without_validation_instances_are_fitted(tmp_path, cli):
    draws = np.random.default_rng(3)
    np.savez(
        tmp_path / "mine.npz",
        features=draws.normal(size=(40, 6, 3)),
        labels=draws.normal(size=(40, 6)) + 3,
        A=np.ones((1, 6)),
        b=[2.0],
        split=np.repeat(["train", "test"], 20),
    )
    made = cli("import", "mine.npz", "--name", "mine", "--out", "m.parquet")
    assert made.code == 0, made.err
    for method in FITTED:
        words = ("--data", "m.parquet", "--method", method, "--out", "runs")
        done = cli("train", *words, "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["status"]["state"] == "done"


def test_a_sweep_makes_one_run_whatever_is_compared(cli, tmp_path):
    words = ("--tasks", "matching-8", "--methods", "two-stage,least-squares,boosted-trees")
    small = ("--set", "train=30", "--set", "val=10", "--set", "test=10", "--epochs", "2")
    both = ("--predictor", "linear", "--predictor", "mlp:hidden=4", "--repeats", "2")
    quick = (
        "--warm-start-epochs",
        "2",
        "--solver",
        "batched",
        "--option",
        "boosted-trees.rounds=5",
    )
    done = cli("sweep", *words, *small, *both, *quick, "--out", ".")
    assert done.code == 0, done.err
    names = sorted(path.name for path in tmp_path.glob("matching-8-s*"))
    assert sum("two-stage" in name for name in names) == 4
    assert sum("least-squares" in name for name in names) == 1
    assert sum("boosted-trees" in name for name in names) == 1


@pytest.mark.parametrize("method", FITTED)
def test_apply_and_export_give_what_evaluation_gave(cli, tmp_path, method):
    words = ("matching-8", "--set", "train=30", "--set", "val=10", "--set", "test=10")
    done = cli("train", *words, "--method", method, "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    trained = load_predictor(tmp_path / document["run"])
    data = trained.dataset
    features, labels = data.part(data.features, "test"), data.part(data.labels, "test")
    error = (trained.predict(features) - labels)[:, data.problem.counted]
    evaluated = document["summary"]["selected"]["test"]["mse"]
    assert np.mean(np.square(error)) == pytest.approx(evaluated, rel=1e-12)
    applied = cli("apply", document["run"], "--export", "model.pt2")
    assert applied.code == 0, applied.err
    program = torch.export.load(tmp_path / "model.pt2").module()
    torch.testing.assert_close(
        program(torch.from_numpy(features)), torch.from_numpy(trained.predict(features))
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--method", "least-squares", "--predictor", "mlp"), "fits a predictor of its own"),
        (("--method", "spo", "--predictor", "boosted-trees"), "fitted by the method boosted-trees"),
        (("--method", "spo-after-least-squares-3"), "neither be a lead-in nor have one"),
        (("--method", "least-squares", "--lead-in", "spo:2"), "neither be a lead-in nor have one"),
        (("--method", "boosted-trees", "--option", "leaves=1"), "leaves must be"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(cli, tmp_path, words, sentence):
    refused = cli("train", "matching-8", *words, "--out", "runs")
    assert refused.code != 0
    assert sentence in " ".join(refused.err.split())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("method", FITTED)
def test_images_are_refused_in_a_sentence(method):
    task, data = find_task("matching"), dataset_of("matching")
    images = dataclasses.replace(data, features=np.zeros((len(data.labels), 1, 4, 4)))
    layout = dataclasses.replace(task.layout(data), kind="image", features=(1, 4, 4), shared=0)
    task.layout = lambda dataset: layout
    with pytest.raises(OptionError, match=r"image per instance, and .* needs one vector"):
        check_predictor(method, task, images, "tiny")


@pytest.mark.parametrize("method", FITTED)
def test_it_is_exported_whole(method):
    _, output = fitted("matching", method)
    network = network_of("matching", method, output.weights)
    data = dataset_of("matching")
    features = torch.from_numpy(data.features[:7])
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(network, (features[:3],), dynamic_shapes=({0: batch},))
    with torch.no_grad():
        torch.testing.assert_close(program.module()(features), network(features))
