//! The parts of an SCTP packet that an endpoint itself reads and writes (RFC 9260 clause 3): to
//! find the association, to change the receive window, and to answer packets out of the blue
//! (clause 8.4).

use std::ops::Range;

const HEADER: usize = 12;

pub const DATA: u8 = 0;
pub const INIT: u8 = 1;
pub const INIT_ACK: u8 = 2;
pub const SACK: u8 = 3;
pub const HEARTBEAT: u8 = 4;
pub const HEARTBEAT_ACK: u8 = 5;
pub const ABORT: u8 = 6;
pub const SHUTDOWN_ACK: u8 = 8;
pub const ERROR: u8 = 9;
pub const COOKIE_ECHO: u8 = 10;
pub const COOKIE_ACK: u8 = 11;
pub const SHUTDOWN_COMPLETE: u8 = 14;

/// RE-CONFIG (RFC 6525) has two parameters at most: requests for streams in both directions.
const RE_CONFIG: u8 = 130;

/// Octets of an Outgoing SSN Reset Request before its streams.
const RESET_FIXED: usize = 16;

/// The T bit of ABORT and SHUTDOWN COMPLETE: the tag is reflected from the peer.
const TAG_REFLECTED: u8 = 1;

/// The I bit of DATA (RFC 7053).
const SACK_IMMEDIATELY: u8 = 8;

/// Offsets of the fields of a SACK chunk.
const SACK_WINDOW: usize = 8;
const SACK_DUPLICATES: usize = 14;
const SACK_FIXED: usize = 16;

/// The parameter State Cookie of an INIT ACK.
const STATE_COOKIE: u16 = 7;

/// Octets of an INIT or INIT ACK before its parameters.
const INIT_FIXED: usize = 20;

/// Octets of a DATA chunk before its user data, and the offset of its stream.
const DATA_FIXED: usize = 16;
const DATA_STREAM: usize = 8;

/// The B and E bits of DATA: the first and the last fragment of a message.
const COMPLETE: u8 = 3;

/// The least window of an INIT (RFC 9260 clause 3.3.2).
const LEAST_WINDOW: u32 = 1500;

/// Chunks other than DATA that are processed in one packet. Many chunk types are answered with a
/// packet each.
const MAX_CONTROL: usize = 16;

/// Cause codes (clause 3.3.10).
pub const STALE_COOKIE: u16 = 3;
pub const INVALID_MANDATORY_PARAMETER: u16 = 7;

/// The common header and the type of the first chunk.
#[derive(Clone, Copy)]
pub struct Head {
    pub source: u16,
    pub destination: u16,
    pub tag: u32,
    pub first_chunk: u8,
}

impl Head {
    /// The head of a packet in the other direction.
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ..self
        }
    }
}

/// A chunk of a packet: its type, its start and its end including padding.
#[derive(Clone, Copy)]
pub struct Chunk {
    pub kind: u8,
    pub start: usize,
    pub end: usize,
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// `None` if the data is too short to be a packet with a chunk.
pub fn head(data: &[u8]) -> Option<Head> {
    Some(Head {
        source: u16_at(data, 0)?,
        destination: u16_at(data, 2)?,
        tag: u32_at(data, 4)?,
        first_chunk: *data.get(HEADER + 3).and(data.get(HEADER))?,
    })
}

/// The chunks in order, as far as their lengths are valid.
pub fn chunks(data: &[u8]) -> impl Iterator<Item = Chunk> + '_ {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let start = at;
        let kind = *data.get(start)?;
        let length = usize::from(u16_at(data, start + 2)?).max(4);
        at += length.next_multiple_of(4);
        Some(Chunk {
            kind,
            start,
            end: at.min(data.len()),
        })
    })
}

/// The tag that this packet asks the peer to use from now on: the tag of an INIT or INIT ACK.
pub fn offered_tag(data: &[u8]) -> Option<u32> {
    matches!(data.get(HEADER), Some(&(INIT | INIT_ACK))).then(|| u32_at(data, HEADER + 4))?
}

/// Whether the mandatory fields of an INIT or INIT ACK have valid values (clauses 3.3.2 and 3.3.3).
/// A zero tag is invalid too.
pub fn valid_init(data: &[u8]) -> bool {
    let chunk = HEADER;
    let tag = u32_at(data, chunk + 4).unwrap_or_default();
    let window = u32_at(data, chunk + 8).unwrap_or_default();
    let outbound = u16_at(data, chunk + 12).unwrap_or_default();
    let inbound = u16_at(data, chunk + 14).unwrap_or_default();
    tag != 0 && window >= LEAST_WINDOW && outbound != 0 && inbound != 0
}

