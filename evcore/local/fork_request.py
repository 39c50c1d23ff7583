"""What `evcore up` asks its fork server for."""

from msgspec import Struct


class Request(Struct, frozen=True):
    """Fork a process; the descriptor that comes with it becomes its standard error."""

    arguments: tuple[str, ...]
    parent: int
    """The process that it is to be a child of."""
