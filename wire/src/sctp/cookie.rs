//! State cookies that only this endpoint can make (RFC 9260 clauses 5.1.3 and 5.1.5).
//!
//! The cookie of dcsctp is the whole state of an association that begins, without protection. Here
//! it gets a time and a message authentication code. So an INIT costs no memory, whoever sent it,
//! and an association exists only for a peer that received its cookie at its address.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::packet::{self, Head};

/// Valid.Cookie.Life (RFC 9260 clause 16).
const LIFE: Duration = Duration::from_secs(60);

const TIME: usize = 8;
const CODE: usize = 16;

/// The offset of the peer's tag in a cookie of dcsctp.
const PEER_TAG: usize = 8;

/// The result of opening a COOKIE ECHO.
pub enum Opened {
    /// The packet with the cookie of dcsctp.
    Cookie(Vec<u8>),
    /// The cookie is too old. The packet is the answer.
    Stale(Vec<u8>),
    Forged,
}

/// The key of the cookies of one endpoint.
pub struct CookieKey([u8; 32]);

impl CookieKey {
    pub fn new() -> Self {
        let mut key = [0; 32];
        random(&mut key);
        Self(key)
    }

    fn code(&self, head: Head, peer: IpAddr, cookie: &[u8]) -> [u8; CODE] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key");
        match peer {
            IpAddr::V4(ip) => mac.update(&ip.octets()),
            IpAddr::V6(ip) => mac.update(&ip.octets()),
        }
        mac.update(&head.source.to_be_bytes());
        mac.update(cookie);
        let mut code = [0; CODE];
        code.copy_from_slice(&mac.finalize().into_bytes()[..CODE]);
        code
    }

    /// Protect the cookie of an INIT ACK for `peer`. Other packets do not change.
    pub fn seal(&self, data: &mut Vec<u8>, peer: SocketAddr, now: u64) {
        let Some(at) = packet::state_cookie(data) else {
            return;
        };
        let mut cookie = data[at.clone()].to_vec();
        cookie.extend(now.to_be_bytes());
        let head = packet::head(data).map(Head::reversed);
        let Some(head) = head else { return };
        cookie.extend(self.code(head, peer.ip(), &cookie));
        packet::replace_state_cookie(data, at, &cookie);
    }

    /// Check the cookie of a COOKIE ECHO of `peer`, and restore the cookie of dcsctp.
    pub fn open(&self, head: Head, data: &[u8], peer: SocketAddr, now: u64) -> Opened {
        let Some(at) = packet::echoed_cookie(data) else {
            return Opened::Forged;
        };
        let cookie = &data[at.clone()];
        let Some(length) = cookie.len().checked_sub(TIME + CODE) else {
            return Opened::Forged;
        };
        let (signed, code) = cookie.split_at(length + TIME);
        let expected = self.code(head, peer.ip(), signed);
        let different = expected
            .iter()
            .zip(code)
            .fold(0, |all, (a, b)| all | (a ^ b));
        if different != 0 {
            return Opened::Forged;
        }
        let (inner, time) = signed.split_at(length);
        let made = u64::from_be_bytes(time.try_into().unwrap_or_default());
        let age = Duration::from_nanos(now.saturating_sub(made));
        if let Some(over) = age.checked_sub(LIFE).filter(|over| !over.is_zero()) {
            let tag = packet::u32_at(inner, PEER_TAG).unwrap_or_default();
            let over = u32::try_from(over.as_micros()).unwrap_or(u32::MAX);
            return Opened::Stale(packet::stale_cookie(head, tag, over));
        }
        Opened::Cookie(packet::replace_echoed_cookie(data, at, inner))
    }
}

/// Seed the tags and TSNs that dcsctp draws next. Its generator alone can be predicted from the
/// numbers that a peer has seen.
pub fn reseed() {
    let mut seed = [0; 8];
    random(&mut seed);
    fastrand::seed(u64::from_ne_bytes(seed));
}

fn random(out: &mut [u8]) {
    getrandom::fill(out).expect("the system has random numbers");
}
