//! Reading octets from the front, and hexadecimal digits.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::fault::Fault;

/// The unread octets of an IE's value.
pub struct Octets<'a>(pub &'a [u8]);

impl<'a> Octets<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, left) = self.0.split_at_checked(count).ok_or_else(Fault::short)?;
        self.0 = left;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, left) = self.0.split_first_chunk().ok_or_else(Fault::short)?;
        self.0 = left;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array().map(|[octet]| octet)
    }

    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn ipv4(&mut self) -> Result<Ipv4Addr, Fault> {
        self.array::<4>().map(Ipv4Addr::from)
    }

    pub fn ipv6(&mut self) -> Result<Ipv6Addr, Fault> {
        self.array::<16>().map(Ipv6Addr::from)
    }

    /// Octets that follow their number in one octet.
    pub fn short_run(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.u8()?;
        self.take(length.into())
    }

    /// Octets that follow their number in two octets.
    pub fn run(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.u16()?;
        self.take(length.into())
    }

    /// The result of `read` if `flags` has `flag`.
    pub fn with<T>(
        &mut self,
        flags: u8,
        flag: u8,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if flags & flag == 0 {
            Ok(None)
        } else {
            read(self).map(Some)
        }
    }
}

/// Append octets after their number in one octet.
pub fn put_short_run(out: &mut Vec<u8>, octets: &[u8]) -> Result<(), Fault> {
    let length = u8::try_from(octets.len()).map_err(|_| Fault::new("more than 255 octets"))?;
    out.push(length);
    out.extend_from_slice(octets);
    Ok(())
}

/// Append octets after their number in two octets.
pub fn put_run(out: &mut Vec<u8>, octets: &[u8]) -> Result<(), Fault> {
    let length = u16::try_from(octets.len()).map_err(|_| Fault::new("more than 65535 octets"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(octets);
    Ok(())
}

/// The octets in lower-case hexadecimal digits.
pub fn to_hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(2 * octets.len());
    for octet in octets {
        out.push(char::from(DIGITS[usize::from(octet >> 4)]));
        out.push(char::from(DIGITS[usize::from(octet & 15)]));
    }
    out
}

/// The octets of hexadecimal digits.
pub fn from_hex(text: &str) -> Result<Vec<u8>, Fault> {
    let wrong = || Fault::new("octets are an even number of hexadecimal digits");
    let digit = |digit: u8| char::from(digit).to_digit(16).ok_or_else(wrong);
    if !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| {
            let octet = digit(pair[0])? << 4 | digit(pair[1])?;
            u8::try_from(octet).map_err(|_| wrong())
        })
        .collect()
}