/// The state cookie in an INIT ACK.
pub fn state_cookie(data: &[u8]) -> Option<Range<usize>> {
    if data.get(HEADER) != Some(&INIT_ACK) {
        return None;
    }
    let mut at = HEADER + INIT_FIXED;
    loop {
        let length = usize::from(u16_at(data, at + 2)?).max(4);
        if u16_at(data, at)? == STATE_COOKIE {
            return (at + length <= data.len()).then_some(at + 4..at + length);
        }
        at += length.next_multiple_of(4);
    }
}

/// Replace the state cookie of an INIT ACK.
pub fn replace_state_cookie(data: &mut Vec<u8>, at: Range<usize>, cookie: &[u8]) {
    let (start, end) = (at.start - 4, at.end.next_multiple_of(4).min(data.len()));
    let mut parameter = STATE_COOKIE.to_be_bytes().to_vec();
    parameter.extend(short(4 + cookie.len()));
    parameter.extend(cookie);
    parameter.resize(parameter.len().next_multiple_of(4), 0);
    data.splice(start..end, parameter);
    // The chunk of an INIT ACK is the only one of its packet.
    let length = short(data.len() - HEADER);
    data[HEADER + 2..HEADER + 4].copy_from_slice(&length);
    seal(data);
}

/// The cookie in a COOKIE ECHO, the first chunk of its packet.
pub fn echoed_cookie(data: &[u8]) -> Option<Range<usize>> {
    let length = usize::from(u16_at(data, HEADER + 2)?);
    (length >= 4 && HEADER + length <= data.len()).then_some(HEADER + 4..HEADER + length)
}

/// The packet with another cookie in its COOKIE ECHO.
pub fn replace_echoed_cookie(data: &[u8], at: Range<usize>, cookie: &[u8]) -> Vec<u8> {
    let mut out = data[..HEADER].to_vec();
    out.extend([COOKIE_ECHO, 0]);
    out.extend(short(4 + cookie.len()));
    out.extend(cookie);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend_from_slice(&data[at.end.next_multiple_of(4).min(data.len())..]);
    seal(&mut out);
    out
}

/// The ERROR that answers a cookie which is too old by `over` microseconds (clause 5.1.5).
pub fn stale_cookie(head: Head, tag: u32, over: u32) -> Vec<u8> {
    let mut cause = STALE_COOKIE.to_be_bytes().to_vec();
    cause.extend([0, 8]);
    cause.extend(over.to_be_bytes());
    build(head.destination, head.source, tag, ERROR, 0, &cause)
}

fn short(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

/// Why a packet ends its association; `None` if it does not. dcsctp would accept DATA and
/// RE-CONFIG for any stream, and keep state for each.
pub fn violation(data: &[u8], streams: u16) -> Option<&'static str> {
    chunks(data).find_map(|chunk| {
        let length = usize::from(u16_at(data, chunk.start + 2)?);
        if chunk.kind == RE_CONFIG {
            let longest = 4 + 2 * (RESET_FIXED + 2 * usize::from(streams));
            return (length > longest).then_some("RE-CONFIG of too many streams");
        }
        if chunk.kind != DATA {
            return None;
        }
        if length <= DATA_FIXED {
            return Some("DATA without user data");
        }
        let stream = u16_at(data, chunk.start + DATA_STREAM)?;
        (stream >= streams).then_some("invalid stream identifier")
    })
}

/// The packet without its last chunks, if it has too many that are not DATA.
pub fn without_excess(data: &[u8]) -> Option<Vec<u8>> {
    let control = |chunk: &Chunk| chunk.kind != DATA;
    if chunks(data).filter(control).count() <= MAX_CONTROL {
        return None;
    }
    let mut out = data[..HEADER].to_vec();
    let mut count = 0;
    for chunk in chunks(data) {
        count += usize::from(control(&chunk));
        if count > MAX_CONTROL {
            break;
        }
        out.extend_from_slice(&data[chunk.start..chunk.end]);
    }
    seal(&mut out);
    Some(out)
}

/// The payload lengths of the DATA chunks, each with true if it is a whole message.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = (usize, bool)> + '_ {
    chunks(data)
        .filter(|chunk| chunk.kind == DATA)
        .map(|chunk| {
            let flags = data.get(chunk.start + 1).copied().unwrap_or_default();
            let length = usize::from(u16_at(data, chunk.start + 2).unwrap_or_default());
            let whole = flags & COMPLETE == COMPLETE;
            (length.saturating_sub(DATA_FIXED), whole)
        })
}

/// Whether the CRC32c of the packet is right (RFC 9260 clause 6.8).
pub fn intact(data: &[u8]) -> bool {
    let Some(field) = data
        .get(8..HEADER)
        .and_then(|b| <[u8; 4]>::try_from(b).ok())
    else {
        return false;
    };
    checksum(data) == u32::from_le_bytes(field)
}

