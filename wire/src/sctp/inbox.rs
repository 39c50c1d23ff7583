//! The messages that were received whole and wait for the reader.

use std::collections::{HashMap, VecDeque};

/// A user message that was received whole.
pub struct Received {
    pub association: u64,
    pub stream: u16,
    pub ppid: u32,
    pub payload: Vec<u8>,
}

/// What waits, by association. The associations take turns, so that none starves another.
#[derive(Default)]
pub struct Inbox {
    waiting: HashMap<u64, VecDeque<Received>>,
    turns: VecDeque<u64>,
    /// Why associations ended whose messages still wait.
    ended: HashMap<u64, String>,
}

impl Inbox {
    pub fn push(&mut self, message: Received) {
        let id = message.association;
        let queue = self.waiting.entry(id).or_default();
        if queue.is_empty() {
            self.turns.push_back(id);
        }
        queue.push_back(message);
    }

    /// The next message, and with the last one of an association that ended, why it did.
    pub fn pop(&mut self) -> Option<(Received, Option<String>)> {
        let id = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&id)?;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&id);
            return Some((message, self.ended.remove(&id)));
        }
        self.turns.push_back(id);
        Some((message, None))
    }

    /// The association ended. Gives the reason back when there is nothing left of it to read.
    pub fn end(&mut self, id: u64, reason: String) -> Option<String> {
        if self.waiting.contains_key(&id) {
            self.ended.insert(id, reason);
            return None;
        }
        Some(reason)
    }

    /// Throws away what waits of an association; true if it had ended before.
    pub fn clear(&mut self, id: u64) -> bool {
        if self.waiting.remove(&id).is_some() {
            self.turns.retain(|turn| *turn != id);
        }
        self.ended.remove(&id).is_some()
    }

    /// How many associations have ended but not been read to their end.
    pub fn lingering(&self) -> usize {
        self.ended.len()
    }
}
