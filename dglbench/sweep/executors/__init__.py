"""Who does a sweep's work: this process, or Dask workers."""
