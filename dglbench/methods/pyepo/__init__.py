"""PyEPO's losses on our problems (Tang and Khalil, PyEPO, 2024).

Their loss code runs as it is; our metered solver answers it (`model`), what crosses
between the two is checked and put in words (`border`), and each loss is a method
with its own options (`losses`).
"""
