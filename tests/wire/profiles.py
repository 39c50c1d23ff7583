"""Settings of hypothesis: the same examples in each run, and none stored on disk."""

from hypothesis import HealthCheck, settings

COMMON = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FAST = settings(COMMON, max_examples=200)
SLOW_ORACLE = settings(COMMON, max_examples=100)
"""For properties that use an implementation with milliseconds per message."""
MORE = settings(COMMON, max_examples=600)
"""For properties over inputs with rare faults."""
