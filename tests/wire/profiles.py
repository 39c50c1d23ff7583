"""How hypothesis runs here: the same examples each time, and none kept on disk."""

from hypothesis import HealthCheck, settings

COMMON = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FAST = settings(COMMON, max_examples=200)
SLOW_ORACLE = settings(COMMON, max_examples=100)
"""For properties that ask an implementation of milliseconds a message."""
MORE = settings(COMMON, max_examples=600)
"""For properties over inputs whose faults are rare."""
