"""Measure the cost of evcore on this machine: `make bench`.

Each figure is the median of several runs, with the least and the greatest. Machines are noisy:
compare runs of one machine and one day, and compare ratios instead of figures.
"""
