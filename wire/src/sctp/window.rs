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
        }
    }

    pub fn cost(payload: &[u8]) -> usize {
        payload.len() + OVERHEAD
    }

    /// Add a message that waits for the reader.
    pub fn fill(&mut self, cost: usize) {
        self.waiting += cost;
    }

    /// The part of `room` that is free, without small windows that invite small packets (RFC 9260
    /// 6.2.1).
    fn open(&self, room: usize) -> usize {
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
