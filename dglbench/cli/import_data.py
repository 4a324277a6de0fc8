"""``dglbench import``: somebody's own arrays as a dataset file, and what was understood."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dglbench.cli import console
from dglbench.errors import DatasetError, OptionError

__all__ = ["EXAMPLES", "pairs", "run"]

EXAMPLES = (
    "dglbench import mine.npz",
    "dglbench import table.parquet constraints.npz --name shifts",
)


def run(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="An .npz file, a folder of .npy files, a Parquet file, or several of them.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the data.  [default: the file]")
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=READING",
            help="Which of two readings is meant, such as features=per-item.",
        ),
    ] = None,
    minimise: Annotated[
        bool, typer.Option("--minimise", "--minimize", help="Labels are costs: less is better.")
    ] = False,
    allow_none: Annotated[
        bool,
        typer.Option(
            "--allow-none",
            help="Give groups without any option one that uses nothing and is worth 0.",
        ),
    ] = False,
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order", help="Without a split array: first 60 % train, then 20 % val, 20 % test."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Dataset file.  [default: data/NAME.parquet]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that holds other data.")
    ] = False,
) -> None:
    """Import your own arrays: features, labels, A and b.

    Labels are (instances, items) for items to take or leave, or (instances, groups, options)
    where one option is picked in every group; A is (rows, items) or (rows, groups, options), b
    has one number a row. Optional: equality, mask, split, groups, sense, group_names, option_names,
    row_names; see docs/own-data.md.
    """
    from dglbench.cli.generate import describe_dataset, render_summary, store_dataset
    from dglbench.data import summary as data_summary
    from dglbench.data.imported import Own
    from dglbench.data.importing import constant_features, import_files, understood
    from dglbench.runs.out_folder import check_file

    dataset, left_out = import_files(
        sources,
        name=name,
        read=pairs(read or []),
        in_order=in_order,
        minimise=minimise,
        allow_none=allow_none,
    )
    path = out or Path("data") / f"{dataset.spec.settings.name}.parquet"
    check_file(path)
    if path.suffix != ".parquet":
        raise DatasetError(f"--out {path} must end in .parquet: a dataset file is Parquet.")
    words = understood(dataset)
    if left_out:
        console.note(f"left out, as no array is called so: {', '.join(left_out)}.")
    constant = constant_features(dataset)
    if constant:
        console.note(
            "the same in all training instances, so nothing can be learnt from it: feature "
            f"{', '.join(map(str, constant))} (counted from 0)."
        )
    existed = store_dataset(dataset, path, force=force)
    task = Own()
    with console.progress("solving", total=data_summary.work(task, dataset)) as tracker:
        summary = data_summary.summarise(task, dataset, tracker.advance)
    if json:
        document = describe_dataset(dataset, summary, path, None, existed=existed)
        console.print_json(
            {
                "understood": words,
                "left_out": left_out,
                "constant_features": constant,
                **document,
            }
        )
        return
    console.out.print(f"{words}.\n", markup=False, highlight=False, soft_wrap=True)
    render_summary(dataset.spec, summary, path, None, {})
    if abs(summary.optimal_value_mean) < summary.optimal_value_sd:
        console.warn(
            "the best values lie around 0, so that a regret divided by them says little: read "
            "absolute or pooled regret, or give labels without their common offset."
        )
    console.note(
        f"next: dglbench fit {path} finds a model and says whether training for decisions pays; "
        f"dglbench train --data {path} or dglbench sweep --data {path} make runs of your choice"
    )


def pairs(words: list[str]) -> dict[str, Any]:
    """Read the words of ``--read``."""
    pairs = {}
    for word in words:
        name, sign, reading = word.partition("=")
        if not sign:
            raise OptionError(f"--read takes ARRAY=READING, got '{word}'.")
        pairs[name.strip()] = reading.strip()
    return pairs
