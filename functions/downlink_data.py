"""Downlink packets that a UPF has reported, and that have not reached the UE.

A UPF reports the first packet that it buffers and none after it (TS 29.244 8.2.26, NOCP). So the
report is remembered until the packets can leave: where the user plane does not come up for it, it
is taken as come again after a pause.
"""

from typing import Final

from functions import user_plane
from functions.draft import Draft
from schemas.session import PduSession

TIMER: Final = "downlink-data"

PAUSE: Final = 10
"""How many T3513 pass until the UE is had again for the packets of a report."""


def is_held(session: PduSession) -> bool:
    """Whether the UPF holds packets of a session, and nobody is about its user plane."""
    here = session.stage in ("active", "modifying") and session.user_plane == "off"
    sent = session.n4.sent
    dropped = not session.n4.up_seid or (sent is not None and sent.message == "delete")
    return here and session.reported > 0 and not dropped


def rearm(d: Draft) -> None:
    """Have the timers run of the sessions whose packets wait, and no others."""
    if not d.ue.timers and not any(s.reported for s in d.ue.sessions):
        return
    idle = d.ue.paging is None
    needed = {f"{TIMER}/{s.id}" for s in user_plane.live(d) if idle and is_held(s)}
    for name in [name for name in d.ue.timers if name.startswith(TIMER)]:
        if name not in needed:
            d.stop_timer(name)
    for name in sorted(needed - d.ue.timers.keys()):
        d.start_timer(name, d.env.network.timers.t3513 * PAUSE)
