"""The errors of a load run.

::

    Exception
    ├── ConfigError   the configuration is invalid, or an output cannot be written
    └── LoadError     the load could not start: the AMF does not answer or refuses a gNB
"""


class ConfigError(Exception):
    """The load cannot run as configured. The message is one sentence."""


class LoadError(Exception):
    """The load could not start: the AMF does not answer, or refuses a gNB. One sentence."""
