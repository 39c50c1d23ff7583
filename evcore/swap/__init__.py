"""Swapping a procedure for another version of it: canary, roll-back, finish."""
