//! The receive window of one association.
//!
//! dcsctp announces only the free space of its own reassembly buffer. It sends nothing when a
//! reader has made space. When there is no space, it drops DATA without an answer, which a peer
//! takes for a dead path (RFC 9260 clause 6.1 A lets a peer probe a closed window as long as its
//! probes are acknowledged). Therefore messages are moved out of dcsctp at once, and the data that
//! waits for the reader is subtracted from the window in its SACKs.

use std::borrow::Cow;

use super::packet::{self, Head};

/// The overhead of a waiting message, so that tiny messages are limited too.
const OVERHEAD: usize = 64;

/// The overhead of a fragment of an unfinished message in dcsctp.
const PIECE: usize = 96;

/// The least length for which a message counts as several fragments.
const LONG: usize = 512;

/// Octets of unfinished messages that have no age. A busy peer often has a message on its way.
const FLOOR: usize = 16 * 1024;

/// The difference that rounding makes between `Window::size` and the window that dcsctp announces.
const ROUNDING: usize = 16;

/// The number of fragments of a message, by its length. The estimate is generous to the peer, whose
/// packets may be shorter than the MTU.
fn fragments(length: usize) -> usize {
    1 + length / LONG
}

pub struct Window {
    /// The window that dcsctp announces when it is empty.
    size: usize,
    mtu: usize,
    /// Octets that wait for the reader.
    waiting: usize,
    announced: usize,
    /// A packet with the last SACK, to announce the window again without new data.
    sack: Option<Vec<u8>>,
    /// DATA received with a closed window: the peer's probe, processed when the window opens.
    probe: Option<Vec<u8>>,
    /// The number of the last heartbeat sent.
    heartbeat: u32,
    /// The most that may wait for the reader now: less than `size` if other associations wait too.
    cap: usize,
    /// Octets in dcsctp at the last SACK, without the messages moved out since.
    held: usize,
    /// Fragments in dcsctp: an estimate, which is exact when there are none.
    pieces: usize,
    /// Since when more than `FLOOR` is unfinished without a break.
    since: Option<u64>,
}

/// The result of checking a received packet.
pub struct Admitted<'a> {
    /// The part that goes to the state machine.
    pub packet: Cow<'a, [u8]>,
    /// A generated acknowledgement of a heartbeat, because the peer is alive and only slow.
    pub alive: Option<Vec<u8>>,
    /// The answer to a probe.
    pub answer: Option<Vec<u8>>,
}

impl Window {
    pub fn new(receive_window: usize, mtu: usize) -> Self {
        // dcsctp reserves a tenth of its buffer.
        let size = receive_window - receive_window / 10;
        Self {
            size,
            mtu,
            waiting: 0,
            announced: size,
            sack: None,
            probe: None,
            heartbeat: 0,
            cap: size,
            held: 0,
            pieces: 0,
            since: None,
        }
    }

    /// Set the share of this association of all that may wait for the reader.
    pub fn share(&mut self, share: usize) {
        self.cap = self.size.min(share.max(self.mtu));
    }

    /// Whether dcsctp may have unfinished messages.
    pub fn may_hold(&self) -> bool {
        self.held > 0 || self.pieces > 0
    }

    /// Note whether dcsctp has unfinished messages. Their age starts again while the window is
    /// closed, because the peer cannot finish them.
    pub fn settle(&mut self, unfinished: bool, now: u64) {
        if !unfinished {
            (self.held, self.pieces) = (0, 0);
        }
        if self.unfinished() <= FLOOR {
            self.since = None;
        } else if self.since.is_none() || self.open(self.size) == 0 {
            self.since = Some(now);
        }
    }

    /// Since when much is unfinished.
    pub fn since(&self) -> Option<u64> {
        self.since
    }

    /// The memory that unfinished messages take.
    pub fn unfinished(&self) -> usize {
        self.held + self.pieces * PIECE
    }

    pub fn cost(payload: &[u8]) -> usize {
        payload.len() + OVERHEAD
    }

    /// Move a message of `length` octets from dcsctp to the reader's queue.
    pub fn fill(&mut self, length: usize, cost: usize) {
        self.held = self.held.saturating_sub(length);
        self.pieces = self.pieces.saturating_sub(fragments(length));
        self.waiting += cost;
    }

    /// The part of `room` that is free, without small windows that invite small packets (RFC 9260
    /// 6.2.1).
    fn open(&self, room: usize) -> usize {
        let room = room.saturating_sub(self.size - self.cap);
        let left = room.saturating_sub(self.waiting);
        if left < self.mtu { 0 } else { left }
    }

    /// Check an outgoing packet, and correct the window that it announces.
    pub fn outgoing(&mut self, packet: &mut [u8]) {
        let mut sack = None;
        for chunk in packet::chunks(packet) {
            match chunk.kind {
                packet::SACK => sack = Some(chunk),
                packet::HEARTBEAT => {
                    self.heartbeat = packet::heartbeat_number(packet, chunk).unwrap_or_default();
                }
                _ => {}
            }
        }
        let Some(sack) = sack else { return };
        let room = packet::announced_window(packet).unwrap_or_default() as usize;
        self.held = self.size.saturating_sub(room + ROUNDING);
        self.announced = self.open(room);
        if self.announced != room {
            packet::announce_window(packet, sack, narrow(self.announced));
        }
        self.sack = packet::only_sack(packet, sack);
    }

    /// Check a packet of the peer.
    pub fn incoming<'a>(&mut self, data: &'a [u8], head: Head) -> Admitted<'a> {
        // A peer with a closed window acknowledges probes without accepting them. This is not an
        // error to be counted (RFC 9260 clause 6.1 A), and a heartbeat's answer resets the error
        // counter.
        let slow = packet::announced_window(data).is_some_and(|room| (room as usize) < self.mtu);
        let alive = slow.then(|| packet::heartbeat_ack(head, self.heartbeat));
        let full = self.waiting >= self.cap && self.sack.is_some();
        if !full || !packet::chunks(data).any(|chunk| chunk.kind == packet::DATA) {
            self.pieces += packet::pieces(data)
                .map(|(length, whole)| if whole { fragments(length) } else { 1 })
                .sum::<usize>();
            return Admitted {
                packet: Cow::Borrowed(data),
                alive,
                answer: None,
            };
        }
        let (probe, rest) = packet::split_data(data);
        self.probe = Some(probe).filter(|probe| probe.len() <= 2 * self.mtu);
        Admitted {
            packet: Cow::Owned(rest),
            alive,
            answer: self.announce(),
        }
    }

    /// Remove a message. Return the probe to process now, and the SACK to send if the peer needs
    /// it.
    pub fn drain(&mut self, cost: usize) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        self.waiting = self.waiting.saturating_sub(cost);
        let grown = self.open(self.size).saturating_sub(self.announced);
        if grown == 0 || grown < self.size / 4 {
            return (None, None);
        }
        (self.probe.take(), self.announce())
    }

    /// The last SACK again, with the current window.
    fn announce(&mut self) -> Option<Vec<u8>> {
        let mut packet = self.sack.clone()?;
        let sack = packet::chunks(&packet).next()?;
        self.announced = self.open(self.size);
        packet::announce_window(&mut packet, sack, narrow(self.announced));
        Some(packet)
    }
}

fn narrow(window: usize) -> u32 {
    u32::try_from(window).unwrap_or(u32::MAX)
}
