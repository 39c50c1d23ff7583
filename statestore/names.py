"""Ranges of names: all that begin with a prefix, in the order of their code points."""

_LAST = chr(0x10FFFF)


def prefix_end(prefix: str) -> str | None:
    """The least name above all that begin with `prefix`; None where there is no end to them."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    last = ord(stem[-1]) + 1
    # Surrogates stand between U+D7FF and U+E000; they are in no valid name.
    return stem[:-1] + chr(0xE000 if last == 0xD800 else last)
