//! New associations: INIT and COOKIE ECHO (RFC 9260 clause 5).

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dcsctp::api::{DcSctpSocket, Socket, SocketEvent};

use super::Endpoint;
use crate::sctp::cookie::{self, Opened};
use crate::sctp::packet;

/// The cause codes of RFC 9260 clause 3.3.10 for a refused INIT.
const OUT_OF_RESOURCE: u16 = 4;
const USER_INITIATED_ABORT: u16 = 12;

impl Endpoint {
    /// Answer an INIT for a new association. The answer has all of its state: nothing is kept
    /// until the peer returns it (RFC 9260 clause 5.1.3).
    pub(super) fn receive_init(&mut self, head: packet::Head, data: &[u8], from: SocketAddr) {
        if !self.accept {
            self.refuse_init(head, data, from, USER_INITIATED_ABORT);
            return;
        }
        if !self.has_room() {
            self.refuse_init(head, data, from, OUT_OF_RESOURCE);
            return;
        }
        cookie::reseed();
        let mut socket = Socket::new("", &self.options(head.source));
        let _ = catch_unwind(AssertUnwindSafe(|| socket.handle_input(data)));
        while let Some(event) = socket.poll_event() {
            if let SocketEvent::SendPacket(mut answer) = event {
                self.cookies.seal(&mut answer, from, self.now);
                self.packets.push_back((from, answer));
            }
        }
    }

    /// Discard an INIT, with an ABORT for the peer unless its tag is zero (clause 3.3.2).
    pub(super) fn refuse_init(
        &mut self,
        head: packet::Head,
        data: &[u8],
        from: SocketAddr,
        cause: u16,
    ) {
        self.dropped += 1;
        if let Some(answer) = packet::refuse_init(head, data, cause) {
            self.packets.push_back((from, answer));
        }
    }

    pub(super) fn receive_cookie(&mut self, head: packet::Head, data: &[u8], from: SocketAddr) {
        let data = match self.cookies.open(head, data, from, self.now) {
            Opened::Cookie(data) => data,
            Opened::Stale(answer) => {
                self.packets.push_back((from, answer));
                return;
            }
            Opened::Forged => {
                self.dropped += 1;
                return;
            }
        };
        cookie::reseed();
        if let Some(id) = self.owner(head, from) {
            self.receive_for(id, head, &data, from);
        } else if self.by_peer.contains_key(&(from, head.source)) {
            self.dropped += 1; // the peer has another association (clause 5.2.4)
        } else if self.has_room() {
            let id = self.insert(from, head.source);
            self.by_tag.insert(head.tag, id);
            if let Some(association) = self.associations.get_mut(&id) {
                association.tags.push(head.tag);
            }
            self.receive_for(id, head, &data, from);
            if self.associations.get(&id).is_some_and(|a| !a.up) {
                self.detach(id);
            }
        } else {
            self.dropped += 1;
        }
    }
}