fn checksum(data: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&data[..8]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc32c::crc32c_append(crc, &data[HEADER..])
}

fn seal(packet: &mut [u8]) {
    let crc = checksum(packet).to_le_bytes();
    packet[8..HEADER].copy_from_slice(&crc);
}

/// The receive window that a SACK chunk in the packet announces.
pub fn announced_window(data: &[u8]) -> Option<u32> {
    let sack = chunks(data).find(|chunk| chunk.kind == SACK)?;
    u32_at(data, sack.start + SACK_WINDOW)
}

/// Set the window announced by `sack`, a chunk of `packet`.
pub fn announce_window(packet: &mut [u8], sack: Chunk, window: u32) {
    let at = sack.start + SACK_WINDOW;
    packet[at..at + 4].copy_from_slice(&window.to_be_bytes());
    seal(packet);
}

/// A packet that only contains a copy of `sack`, a chunk of `packet`, without its duplicates.
pub fn only_sack(packet: &[u8], sack: Chunk) -> Option<Vec<u8>> {
    let gaps = u16_at(packet, sack.start + 12)?;
    let length = SACK_FIXED + 4 * usize::from(gaps);
    let mut out = packet.get(..HEADER)?.to_vec();
    out.extend_from_slice(packet.get(sack.start..sack.start + length)?);
    out[HEADER + 2..HEADER + 4].copy_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
    out[HEADER + SACK_DUPLICATES..HEADER + SACK_FIXED].copy_from_slice(&[0; 2]);
    seal(&mut out);
    Some(out)
}

/// Split the packet in two: its DATA chunks, marked for immediate acknowledgement, and the rest.
pub fn split_data(packet: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut data = packet[..HEADER].to_vec();
    let mut rest = data.clone();
    for chunk in chunks(packet) {
        let to = if chunk.kind == DATA {
            &mut data
        } else {
            &mut rest
        };
        let start = to.len();
        to.extend_from_slice(&packet[chunk.start..chunk.end]);
        if chunk.kind == DATA {
            to[start + 1] |= SACK_IMMEDIATELY;
        }
    }
    seal(&mut data);
    seal(&mut rest);
    (data, rest)
}

/// Whether the packet has a chunk.
pub fn has_chunks(packet: &[u8]) -> bool {
    packet.len() > HEADER
}

/// The four octets with which dcsctp numbers its heartbeats.
pub fn heartbeat_number(packet: &[u8], heartbeat: Chunk) -> Option<u32> {
    u32_at(packet, heartbeat.start + 8)
}

/// The acknowledgement that the peer of `head` would send for that heartbeat.
pub fn heartbeat_ack(head: Head, number: u32) -> Vec<u8> {
    let mut body = vec![0, 1, 0, 8];
    body.extend(number.to_be_bytes());
    build(
        head.source,
        head.destination,
        head.tag,
        HEARTBEAT_ACK,
        0,
        &body,
    )
}

fn build(source: u16, destination: u16, tag: u32, kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + 4 + body.len());
    out.extend(source.to_be_bytes());
    out.extend(destination.to_be_bytes());
    out.extend(tag.to_be_bytes());
    out.extend([0; 4]);
    out.extend([
        kind,
        flags,
        0,
        u8::try_from(4 + body.len()).unwrap_or(u8::MAX),
    ]);
    out.extend(body);
    seal(&mut out);
    out
}

/// The answer of RFC 9260 clause 8.4 to `head`, a packet of no association; `None` for silence.
pub fn answer_out_of_the_blue(head: Head, data: &[u8]) -> Option<Vec<u8>> {
    let mut kind = ABORT;
    for chunk in chunks(data) {
        match chunk.kind {
            ABORT | SHUTDOWN_COMPLETE | COOKIE_ACK | COOKIE_ECHO | ERROR | INIT_ACK => return None,
            SHUTDOWN_ACK => kind = SHUTDOWN_COMPLETE,
            _ => {}
        }
    }
    Some(build(
        head.destination,
        head.source,
        head.tag,
        kind,
        TAG_REFLECTED,
        &[],
    ))
}

/// The ABORT for a refused INIT (clause 8.4 rule 3); `error` is the cause code.
pub fn refuse_init(head: Head, data: &[u8], error: u16) -> Option<Vec<u8>> {
    let tag = offered_tag(data).filter(|tag| *tag != 0)?;
    let mut cause = error.to_be_bytes().to_vec();
    cause.extend([0, 4]);
    Some(build(head.destination, head.source, tag, ABORT, 0, &cause))
}
