"""From settings or a file to a dataset: its file format, its summary, its picture."""
