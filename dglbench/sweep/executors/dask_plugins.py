"""Making the driver's local plugin files known to Dask workers, whenever they join."""

from __future__ import annotations

from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from dglbench.plugin_files import ShippedFile, load_shipped

__all__ = ["LocalFiles"]


class LocalFiles(WorkerPlugin):
    """Dask calls `setup` in every worker, before it is sent anything to unpickle."""

    name = "dglbench-plugin-files"
    idempotent = False

    def __init__(self, files: tuple[ShippedFile, ...]) -> None:
        self.files = files

    def setup(self, worker: Any) -> None:
        """Load the files in a worker's process."""
        load_shipped(self.files)
