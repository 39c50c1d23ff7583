"""What evcore costs on this machine: `make bench`.

Each figure is the median of several runs, with the least and the greatest beside it; machines
are noisy, so compare runs of one machine and one day, and ratios rather than figures.
"""
