//! Locates the fault in an NGAP PDU that does not decode. The codec reports the fault but not its
//! place. Only a refusal pays for this second pass.

/// The octet and the IE at which reading stopped.
pub struct Place {
    pub offset: usize,
    pub ie: Option<u16>,
}

fn stop<T>(offset: usize, ie: Option<u16>) -> Result<T, Place> {
    Err(Place { offset, ie })
}

/// Follow the frame of a PDU (TS 38.413 9.4, ITU-T X.691): a header of three octets, its length, an
/// octet of extension bits, the number of IEs, and for each its id, criticality, length and value.
/// None if the fault is not in the frame.
pub fn place(data: &[u8]) -> Option<Place> {
    follow(data).err()
}

fn follow(data: &[u8]) -> Result<(), Place> {
    match data {
        // The CHOICE has three alternatives in two bits.
        [0x60..=0xff, ..] => return stop(0, None),
        [_, _, NO_CRITICALITY..=0xff, ..] => return stop(2, None),
        _ => {}
    }
    let (at, length) = length(data, 3, None)?;
    let end = at + length;
    let body = &data[..end.min(data.len())];
    let Some(&[first, high, low]) = body.get(at..at + 3) else {
        return stop(body.len(), None);
    };
    let mut at = at + 3;
    for _ in 0..u16::from_be_bytes([high, low]) {
        let Some(&[high, low, criticality]) = body.get(at..at + 3) else {
            return stop(body.len(), None);
        };
        let ie = Some(u16::from_be_bytes([high, low]));
        if criticality >= NO_CRITICALITY {
            return stop(at + 2, ie);
        }
        let (value, length) = self::length(body, at + 3, ie)?;
        at = value + length;
        if at > body.len() {
            return stop(body.len(), ie);
        }
    }
    if end > data.len() {
        return stop(data.len(), None);
    }
    // Octets after the last IE: an extension, or surplus octets.
    if at < data.len() || first >= 0x80 {
        return stop(at, None);
    }
    Ok(())
}

/// A criticality has three values in two bits, the first bits of an octet.
const NO_CRITICALITY: u8 = 0xc0;

/// Decode the length determinant at an octet. Return the offset of the contents and their length
/// (X.691 11.9).
fn length(data: &[u8], at: usize, ie: Option<u16>) -> Result<(usize, usize), Place> {
    match (data.get(at), data.get(at + 1)) {
        (Some(&short), _) if short < 0x80 => Ok((at + 1, short.into())),
        (Some(&high), Some(&low)) if high < 0xc0 => {
            let value = u16::from_be_bytes([high & 0x3f, low]);
            Ok((at + 2, value.into()))
        }
        // A fragment. No valid PDU is long enough to need one.
        (Some(_), Some(_)) => stop(at, ie),
        _ => stop(data.len(), ie),
    }
}
