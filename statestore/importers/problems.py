"""What can be wrong with a file of subscribers, said in sentences."""

from statestore.contract import StoreError

_LONGEST = 80


def shown(text: str) -> str:
    """A name out of a file as it may stand in a sentence: short, and without control characters."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "..."
    return text if text.isprintable() else ascii(text)


class ImportProblem(StoreError):
    """A file is not imported, and nothing of it. `problems` are all that was found, a sentence
    each, with the record and the field; the message is the first of them."""

    def __init__(self, first: str, *others: str) -> None:
        more = f" (and {len(others)} more problems)" if others else ""
        super().__init__(first + more)
        self.problems = (first, *others)
