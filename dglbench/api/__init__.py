"""The Python door: `dglbench.fit`, `dglbench.train`, `dglbench.run_many` and `dglbench.load`."""
