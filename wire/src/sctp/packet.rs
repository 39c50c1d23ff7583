//! The parts of an SCTP packet that an endpoint itself reads and writes (RFC 9260 clause 3): to
//! find the association, to change the receive window, and to answer packets out of the blue
//! (clause 8.4).

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

/// The T bit of ABORT and SHUTDOWN COMPLETE: the tag is reflected from the peer.
const TAG_REFLECTED: u8 = 1;

/// The I bit of DATA (RFC 7053).
const SACK_IMMEDIATELY: u8 = 8;

/// Offsets of the fields of a SACK chunk.
const SACK_WINDOW: usize = 8;
const SACK_DUPLICATES: usize = 14;
const SACK_FIXED: usize = 16;

/// The common header and the type of the first chunk.
#[derive(Clone, Copy)]
pub struct Head {
    pub source: u16,
    pub destination: u16,
    pub tag: u32,
    pub first_chunk: u8,
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

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
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
