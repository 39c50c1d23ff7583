//! EAP-AKA' (RFC 9048 over RFC 4187) as the network uses it in 5GS: keys and packets.

use hmac::{Hmac, KeyInit, Mac};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sha2::Sha256;

use crate::error::error;

type Octets<'py> = Bound<'py, PyBytes>;
type HmacSha256 = Hmac<Sha256>;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;
/// The method type of EAP-AKA' (RFC 9048 6.1).
const AKA_PRIME: u8 = 50;
const CHALLENGE: u8 = 1;

const AT_RAND: u8 = 1;
const AT_AUTN: u8 = 2;
const AT_MAC: u8 = 11;
const AT_KDF_INPUT: u8 = 23;
const AT_KDF: u8 = 24;
/// The only defined key derivation function (RFC 9048 3.3).
const KDF: u8 = 1;
/// The first of the skippable attributes (RFC 4187 8.1).
const SKIPPABLE: u8 = 128;

const HEADER: usize = 8;
const MAC_LENGTH: usize = 16;

fn refused(text: impl std::fmt::Display) -> PyErr {
    error("eap", text)
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> PyResult<[u8; 32]> {
    let mut mac = HmacSha256::new_from_slice(key).map_err(refused)?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac.finalize().into_bytes().into())
}

/// 208 octets of PRF' (RFC 9048 3.4.1).
fn prf_prime(key: &[u8], seed: &[&[u8]]) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(7 * 32);
    let mut last: Vec<u8> = Vec::new();
    for number in 1..=7u8 {
        let mut parts = vec![last.as_slice()];
        parts.extend_from_slice(seed);
        let count = [number];
        parts.push(&count);
        last = hmac(key, &parts)?.to_vec();
        out.extend_from_slice(&last);
    }
    Ok(out)
}

/// CK' and IK' (TS 33.402 A.2): the access network identity is the serving network name.
fn primes(ck: &[u8], ik: &[u8], network: &[u8], autn: &[u8]) -> PyResult<[u8; 32]> {
    if ck.len() != 16 || ik.len() != 16 || autn.len() != 16 {
        return Err(refused("CK, IK and AUTN have 16 octets each"));
    }
    let length =
        u16::try_from(network.len()).map_err(|_| refused("the network name is too long"))?;
    let key = [ck, ik].concat();
    let length = length.to_be_bytes();
    hmac(&key, &[b"\x20", network, &length, &autn[..6], b"\x00\x06"])
}

/// The keys of one full authentication (RFC 9048 3.3).
#[pyclass(frozen, get_all, module = "wire")]
pub struct EapAkaKeys {
    k_encr: Py<PyBytes>,
    k_aut: Py<PyBytes>,
    k_re: Py<PyBytes>,
    msk: Py<PyBytes>,
    emsk: Py<PyBytes>,
    kausf: Py<PyBytes>,
}

#[pyfunction]
pub fn eap_aka_keys(
    py: Python<'_>,
    ck: &[u8],
    ik: &[u8],
    sn_name: &str,
    autn: &[u8],
    identity: &str,
) -> PyResult<EapAkaKeys> {
    let both = primes(ck, ik, sn_name.as_bytes(), autn)?;
    let (ck_prime, ik_prime) = both.split_at(16);
    let key = [ik_prime, ck_prime].concat();
    let mk = prf_prime(&key, &[b"EAP-AKA'", identity.as_bytes()])?;
    let part = |from: usize, to: usize| PyBytes::new(py, &mk[from..to]).unbind();
    Ok(EapAkaKeys {
        k_encr: part(0, 16),
        k_aut: part(16, 48),
        k_re: part(48, 80),
        msk: part(80, 144),
        emsk: part(144, 208),
        kausf: part(144, 176),
    })
}

/// An attribute in whole words: type, length, `head` of two octets, `value`, padding.
fn attribute(packet: &mut Vec<u8>, kind: u8, head: [u8; 2], value: &[u8]) -> PyResult<()> {
    let words = 1 + value.len().div_ceil(4);
    packet.push(kind);
    packet.push(u8::try_from(words).map_err(|_| refused("an attribute is too long"))?);
    packet.extend_from_slice(&head);
    packet.extend_from_slice(value);
    packet.resize(packet.len().next_multiple_of(4), 0);
    Ok(())
}

