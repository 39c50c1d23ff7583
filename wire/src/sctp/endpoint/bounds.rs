//! Bounds on what all associations hold together.

use super::Endpoint;
use crate::sctp::association::Association;

impl Endpoint {
    /// What each association may have waiting for the reader: if all of them together have much,
    /// its equal part.
    pub(super) fn share(&self) -> usize {
        let half = self.limits.max_waiting / 2;
        if self.inbox.octets() < half {
            return usize::MAX;
        }
        half / self.associations.len().max(1)
    }

    /// Count what an association has not finished. End it if that is too old or too much, or the
    /// oldest if all of it is too much.
    pub(super) fn settle(&mut self, id: u64) {
        let now = self.now;
        let Some(association) = self.associations.get_mut(&id) else {
            return;
        };
        let unfinished = association.holds();
        association.window.settle(unfinished, now);
        let amount = association.window.unfinished();
        self.unfinished = self.unfinished + amount - association.counted;
        association.counted = amount;
        let old = association
            .window
            .since()
            .is_some_and(|since| now.saturating_sub(since) >= self.limits.patience);
        if old || amount > 2 * self.limits.options.max_receiver_window_buffer_size {
            self.kill(
                id,
                "a message is unfinished for too long, or in too many parts",
            );
        }
        while self.unfinished > self.limits.max_unfinished {
            let counted = |a: &Association| a.counted > 0;
            let all = self.associations.iter().filter(|(_, a)| counted(a));
            let age = |a: &Association| a.window.since().unwrap_or(u64::MAX);
            let Some(oldest) = all.map(|(id, a)| (age(a), *id)).min() else {
                return;
            };
            self.kill(oldest.1, "too much of all messages is unfinished");
        }
    }

    /// Measure what is queued for sending. If it is too much, end the association with the most.
    pub(super) fn bound_unsent(&mut self) {
        let size = self.limits.send_buffer;
        self.associations.values_mut().for_each(|association| {
            association.measure_room(size);
        });
        loop {
            self.unsent = self.associations.values().map(|a| a.unsent).sum();
            if self.unsent <= self.limits.max_unsent {
                return;
            }
            let largest = self
                .associations
                .iter()
                .map(|(id, a)| (a.unsent, *id))
                .max();
            let Some((_, id)) = largest else { return };
            self.kill(id, "the peer reads too slowly");
        }
    }
}
