//! The receive window of one association.
//!
//! dcsctp announces what its own reassembly buffer has room for, and no more than that: it sends
//! nothing when a reader has made room, and drops what comes when there is none without
//! answering it, which a peer takes for a dead path (RFC 9260 clause 6.1 A lets a peer probe a
//! closed window for as long as its probes are acknowledged). So messages are moved out of it at
//! once, and what waits for the reader is taken off the window that its SACKs announce.

use std::borrow::Cow;

use super::packet::{self, Head};

/// What a waiting message costs beside its octets, so that tiny ones are bounded too.
const OVERHEAD: usize = 64;

pub struct Window {
    /// What dcsctp announces when it is empty.
    size: usize,
    mtu: usize,
    /// What waits for the reader.
    waiting: usize,
    announced: usize,
    /// A packet of the last SACK sent, to announce the window without new data.
    sack: Option<Vec<u8>>,
    /// DATA that came when the window was closed: the peer's probe, to be taken when it opens.
    probe: Option<Vec<u8>>,
    /// The number of our last heartbeat.
    heartbeat: u32,
}

/// What to do with a packet that came.
pub struct Admitted<'a> {
    /// What of it goes to the state machine.
    pub packet: Cow<'a, [u8]>,
    /// An acknowledgement of a heartbeat, made up because the peer is alive and only slow.
    pub alive: Option<Vec<u8>>,
    /// The answer to a probe.
    pub answer: Option<Vec<u8>>,
}

impl Window {
    pub fn new(receive_window: usize, mtu: usize) -> Self {
        // dcsctp keeps a tenth of its buffer to itself.
        let size = receive_window - receive_window / 10;
        Self {
            size,
            mtu,
            waiting: 0,
            announced: size,
            sack: None,
            probe: None,
            heartbeat: 0,
        }
    }

    pub fn cost(payload: &[u8]) -> usize {
        payload.len() + OVERHEAD
    }

    /// A message waits for the reader.
    pub fn fill(&mut self, cost: usize) {
        self.waiting += cost;
    }

    /// What `room` leaves, without small windows that invite small packets (RFC 9260 6.2.1).
    fn open(&self, room: usize) -> usize {
        let left = room.saturating_sub(self.waiting);
        if left < self.mtu { 0 } else { left }
    }

    /// Looks at a packet on its way out, and corrects the window that it announces.
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
        self.announced = self.open(room);
        if self.announced != room {
            packet::announce_window(packet, sack, narrow(self.announced));
        }
        self.sack = packet::only_sack(packet, sack);
    }

    /// Looks at a packet of the peer.
    pub fn incoming<'a>(&mut self, data: &'a [u8], head: Head) -> Admitted<'a> {
        // A peer whose window is closed acknowledges our probes without taking them: no error
        // to be counted (RFC 9260 clause 6.1 A), and a heartbeat's answer is what resets that.
        let slow = packet::announced_window(data).is_some_and(|room| (room as usize) < self.mtu);
        let alive = slow.then(|| packet::heartbeat_ack(head, self.heartbeat));
        let full = self.waiting >= self.size && self.sack.is_some();
        if !full || !packet::chunks(data).any(|chunk| chunk.kind == packet::DATA) {
            return Admitted {
                packet: Cow::Borrowed(data),
                alive,
                answer: None,
            };
        }
        let (probe, rest) = packet::split_data(data);
        self.probe = Some(probe);
        Admitted {
            packet: Cow::Owned(rest),
            alive,
            answer: self.announce(),
        }
    }

    /// A message left. The probe to take now, and the SACK to send, if the peer must hear of it.
    pub fn drain(&mut self, cost: usize) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        self.waiting = self.waiting.saturating_sub(cost);
        let grown = self.open(self.size).saturating_sub(self.announced);
        if grown == 0 || grown < self.size / 4 {
            return (None, None);
        }
        (self.probe.take(), self.announce())
    }

    /// The last SACK once more, with the window as it is now.
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
