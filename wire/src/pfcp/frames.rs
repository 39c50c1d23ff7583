//! Splits octets into IEs: type, length, value (TS 29.244 clause 8.1.1).
//!
//! `Ie::unmarshal` of rs-pfcp is not used. It refuses IEs with length 0, which the specification
//! allows: an empty Network Instance, a group that is to be removed, an IE of a later release. It
//! also copies the value of an IE at each level of nesting, and does not return the offset.

use super::fault::Fault;

/// A received IE.
pub struct Frame<'a> {
    pub number: u16,
    /// The Enterprise ID of a vendor-specific IE; None for an IE of the specification.
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

/// An IE with an impossible length: it ends after the octets, or before its Enterprise ID does. The
/// iteration stops after it.
pub struct Broken {
    /// None if the header of the IE is incomplete.
    pub number: Option<u16>,
    /// The offset of the IE in the message.
    pub at: usize,
    pub fault: Fault,
}

/// Iterates over the IEs in a part of a message, which starts at offset `at`.
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
