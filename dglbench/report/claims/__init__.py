"""Statements of the paper and of others, checked on the logs."""
