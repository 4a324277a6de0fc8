"""``dglbench generate``: a dataset file, and a table of what is in it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dglbench.cli import console
from dglbench.errors import DatasetError, OptionError
from dglbench.words import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dglbench.data.summary import DataSummary, LabelStatistics
    from dglbench.task import Dataset, TaskSpec

__all__ = [
    "EXAMPLES",
    "default_path",
    "describe_dataset",
    "render_summary",
    "run",
    "store_dataset",
]

EXAMPLES = (
    "dglbench generate matching-50 --seed 25",
    "dglbench generate knapsack-24 --set source=semo --plot picks.png",
)

_SUFFIXES = (".parquet", ".pq", "")


def run(
    task: Annotated[str, typer.Argument(help="Task or setting, such as matching-50; see list.")],
    n: Annotated[
        int | None, typer.Option(metavar="N", help="Size of an instance.  [default: the task's]")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="SEED", help="Data seed.")] = 25,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Task setting; repeat.  [default: the task's]"
        ),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method, predictor or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Dataset file.  [default: data/, named after the data]"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw an instance and its optimum: .png, .svg or .pdf.  [default: none]",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that holds other data.")
    ] = False,
) -> None:
    """Generate a dataset, write it as Parquet and show what it is like."""
    from dglbench import options
    from dglbench.data import summary as data_summary
    from dglbench.data.checks import make_dataset
    from dglbench.plugin_files import load_plugins
    from dglbench.runs.out_folder import check_file
    from dglbench.sweep.request.defaults import named_setting, resolve_data

    load_plugins(plugin or [])
    settings: dict[str, Any] = options.parse_assignments(set_ or [])
    if n is not None:
        if "n" in settings:
            raise OptionError("n is given twice, by --n and by --set; leave one out.")
        settings["n"] = n
    source, settings = named_setting(task, settings)
    spec = resolve_data(source, settings, seed)
    path = out or default_path(spec)
    if plot is not None:
        from dglbench.data.plot import check_plot

        check_plot(source, spec.settings, plot)
        check_file(plot, "--plot")
    check_file(path)
    if path.suffix not in _SUFFIXES:
        raise DatasetError(
            f"a dataset file is Parquet, and {path} is named {path.suffix}; give --out a name such "
            f"as {path.with_suffix('.parquet')}."
        )

    with console.progress(f"generating {spec.setting_name}", total=1) as tracker:
        dataset = make_dataset(source, spec.settings, spec.seed)
        tracker.advance()
    existed = store_dataset(dataset, path, force=force)
    if plot is not None:
        from dglbench.data.plot import plot_dataset

        plot_dataset(source, dataset, plot)
    with console.progress("solving", total=data_summary.work(source, dataset)) as tracker:
        summary = data_summary.summarise(source, dataset, tracker.advance)
    if json:
        console.print_json(describe_dataset(dataset, summary, path, plot, existed=existed))
    else:
        render_summary(spec, summary, path, plot, dataset.constants)


def default_path(spec: TaskSpec) -> Path:
    """Name a dataset after its task, size, the settings that are not default, and seed."""
    return Path("data") / f"{spec.full_name.replace(' ', '-')}-s{spec.seed}.parquet"


def store_dataset(dataset: Dataset, path: Path, *, force: bool) -> bool:
    """Write the file; leave one that holds the same data, and say so by returning True."""
    from dglbench.data.dataset_file import dataset_digest, holds, write_dataset

    if path.exists():
        if holds(path, dataset_digest(dataset)):
            console.note(f"{path} holds this dataset already; it is left as it is.")
            return True
        if not force:
            raise DatasetError(
                f"{path} exists and holds something else; overwrite it with --force or choose "
                "another --out."
            )
    write_dataset(dataset, path)
    return False


def describe_dataset(
    dataset: Dataset, summary: DataSummary, path: Path, plot: Path | None, *, existed: bool
) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    from dglbench import options
    from dglbench.data.dataset_file import stored_digest

    return {
        "file": str(path),
        "existed": existed,
        "bytes": path.stat().st_size,
        "digest": stored_digest(path),
        "plot": None if plot is None else str(plot),
        "task": dataset.spec.task,
        "settings": options.as_dict(dataset.spec.settings),
        "seed": dataset.spec.seed,
        "constants": dict(dataset.constants),
        "summary": summary.as_document(),
    }


def render_summary(
    spec: TaskSpec,
    summary: DataSummary,
    path: Path,
    plot: Path | None,
    constants: Mapping[str, Any],
) -> None:
    """Print the tables of labels and of the problem."""
    splits = list(summary.labels)
    console.print_table(
        ("", *splits),
        _label_rows(list(summary.labels.values())),
        title=f"{spec.setting_name}, seed {spec.seed}: instances and their labels",
        right=splits,
    )
    whole = summary.solved == summary.instances
    over = "" if whole else f" (over {summary.solved} of {summary.instances} instances)"
    console.print_table(
        ("problem", ""),
        [
            ("shape", _shape(summary)),
            *_single_numbers(constants),
            (
                "optimal value" if summary.sense == "maximise" else "least cost",
                f"mean {summary.optimal_value_mean:.5g}, sd {summary.optimal_value_sd:.4g}{over}",
            ),
            (
                "global rows that bind",
                f"{summary.rows_binding:.2f} of {summary.rows} on average{over}",
            ),
            ("fractional LP optimum", f"{summary.fractional_share:.1%} of instances{over}"),
            ("integrality gap", f"mean {summary.gap_mean:.3%}, max {summary.gap_max:.3%}{over}"),
            (
                "duals not unique",
                f"{summary.nonunique_share:.1%} of instances (over {summary.duals_checked} of "
                f"{summary.instances} instances)",
            ),
            ("file", f"{path}, {size(path.stat().st_size)}"),
            *([] if plot is None else [("plot", str(plot))]),
        ],
        caption=f"solved with the {summary.solver} solver",
    )


def _single_numbers(constants: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the constants of the data that are one number each, such as a capacity."""
    return [
        (name.replace("_", " "), f"{value:.4g}")
        for name, value in constants.items()
        if isinstance(value, int | float)
    ]


def _shape(summary: DataSummary) -> str:
    rows = "1 global row" if summary.rows == 1 else f"{summary.rows} global rows"
    return f"{summary.groups} groups of {summary.options} options, {rows}"


def _label_rows(parts: list[LabelStatistics]) -> list[list[str]]:
    """Write statistics as rows, all with the same number of decimals."""
    spread = max(part.sd for part in parts)
    decimals = max(0, 2 - math.floor(math.log10(spread))) if spread > 0 else 3
    names = {"q05": "5 %", "q25": "25 %", "q75": "75 %", "q95": "95 %"}
    rows = [["instances", *(f"{part.instances:,}" for part in parts)]]
    for name in ("mean", "sd", "min", "q05", "q25", "median", "q75", "q95", "max"):
        cells = [f"{getattr(part, name):,.{decimals}f}" for part in parts]
        rows.append([names.get(name, name), *cells])
    return rows
