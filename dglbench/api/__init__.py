"""The Python door: `dglbench.train`, `dglbench.run_many` and `dglbench.load`."""
