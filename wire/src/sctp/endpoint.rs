//! Many SCTP associations on one datagram socket, without I/O: packets and the time go in, packets,
//! events and messages come out.

mod bounds;
mod ends;
mod handshake;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dcsctp::api::{DcSctpSocket, Options, Socket, SocketEvent};

use super::association::{Association, Refused};
use super::cookie::{self, CookieKey};
use super::inbox::{Inbox, Received};
use super::packet;
use super::window::Window;

/// Why the state machine gave up, as text for users. The text may come from the peer.
fn reason(kind: &str, text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    if text.is_empty() {
        kind.to_owned()
    } else {
        text
    }
}

/// An event of an association.
pub enum Event {
    Up {
        association: u64,
        peer: SocketAddr,
        port: u16,
    },
    Down {
        association: u64,
        reason: String,
    },
    Writable {
        association: u64,
    },
}

/// The limits and timers of an endpoint's associations.
#[derive(Clone)]
pub struct Limits {
    pub max_associations: usize,
    /// Octets that may be queued for sending before a message is refused.
    pub send_buffer: usize,
    /// Octets of all associations together: of messages that wait for the reader, of unfinished
    /// messages, and of messages that are queued for sending.
    pub max_waiting: usize,
    pub max_unfinished: usize,
    pub max_unsent: usize,
    /// How long much of an association may be unfinished, in nanoseconds.
    pub patience: u64,
    pub options: Options,
}

/// Times are in nanoseconds of the owner's clock.
pub struct Endpoint {
    limits: Limits,
    port: u16,
    accept: bool,
    now: u64,
    next: u64,
    associations: HashMap<u64, Association>,
    by_peer: HashMap<(SocketAddr, u16), u64>,
    by_tag: HashMap<u32, u64>,
    cookies: CookieKey,
    /// The sums over all associations.
    unfinished: usize,
    unsent: usize,
    timers: BTreeSet<(u64, u64)>,
    /// Associations with accepted messages that the state machine does not have yet.
    unflushed: BTreeSet<u64>,
    inbox: Inbox,
    packets: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<Event>,
    pub dropped: u64,
}

impl Endpoint {
    pub fn new(port: u16, accept: bool, limits: Limits) -> Self {
        Self {
            limits,
            port,
            accept,
            now: 0,
            next: 1,
            associations: HashMap::new(),
            by_peer: HashMap::new(),
            by_tag: HashMap::new(),
            cookies: CookieKey::new(),
            unfinished: 0,
            unsent: 0,
            timers: BTreeSet::new(),
            unflushed: BTreeSet::new(),
            inbox: Inbox::default(),
            packets: VecDeque::new(),
            events: VecDeque::new(),
            dropped: 0,
        }
    }

    fn options(&self, port: u16) -> Options {
        let mut options = self.limits.options.clone();
        options.local_port = self.port;
        options.remote_port = port;
        options
    }

