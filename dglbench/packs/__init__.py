"""Finished runs as one thing to hand on, and the one way to read them wherever they lie.

A *pack* holds any number of runs in four files (`layout`). `run_source` says what is asked of
folders and packs alike, `sources` opens them, `run_set` takes several together, `finding` says
which are meant by a path. `writing` makes packs, and `unpacking` gives back folders.
"""
