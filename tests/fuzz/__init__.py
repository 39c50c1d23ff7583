"""Fuzz targets, one for each decoder of `wire`, driven by Atheris (libFuzzer).

``make fuzz`` builds `wire` with coverage counters and runs each target for a minute; ``python -m
tests.fuzz --seconds 600 --instrumented nas`` runs one for ten. The inputs that a run finds are kept
in .fuzz/<target>; the seeds are those of tests/corpus.
"""