    fn number(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    fn insert(&mut self, peer: SocketAddr, port: u16) -> u64 {
        let id = self.number();
        let association = Association::new(&self.options(port), peer, self.now);
        self.associations.insert(id, association);
        self.by_peer.insert((peer, port), id);
        id
    }

    /// Start an association. `None` if there are too many, or one with this peer exists.
    pub fn connect(&mut self, peer: SocketAddr, port: u16, now: u64) -> Option<u64> {
        self.now = now;
        if self.by_peer.contains_key(&(peer, port)) || !self.has_room() {
            return None;
        }
        cookie::reseed();
        let id = self.insert(peer, port);
        self.run(id, DcSctpSocket::connect);
        Some(id)
    }

    /// Process a packet from the socket, without its IP and UDP headers.
    pub fn receive(&mut self, data: &[u8], from: SocketAddr, now: u64) {
        self.now = now;
        let head = packet::head(data).filter(|head| head.destination == self.port);
        let Some(head) = head.filter(|_| packet::intact(data)) else {
            self.dropped += 1;
            return;
        };
        if head.first_chunk == packet::INIT && !packet::valid_init(data) {
            self.refuse_init(head, data, from, packet::INVALID_MANDATORY_PARAMETER);
        } else if head.first_chunk == packet::COOKIE_ECHO {
            self.receive_cookie(head, data, from);
        } else if let Some(id) = self.owner(head, from) {
            self.receive_for(id, head, data, from);
        } else if head.first_chunk == packet::INIT {
            self.receive_init(head, data, from);
        } else {
            self.dropped += 1;
            // A wrong tag for an existing association: RFC 9260 clause 8.5 requires silence.
            if !self.by_peer.contains_key(&(from, head.source))
                && let Some(answer) = packet::answer_out_of_the_blue(head, data)
            {
                self.packets.push_back((from, answer));
            }
        }
    }

    /// Find the association of a packet: by the own verification tag from the peer's address, which
    /// survives a changed UDP port, otherwise by the peer's address and port.
    fn owner(&self, head: packet::Head, from: SocketAddr) -> Option<u64> {
        if head.tag != 0
            && let Some(&id) = self.by_tag.get(&head.tag)
            && let Some(association) = self.associations.get(&id)
            && association.peer.ip() == from.ip()
            && association.port == head.source
        {
            return Some(id);
        }
        let id = *self.by_peer.get(&(from, head.source))?;
        // A foreign tag can only be the peer's own, reflected (ABORT and SHUTDOWN COMPLETE with the
        // T bit), the zero of an INIT, or that of a SHUTDOWN ACK.
        let tagless = matches!(
            head.first_chunk,
            packet::INIT | packet::ABORT | packet::SHUTDOWN_COMPLETE | packet::SHUTDOWN_ACK
        );
        tagless.then_some(id)
    }

    fn receive_for(&mut self, id: u64, head: packet::Head, data: &[u8], from: SocketAddr) {
        let share = self.share();
        let Some(association) = self.associations.get_mut(&id) else {
            return;
        };
        if association.peer != from && head.tag != 0 {
            // RFC 6951 clause 5.4: the source port of the latest packet becomes the peer's UDP
            // port.
            self.by_peer.remove(&(association.peer, association.port));
            association.peer = from;
            self.by_peer.insert((from, association.port), id);
        }
        if head.first_chunk == packet::INIT_ACK
            && association.awaits(head.tag)
            && !packet::valid_init(data)
        {
            if let Some(answer) =
                packet::refuse_init(head, data, packet::INVALID_MANDATORY_PARAMETER)
            {
                self.packets.push_back((from, answer));
            }
            self.remove(id, "the INIT ACK of the peer is invalid".to_owned());
            return;
        }
        if head.first_chunk == packet::ABORT && association.awaits(head.tag) {
            // dcsctp ignores an ABORT that answers an INIT.
            self.remove(id, "refused by the peer".to_owned());
            return;
        }
        let moderate = packet::without_excess(data);
        let data = moderate.as_deref().unwrap_or(data);
        let streams = self.limits.options.announced_maximum_incoming_streams;
        if association.socket.verification_tag() == head.tag
            && let Some(reason) = packet::violation(data, streams)
        {
            self.kill(id, reason);
            return;
        }
        association.window.share(share);
        let admitted = association.window.incoming(data, head);
        if let Some(answer) = admitted.answer {
            self.packets.push_back((from, answer));
        }
        self.run(id, |socket| {
            if packet::has_chunks(&admitted.packet) {
                socket.handle_input(&admitted.packet);
            }
            if let Some(acknowledgement) = admitted.alive {
                socket.handle_input(&acknowledgement);
            }
        });
    }

    /// Call the state machine of one association and collect the results. A panic in it ends only
    /// that association.
    fn run(&mut self, id: u64, call: impl FnOnce(&mut Socket)) {
        let now = self.now;
        let Some(association) = self.associations.get_mut(&id) else {
            return;
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            association.advance(now);
            call(&mut association.socket);
        }));
        if done.is_err() {
            self.remove(id, "internal error in the SCTP state machine".to_owned());
            return;
        }
        if let Some(id) = self.collect_events(id) {
            self.collect_messages(id);
            self.settle(id);
            self.set_timer(id);
        }
    }

    /// Process the events of the state machine. Return the current number of the association;
    /// `None` if it has ended.
    fn collect_events(&mut self, mut id: u64) -> Option<u64> {
        loop {
            let association = self.associations.get_mut(&id)?;
            let Some(event) = association.socket.poll_event() else {
                return Some(id);
            };
            match event {
                SocketEvent::SendPacket(mut data) => {
                    if let Some(tag) = packet::offered_tag(&data) {
                        self.by_tag.insert(tag, id);
                        if let Some(old) = association.offer(tag) {
                            self.by_tag.remove(&old);
                        }
                    }
                    association.window.outgoing(&mut data);
                    self.cookies.seal(&mut data, association.peer, self.now);
                    self.packets.push_back((association.peer, data));
                }
                SocketEvent::OnConnected() => id = self.established(id),
                SocketEvent::OnConnectionRestarted() => id = self.renumber(id),
                SocketEvent::OnClosed() => self.remove(id, "closed".to_owned()),
                SocketEvent::OnAborted(kind, text) => {
                    self.remove(id, reason(&format!("{kind:?}"), &text));
                }
                SocketEvent::OnTotalBufferedAmountLow() if association.refused => {
                    association.refused = false;
                    self.events.push_back(Event::Writable { association: id });
                }
                _ => {}
            }
        }
    }

    /// Move the messages out, so that the state machine's own window stays open.
    fn collect_messages(&mut self, id: u64) {
        let Some(association) = self.associations.get_mut(&id) else {
            return;
        };
        while let Some(message) = association.socket.get_next_message() {
            let length = message.payload.len();
            association
                .window
                .fill(length, Window::cost(&message.payload));
            self.inbox.push(Received {
                association: id,
                stream: message.stream_id.0,
                ppid: message.ppid.0,
                payload: message.payload,
            });
        }
    }

    fn set_timer(&mut self, id: u64) {
        let Some(association) = self.associations.get_mut(&id) else {
            return;
        };
        let due = association.next_due(self.limits.patience);
        if due == association.due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut association.due, due) {
            self.timers.remove(&(old, id));
        }
        if let Some(due) = due {
            self.timers.insert((due, id));
        }
    }

    fn established(&mut self, mut id: u64) -> u64 {
        if self.associations.get(&id).is_some_and(|a| a.up) {
            // Both sides sent an INIT, and the peer's was the last: the association starts again.
            id = self.renumber(id);
        }
        if let Some(association) = self.associations.get_mut(&id) {
            association.established();
            let (peer, port) = (association.peer, association.port);
            self.events.push_back(Event::Up {
                association: id,
                peer,
                port,
            });
        }
        id
    }

    /// A peer that restarted has lost its state. Report this to the user as a new association.
    fn renumber(&mut self, old: u64) -> u64 {
        let Some(association) = self.associations.remove(&old) else {
            return old;
        };
        let id = self.number();
        self.unfinished -= association.counted;
        self.unsent = self.unsent.saturating_sub(association.unsent);
        if let Some(due) = association.due {
            self.timers.remove(&(due, old));
            self.timers.insert((due, id));
        }
        self.unflushed.remove(&old);
        self.by_peer
            .insert((association.peer, association.port), id);
        for tag in &association.tags {
            self.by_tag.insert(*tag, id);
        }
        let options = self.options(association.port);
        self.associations
            .insert(id, association.restarted(&options));
        if self.count() > self.limits.max_associations {
            self.inbox.clear(old); // limits a peer that restarts repeatedly without a reader
        }
        self.end(old, "restarted by the peer".to_owned());
        id
    }

    /// Whether there may be one more association.
    fn has_room(&self) -> bool {
        self.count() < self.limits.max_associations
    }

    pub fn send(
        &mut self,
        id: u64,
        stream: u16,
        ppid: u32,
        payload: Vec<u8>,
        now: u64,
    ) -> Result<(), Refused> {
        self.now = now;
        let has_room = self
            .associations
            .get(&id)
            .is_some_and(Association::has_room);
        if !has_room {
            self.flush(id);
        }
        let open = |a: &&mut Association| a.up && !a.shutting_down();
        let Some(association) = self.associations.get_mut(&id).filter(open) else {
            return Err(Refused::NoAssociation);
        };
        let before = association.unsent;
        let full = !has_room && !association.measure_room(self.limits.send_buffer);
        let queued = if full {
            association.refused = true;
            Err(Refused::Full)
        } else {
            association.queue(stream, ppid, payload)
        };
        self.unsent = (self.unsent + association.unsent).saturating_sub(before);
        if queued? {
            self.flush(id);
        } else {
            self.unflushed.insert(id);
        }
        if self.unsent > self.limits.max_unsent {
            self.bound_unsent();
        }
        Ok(())
    }

    fn flush(&mut self, id: u64) {
        self.unflushed.remove(&id);
        if let Some(association) = self.associations.get_mut(&id) {
            let messages = association.take_outbox();
            if !messages.is_empty() {
                self.run(id, |socket| Association::hand_over(socket, messages));
            }
        }
    }

    /// Return up to `limit` messages, taking turns between the associations. The remaining ones
    /// fill the receive window, so that a slow reader slows its peers.
    pub fn messages(&mut self, limit: usize) -> Vec<Received> {
        let mut out = Vec::new();
        while out.len() < limit
            && let Some((message, ended)) = self.inbox.pop()
        {
            let id = message.association;
            let share = self.share();
            if let Some(association) = self.associations.get_mut(&id) {
                association.window.share(share);
                let (probe, update) = association.window.drain(Window::cost(&message.payload));
                if let Some(update) = update {
                    self.packets.push_back((association.peer, update));
                }
                if let Some(probe) = probe {
                    self.run(id, |socket| socket.handle_input(&probe));
                }
            }
            out.push(message);
            if let Some(reason) = ended {
                self.events.push_back(Event::Down {
                    association: id,
                    reason,
                });
            }
        }
        out
    }

    /// Run the timers that are due.
    pub fn advance(&mut self, now: u64) {
        self.now = now;
        let due: Vec<u64> = self
            .timers
            .range(..=(now, u64::MAX))
            .map(|(_, id)| *id)
            .collect();
        for id in due {
            self.run(id, |_| {});
        }
    }

    /// The time of the next `advance`.
    pub fn timeout(&self) -> Option<u64> {
        self.timers.first().map(|(due, _)| *due)
    }

    pub fn packets(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        while let Some(id) = self.unflushed.first().copied() {
            self.flush(id);
        }
        self.packets.drain(..).collect()
    }

    pub fn events(&mut self) -> Vec<Event> {
        self.events.drain(..).collect()
    }

    /// The negotiated numbers of inbound and outbound streams.
    pub fn streams(&self, id: u64) -> Option<(u16, u16)> {
        let metrics = self.associations.get(&id)?.socket.get_metrics()?;
        Some((
            metrics.negotiated_maximum_incoming_streams,
            metrics.negotiated_maximum_outgoing_streams,
        ))
    }

    /// The number of associations, including ended ones with unread messages.
    pub fn count(&self) -> usize {
        self.associations.len() + self.inbox.lingering()
    }
}
