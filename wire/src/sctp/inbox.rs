//! Completely received messages that wait for the reader.

use std::collections::{HashMap, VecDeque};

use super::window::Window;

/// A completely received user message.
pub struct Received {
    pub association: u64,
    pub stream: u16,
    pub ppid: u32,
    pub payload: Vec<u8>,
}

/// The waiting messages by association. The associations take turns, so that none starves another.
#[derive(Default)]
pub struct Inbox {
    waiting: HashMap<u64, VecDeque<Received>>,
    /// The cost of all waiting messages.
    octets: usize,
    turns: VecDeque<u64>,
    /// The end reasons of associations with waiting messages.
    ended: HashMap<u64, String>,
}

impl Inbox {
    pub fn push(&mut self, message: Received) {
        let id = message.association;
        self.octets += Window::cost(&message.payload);
        let queue = self.waiting.entry(id).or_default();
        if queue.is_empty() {
            self.turns.push_back(id);
        }
        queue.push_back(message);
    }

    /// The next message. With the last message of an ended association, also the reason of the end.
    pub fn pop(&mut self) -> Option<(Received, Option<String>)> {
        let id = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&id)?;
        let message = queue.pop_front()?;
        self.octets -= Window::cost(&message.payload);
        if queue.is_empty() {
            self.waiting.remove(&id);
            return Some((message, self.ended.remove(&id)));
        }
        self.turns.push_back(id);
        Some((message, None))
    }

    /// Record the end of an association. Return the reason if no message of it is waiting.
    pub fn end(&mut self, id: u64, reason: String) -> Option<String> {
        if self.waiting.contains_key(&id) {
            self.ended.insert(id, reason);
            return None;
        }
        Some(reason)
    }

    /// Drop the waiting messages of an association. Return true if it had already ended.
    pub fn clear(&mut self, id: u64) -> bool {
        if let Some(queue) = self.waiting.remove(&id) {
            self.octets -= queue
                .iter()
                .map(|m| Window::cost(&m.payload))
                .sum::<usize>();
            self.turns.retain(|turn| *turn != id);
        }
        self.ended.remove(&id).is_some()
    }

    /// The cost of all waiting messages, as in the windows of their associations.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// The number of ended associations with unread messages.
    pub fn lingering(&self) -> usize {
        self.ended.len()
    }
}
