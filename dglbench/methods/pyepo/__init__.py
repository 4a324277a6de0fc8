"""PyEPO's losses on our problems (Tang and Khalil, PyEPO, 2024).

Their loss code runs as it is; our metered solver answers it (`model`), what passes
between the two is checked (`border`), and each loss is a method
with its own options (`losses`).
"""
