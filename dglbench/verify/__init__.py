"""Checking a pack without trusting it: one check a file, each with a plain verdict.

`files` opens it, `logs` holds each run's tables against its record, `data` makes the data again,
`decisions` values every decision anew, `fairness` looks at how runs were compared, `reruns` trains
some again. `checks` does all of them.
"""
