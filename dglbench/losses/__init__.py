"""Losses for any training loop, one file each: ``criterion(predictions, labels, rows)``.

This file imports none of them, so that a run's identity holds only the loss it uses.
"""
