"""Text that may be printed. It imports nothing: a function that starts needs this, and no rich."""


def clean(text: str) -> str:
    """`text` as it may go to a terminal: what a gNB calls itself may hold anything."""
    return text if text.isprintable() else ascii(text)[1:-1]
