"""The position of an announcer never passes an unacknowledged event."""

from hypothesis import given
from hypothesis import strategies as st

from functions.announcer.position import Position
from functions.announcer.window import Pending, Window
from statestore.contract import FeedEntry


@given(
    counts=st.lists(st.integers(0, 3), max_size=30),
    data=st.data(),
)
def test_the_position_is_behind_what_is_done_and_nothing_else(
    counts: list[int], data: st.DataObject
) -> None:
    window = Window(Position(b"start", "ue/before", 7), 1000)
    left: list[Pending] = []
    refused = sent = 0
    begun = 0
    while begun < len(counts) or left:
        if begun < len(counts) and (not left or data.draw(st.booleans())):
            entry = FeedEntry(begun.to_bytes(8), f"ue/{begun}", begun, b"")
            left += [window.add(entry, counts[begun])] * counts[begun]
            begun += 1
        else:
            pending = left.pop(data.draw(st.integers(0, len(left) - 1)))
            never = data.draw(st.booleans())
            window.done(pending, refused=never)
            refused, sent = refused + never, sent + (not never)
        waiting = [pending.seq for pending in left]
        done = min(waiting, default=begun) - 1
        place = window.position
        if done < 0:
            assert (place.cursor, place.aggregate, place.seq) == (b"start", "ue/before", 7)
        else:
            assert place.cursor == done.to_bytes(8)
            assert (place.aggregate, place.seq) == (f"ue/{done}", done)
        assert (place.sent, place.refused) == (sent, refused)
        assert len(window) == begun - done - 1
