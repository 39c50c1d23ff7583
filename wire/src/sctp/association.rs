//! One association: its state machine, its unsent messages, and its timers.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use dcsctp::api::{
    DcSctpSocket, HandoverReadiness, Message, Options, PpId, SendOptions, Socket, SocketState,
    SocketTime, StreamId,
};

use super::window::Window;

/// Octets of messages that are collected before they are sent. Messages sent together share
/// packets.
const BUNDLE: usize = 16 * 1024;

/// The number of offered tags that are remembered: one for each INIT of the peer.
const TAGS: usize = 4;

/// Why a message was not accepted for sending.
pub enum Refused {
    NoAssociation,
    Full,
    Invalid(String),
}

pub struct Association {
    pub socket: Socket,
    pub peer: SocketAddr,
    pub port: u16,
    pub up: bool,
    pub window: Window,
    /// True after a message was refused: the user waits for free space.
    pub refused: bool,
    /// The time of the next `advance`, in nanoseconds.
    pub due: Option<u64>,
    /// The own verification tags that packets of the peer may carry.
    pub tags: Vec<u32>,
    born: u64,
    outbox: Vec<Message>,
    outbox_octets: usize,
    /// The least free space of the send buffer.
    room: usize,
    streams: BTreeSet<u16>,
    outbound: u16,
    max_message: usize,
    /// The part of the endpoint's sum of unfinished messages.
    pub counted: usize,
    /// Octets that may be queued for sending: an upper bound.
    pub unsent: usize,
}

impl Association {
    pub fn new(options: &Options, peer: SocketAddr, now: u64) -> Self {
        Self {
            socket: Socket::new("", options),
            peer,
            port: options.remote_port,
            up: false,
            window: Window::new(options.max_receiver_window_buffer_size, options.mtu),
            refused: false,
            due: None,
            tags: vec![],
            born: now,
            outbox: vec![],
            outbox_octets: 0,
            room: 0,
            streams: BTreeSet::new(),
            outbound: 0,
            max_message: options.max_message_size,
            counted: 0,
            unsent: 0,
        }
    }

    /// Whether dcsctp has messages that have not arrived completely, or whose turn has not come.
    pub fn holds(&self) -> bool {
        let held = HandoverReadiness::STREAM_HAS_UNASSEMBLED_CHUNKS.0
            | HandoverReadiness::STREAM_RESET_DEFERRED.0;
        self.window.may_hold() && self.socket.get_handover_readiness().0 & held != 0
    }

    /// The association after its peer restarted: the same state machine, without previous user
    /// state.
    pub fn restarted(self, options: &Options) -> Self {
        let fresh = Self::new(options, self.peer, self.born);
        Self {
            socket: self.socket,
            port: self.port,
            due: self.due,
            tags: self.tags,
            ..fresh
        }
    }

    pub fn established(&mut self) {
        self.up = true;
        let metrics = self.socket.get_metrics();
        self.outbound = metrics.map_or(0, |m| m.negotiated_maximum_outgoing_streams);
    }

    /// Whether this side is connecting with that verification tag.
    pub fn awaits(&self, tag: u32) -> bool {
        let connecting = self.socket.state() == SocketState::Connecting;
        connecting && self.socket.verification_tag() == tag
    }

    pub fn advance(&mut self, now: u64) {
        let age = Duration::from_nanos(now.saturating_sub(self.born));
        self.socket.advance_time(SocketTime::zero() + age);
    }

    /// The time of the next `advance`. `patience` is how long a message may be unfinished.
    pub fn next_due(&self, patience: u64) -> Option<u64> {
        let at = self.socket.poll_timeout();
        let timer = (at != SocketTime::infinite_future()).then(|| {
            let age = (at - SocketTime::zero()).as_nanos();
            self.born
                .saturating_add(u64::try_from(age).unwrap_or(u64::MAX))
        });
        let unfinished = self
            .window
            .since()
            .map(|since| since.saturating_add(patience));
        timer.into_iter().chain(unfinished).min()
    }

    /// Remember a tag offered to the peer. Return a tag to be forgotten, but never the tag in use:
    /// otherwise a sender of repeated INITs could end an association.
    pub fn offer(&mut self, tag: u32) -> Option<u32> {
        if !self.tags.contains(&tag) {
            self.tags.push(tag);
        }
        let in_use = self.socket.verification_tag();
        let oldest = self
            .tags
            .iter()
            .position(|old| *old != in_use && *old != tag);
        oldest
            .filter(|_| self.tags.len() > TAGS)
            .map(|at| self.tags.remove(at))
    }

    /// Accept a message. Return true if enough messages are queued to hand over.
    pub fn queue(&mut self, stream: u16, ppid: u32, payload: Vec<u8>) -> Result<bool, Refused> {
        let (octets, limit, streams) = (payload.len(), self.max_message, self.outbound);
        if !(1..=limit).contains(&octets) {
            let text = format!("a message has 1 to {limit} octets, not {octets}");
            return Err(Refused::Invalid(text));
        }
        if stream >= streams {
            return Err(Refused::Invalid(format!(
                "stream {stream} is not below {streams}"
            )));
        }
        self.room = self.room.saturating_sub(octets);
        self.unsent += octets;
        self.outbox_octets += octets;
        self.streams.insert(stream);
        self.outbox
            .push(Message::new(StreamId(stream), PpId(ppid), payload));
        Ok(self.outbox_octets >= BUNDLE)
    }

    /// Whether the send buffer is known to have free space.
    pub fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Measure the free space of the send buffer. Return whether there is any.
    pub fn measure_room(&mut self, send_buffer: usize) -> bool {
        let amount = |stream: &u16| self.socket.buffered_amount(StreamId(*stream));
        let queued: usize = self.streams.iter().map(amount).sum();
        self.unsent = queued + self.outbox_octets;
        self.room = send_buffer.saturating_sub(self.unsent);
        self.has_room()
    }

    /// Whether no more messages are accepted, because one side is ending the association.
    pub fn shutting_down(&self) -> bool {
        self.socket.state() == SocketState::ShuttingDown
    }

    pub fn take_outbox(&mut self) -> Vec<Message> {
        self.outbox_octets = 0;
        std::mem::take(&mut self.outbox)
    }

    /// Pass messages to the state machine, which sends as many as it may.
    pub fn hand_over(socket: &mut Socket, messages: Vec<Message>) {
        // Refusals only affect associations that have ended, which the user is told. Sizes are
        // already checked, and the state machine's own send buffer never limits.
        let _ = socket.send_many(messages, &SendOptions::default());
    }
}
