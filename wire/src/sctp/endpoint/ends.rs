//! The ends of associations.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dcsctp::api::{DcSctpSocket, SocketEvent};

use super::{Endpoint, Event};

impl Endpoint {
    pub(super) fn remove(&mut self, id: u64, reason: String) {
        if self.detach(id) {
            self.end(id, reason);
        }
    }

    /// Remove an association from every table. Return false if it does not exist.
    pub(super) fn detach(&mut self, id: u64) -> bool {
        let Some(association) = self.associations.remove(&id) else {
            return false;
        };
        let key = (association.peer, association.port);
        if self.by_peer.get(&key) == Some(&id) {
            self.by_peer.remove(&key);
        }
        for tag in &association.tags {
            if self.by_tag.get(tag) == Some(&id) {
                self.by_tag.remove(tag);
            }
        }
        if let Some(due) = association.due {
            self.timers.remove(&(due, id));
        }
        self.unfinished -= association.counted;
        self.unsent = self.unsent.saturating_sub(association.unsent);
        self.unflushed.remove(&id);
        true
    }

    /// Report the end of an association, at once or after its last message was read.
    pub(super) fn end(&mut self, id: u64, reason: String) {
        if let Some(reason) = self.inbox.end(id, reason) {
            self.events.push_back(Event::Down {
                association: id,
                reason,
            });
        }
    }

    /// Abort an association. Its received messages are still read.
    pub(super) fn kill(&mut self, id: u64, reason: &str) {
        self.send_abort(id);
        self.remove(id, reason.to_owned());
    }

    pub(super) fn send_abort(&mut self, id: u64) {
        if let Some(association) = self.associations.get_mut(&id) {
            let _ = catch_unwind(AssertUnwindSafe(|| association.socket.close()));
            while let Some(event) = association.socket.poll_event() {
                if let SocketEvent::SendPacket(data) = event {
                    self.packets.push_back((association.peer, data));
                }
            }
        }
    }

    pub fn shutdown(&mut self, id: u64, now: u64) {
        self.now = now;
        self.flush(id);
        self.run(id, DcSctpSocket::shutdown);
    }

    pub fn abort(&mut self, id: u64, now: u64) {
        self.now = now;
        let lingered = self.inbox.clear(id);
        self.send_abort(id);
        if self.detach(id) || lingered {
            self.end(id, "aborted".to_owned());
        }
    }
}
