"""``dglbench apply``: predictions and decisions for new features, from what a run learnt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dglbench.cli import console
from dglbench.errors import DatasetError, OptionError

if TYPE_CHECKING:
    from dglbench.problem import Array, Problem
    from dglbench.training.apply import TrainedPredictor

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench apply results/RUN --data new.npz",
    "dglbench apply fitted --data new.npz --out plan.csv",
)


def run(
    trained: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run, a sweep or a fit.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="New features: .npz or .npy, Parquet, a folder, or a dataset file.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.pt2",
            help="Write the predictor itself, to be run with torch alone.  [default: none]",
            show_default=False,
        ),
    ] = None,
    trained_on: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Dataset file of the run.  [default: generated again, or found in data/]",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where decisions go: .parquet or .csv.")
    ] = Path("decisions.parquet"),
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out and --export.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Predict with a run's selected weights, decide exactly, and write both.

    Of a sweep's folder, the run with the lowest validation regret is taken; of a fit's, its choice.
    One row for each instance, group and option: the predicted value, and whether it is chosen.
    """
    from dglbench.plugin_files import load_plugins
    from dglbench.training.apply import fitted_run, load_predictor

    if data is None and export is None:
        raise OptionError(
            "say what to do with the run: decide for new features with --data, or write its "
            "predictor with --export model.pt2."
        )
    if data is not None:
        _check_out(out, force)
    load_plugins(plugin or [])
    predictor = load_predictor(trained, trained_on)
    if not json and predictor.folder != trained:
        chose = fitted_run(trained)
        why = (
            f"what the fit in {trained} chose"
            if chose
            else f"the lowest validation regret in {trained}"
        )
        _say(f"taking {predictor.folder.name}: {why}")
    document: dict[str, Any] = {"run": str(predictor.folder)}
    if export is not None:
        predictor.export(export, force=force)
        document["export"] = str(export)
        if not json:
            _say(f"predictor {predictor.identity.predictor} written to {export}")
    if data is not None:
        decided, words = _decide(predictor, data, out)
        document |= decided
        if not json:
            rows = f"{document['rows']:,} rows in {out}"
            _say(f"{document['instances']:,} instances decided; {rows}")
            _say(words)
    if json:
        console.print_json(document)


def _decide(predictor: TrainedPredictor, data: Path, out: Path) -> tuple[dict[str, Any], str]:
    """Predict and decide for new features, and write both; say what the plans are worth."""
    features, problem = _new_data(data, predictor)
    predictions = predictor.predict(features)
    decisions = predictor.decide(predictions, problem)
    at = problem or predictor.dataset.problem
    rows = _write(predictor, at, at.value_map.values(predictions), decisions, out)
    promised = predictor.promised(predictions, decisions)
    expected = predictor.calibration.expect(promised) if predictor.calibration else None
    words = (
        f"what they are worth: {expected.words}"
        if expected
        else f"the predictions promise {promised.mean():.6g} on average; too few validation "
        "instances say what that is worth"
    )
    document = {
        "instances": len(decisions),
        "rows": rows,
        "predicted_value_mean": float(promised.mean()),
        "expected_value_mean": expected._asdict() if expected else None,
        "file": str(out),
    }
    return document, words


def _say(sentence: str) -> None:
    console.out.print(sentence, highlight=False, markup=False)


def _check_out(out: Path, force: bool) -> None:
    from dglbench.runs.out_folder import check_file

    if out.suffix not in (".parquet", ".csv"):
        raise OptionError(f"--out {out} must end in .parquet or .csv.")
    check_file(out)
    if out.exists() and not force:
        raise OptionError(f"{out} exists; overwrite it with --force or choose another --out.")


def _new_data(path: Path, predictor: TrainedPredictor) -> tuple[Any, Problem | None]:
    """Return new features and, where the file says it, the problem of these instances."""
    from dglbench.data.arrays import read_arrays
    from dglbench.data.dataset_file import read_dataset, stored_digest

    if path.suffix == ".parquet" and path.is_file() and stored_digest(path):
        dataset = read_dataset(path)
        return dataset.features, dataset.problem
    found = read_arrays([path], unnamed="features").found
    if "features" not in found:
        raise DatasetError(
            f"{path} holds no features (got {', '.join(found) or 'nothing that is known'}); "
            "wanted an array called features."
        )
    parts = {name: found[name] for name, ndim in (("b", 2), ("mask", 3)) if _has(found, name, ndim)}
    trained_on = predictor.dataset
    try:
        features = found["features"].astype("float64")
        if predictor.dataset.constants.get("none"):
            features, parts = _with_none(features, parts)
        if "A" in found and trained_on.problem.rows_vary:
            from dglbench.data.importing import rows_of_new_instances

            parts["A"] = rows_of_new_instances(found["A"], trained_on)
        return features, predictor.vary(**parts) if parts else None
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"features in {path} are of type {found['features'].dtype}; wanted numbers."
        ) from error


def _with_none(features: Any, parts: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Add the option that uses nothing, as the import of the training data did."""
    import numpy as np

    from dglbench.data.importing import add_option

    if "mask" in parts:
        mask = parts["mask"].astype(bool)
        parts["mask"] = np.concatenate([mask, ~mask.any(axis=-1, keepdims=True)], axis=-1)
    return add_option(features) if features.ndim == 4 else features, parts


def _has(found: Mapping[str, Any], name: str, ndim: int) -> bool:
    return name in found and found[name].ndim == ndim


def _write(
    predictor: TrainedPredictor, problem: Problem, values: Array, decisions: Array, out: Path
) -> int:
    """Write a row for each option that exists and return how many there are."""
    import numpy as np
    import polars as pl

    from dglbench.atomic import atomic_path

    constants = predictor.dataset.constants
    items = bool(constants.get("items"))
    names = constants.get("names") or {}
    shown = problem.predicted if items else problem.mask
    instance, group, option = np.nonzero(np.broadcast_to(shown, values.shape))
    columns: dict[str, Any] = {
        "instance": instance,
        "item" if items else "group": _named(group, names.get("group_names")),
    }
    if not items:
        columns["option"] = _named(option, names.get("option_names"))
    columns["predicted"] = values[instance, group, option]
    columns["chosen"] = decisions[instance, group, option] > 0.5
    frame = pl.DataFrame(columns)
    try:
        with atomic_path(out) as temporary:
            if out.suffix == ".csv":
                frame.write_csv(temporary)
            else:
                frame.write_parquet(temporary)
    except OSError as error:
        raise DatasetError(
            f"{out} could not be written: {error.strerror or error}; choose another --out."
        ) from error
    return frame.height


def _named(numbers: Any, names: list[str] | None) -> Any:
    return numbers if names is None else [names[number] for number in numbers]