#[pyfunction]
pub fn eap_aka_challenge<'py>(
    py: Python<'py>,
    identifier: u8,
    rand: &[u8],
    autn: &[u8],
    sn_name: &str,
    k_aut: &[u8],
) -> PyResult<Octets<'py>> {
    if rand.len() != 16 || autn.len() != 16 {
        return Err(refused("RAND and AUTN have 16 octets each"));
    }
    let name = sn_name.as_bytes();
    let length = u16::try_from(name.len()).map_err(refused)?.to_be_bytes();
    let mut packet = vec![REQUEST, identifier, 0, 0, AKA_PRIME, CHALLENGE, 0, 0];
    attribute(&mut packet, AT_RAND, [0, 0], rand)?;
    attribute(&mut packet, AT_AUTN, [0, 0], autn)?;
    attribute(&mut packet, AT_KDF, [0, KDF], &[])?;
    attribute(&mut packet, AT_KDF_INPUT, length, name)?;
    attribute(&mut packet, AT_MAC, [0, 0], &[0; MAC_LENGTH])?;
    let whole = u16::try_from(packet.len()).map_err(refused)?;
    packet[2..4].copy_from_slice(&whole.to_be_bytes());
    let mac = hmac(k_aut, &[&packet])?;
    let at = packet.len() - MAC_LENGTH;
    packet[at..].copy_from_slice(&mac[..MAC_LENGTH]);
    Ok(PyBytes::new(py, &packet))
}

/// The attributes of an EAP-AKA' packet: the offset, the type and all octets of each.
fn attributes(packet: &[u8]) -> PyResult<Vec<(usize, u8, &[u8])>> {
    let mut found = Vec::new();
    let mut at = HEADER;
    while at < packet.len() {
        let words = packet.get(at + 1).copied().unwrap_or(0);
        let end = at + usize::from(words) * 4;
        let octets = packet
            .get(at..end)
            .filter(|octets| octets.len() >= 4)
            .ok_or_else(|| refused(format!("no whole attribute at octet {at}")))?;
        let once = octets[0] < SKIPPABLE && octets[0] != AT_KDF;
        if once && found.iter().any(|(_, kind, _)| *kind == octets[0]) {
            return Err(refused(format!(
                "the attribute {} is there twice",
                octets[0]
            )));
        }
        found.push((at, octets[0], octets));
        at = end;
    }
    Ok(found)
}

/// The octets of a packet. Its length field must be right.
fn whole(data: &[u8]) -> PyResult<&[u8]> {
    let header = data
        .first_chunk::<4>()
        .ok_or_else(|| refused("fewer than four octets"))?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if length != data.len() {
        let text = format!("a length of {length} in {} octets", data.len());
        return Err(refused(text));
    }
    Ok(data)
}

#[pyfunction]
pub fn eap_decode<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let packet = whole(data)?;
    let out = PyDict::new(py);
    out.set_item("code", packet[0])?;
    out.set_item("identifier", packet[1])?;
    if !matches!(packet[0], REQUEST | RESPONSE) {
        return Ok(out);
    }
    let method = packet.get(4).ok_or_else(|| refused("no method type"))?;
    out.set_item("type", method)?;
    if *method != AKA_PRIME {
        return Ok(out);
    }
    if packet.len() < HEADER {
        return Err(refused("no subtype"));
    }
    out.set_item("subtype", packet[5])?;
    let values = PyDict::new(py);
    for (_, kind, octets) in attributes(packet)? {
        values.set_item(kind, PyBytes::new(py, &octets[2..]))?;
    }
    out.set_item("attributes", values)?;
    Ok(out)
}

#[pyfunction]
pub fn eap_aka_mac_is_right(data: &[u8], k_aut: &[u8]) -> PyResult<bool> {
    let packet = whole(data)?;
    if packet.len() < HEADER || packet[4] != AKA_PRIME {
        return Err(refused("no packet of EAP-AKA'"));
    }
    let found = attributes(packet)?;
    let Some((at, _, octets)) = found.iter().find(|(_, kind, _)| *kind == AT_MAC) else {
        return Ok(false);
    };
    if octets.len() != 4 + MAC_LENGTH {
        return Ok(false);
    }
    let (before, after) = (&packet[..at + 4], &packet[at + 4 + MAC_LENGTH..]);
    let mut mac = HmacSha256::new_from_slice(k_aut).map_err(refused)?;
    for part in [before, &[0; MAC_LENGTH], after] {
        mac.update(part);
    }
    Ok(mac.verify_truncated_left(&octets[4..]).is_ok())
}

#[pyfunction]
pub fn eap_result(py: Python<'_>, identifier: u8, success: bool) -> Octets<'_> {
    let code = if success { SUCCESS } else { FAILURE };
    PyBytes::new(py, &[code, identifier, 0, 4])
}
