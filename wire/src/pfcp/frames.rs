//! A sequence of IEs: type, length, value (clause 8.1.1).
//!
//! `Ie::unmarshal` of rs-pfcp refuses IEs without octets, which the specification allows (a Network
//! Instance, a group to be removed, an IE of a later release). It also copies each IE at each
//! level, and loses its offset.

use super::fault::Fault;

/// A received IE.
pub struct Frame<'a> {
    pub number: u16,
    /// The enterprise of a vendor-specific IE.
    pub enterprise: Option<u16>,
    /// The offset of the IE in the message.
    pub at: usize,
    pub value: &'a [u8],
}

impl Frame<'_> {
    /// The offset of the value in the message.
    pub fn inside(&self) -> usize {
        self.at + if self.enterprise.is_some() { 6 } else { 4 }
    }
}

/// The place where the list of IEs cannot be read.
pub struct Broken {
    pub number: Option<u16>,
    pub at: usize,
    pub fault: Fault,
}

/// The IEs of some octets. The first octet has offset `at` in the message.
pub struct Frames<'a> {
    left: &'a [u8],
    at: usize,
}

impl<'a> Frames<'a> {
    pub fn new(octets: &'a [u8], at: usize) -> Self {
        Frames { left: octets, at }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let at = self.at;
        let broken = |number| {
            let fault = Fault::short();
            Some(Err(Broken { number, at, fault }))
        };
        let octets = std::mem::take(&mut self.left);
        let Some((&[high, low, longer, length], rest)) = octets.split_first_chunk() else {
            return broken(None);
        };
        let number = u16::from_be_bytes([high, low]);
        let length = usize::from(u16::from_be_bytes([longer, length]));
        let Some((mut value, rest)) = rest.split_at_checked(length) else {
            return broken(Some(number));
        };
        let mut enterprise = None;
        if number & 0x8000 != 0 {
            let Some((&id, after)) = value.split_first_chunk() else {
                return broken(Some(number));
            };
            enterprise = Some(u16::from_be_bytes(id));
            value = after;
        }
        self.left = rest;
        self.at = at + 4 + length;
        Some(Ok(Frame {
            number,
            enterprise,
            at,
            value,
        }))
    }
}
