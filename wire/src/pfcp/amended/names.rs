//! Domain names, and the User ID.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Needed, plain, record};
use crate::pfcp::octets::{Octets, put_short_run};
use crate::pfcp::plain::{Hex, Plain, Text, alone, octets_alone, text_of};

/// A domain name as labels, each after its length (TS 23.003 clause 9.1), without an empty label at
/// the end. In Python it is text with dots, or its octets if text would not convert back to it.
pub struct Name(Vec<u8>);

/// The labels joined with dots; `None` if text cannot represent them.
fn joined(labels: &[u8]) -> Option<String> {
    let mut left = Octets(labels);
    let mut name = String::with_capacity(labels.len());
    while !left.0.is_empty() {
        let label = std::str::from_utf8(left.short_run().ok()?).ok()?;
        if label.is_empty() || label.len() > 63 || label.contains('.') {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(label);
    }
    Some(name)
}

impl Name {
    #[allow(
        clippy::unnecessary_wraps,
        reason = "it has the face of rs-pfcp's types"
    )]
    pub fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        // Some senders end the name like the DNS does.
        let labels = match octets.split_last() {
            Some((0, labels)) if joined(labels).is_some() => labels,
            _ => octets,
        };
        Ok(Name(labels.to_vec()))
    }

    pub fn marshal(&self) -> Vec<u8> {
        self.0.clone()
    }

    /// For a peek, which only has text.
    pub fn text(&self) -> Option<String> {
        joined(&self.0)
    }
}

impl Plain for Name {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match joined(&self.0) {
            Some(name) => Ok(PyString::new(py, &name).into_any()),
            None => octets_alone(py, &self.0),
        }
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if let Some(octets) = alone(value)? {
            return Ok(Name(octets));
        }
        let text = text_of(value)?;
        let mut labels = Vec::with_capacity(text.len() + 1);
        for label in text.split('.').filter(|_| !text.is_empty()) {
            if label.is_empty() || label.len() > 63 {
                return Err(Fault::new(format!(
                    "{text:?} has a label of no or over 63 octets"
                )));
            }
            put_short_run(&mut labels, label.as_bytes())?;
        }
        Ok(Name(labels))
    }
}

/// rs-pfcp: appends an empty label, truncates a label over 63 octets, and panics if that splits a
/// character.
pub const APN_DNN: Kind = plain!(Name, |name| Name(name.0.clone()), |name: Name| name);

/// rs-pfcp: lacks the spare octet 5, and has no labels.
struct SmfSetId(Name);

impl SmfSetId {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        left.u8()?;
        Name::unmarshal(left.0).map(SmfSetId)
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = vec![0];
        out.extend_from_slice(&self.0.0);
        out
    }
}

pub const SMF_SET_ID: Kind = record!(ie: SmfSetId {
    "fqdn" fqdn: Needed<Name> = Needed(Name(ie.0.0.clone()));
} => SmfSetId(fqdn.0));

/// rs-pfcp: one identity after a number for its type.
#[derive(Default)]
struct UserId {
    imsi: Option<Hex>,
    imei: Option<Hex>,
    msisdn: Option<Hex>,
    nai: Option<Text>,
    supi: Option<Text>,
    gpsi: Option<Text>,
    pei: Option<Text>,
}

impl UserId {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        let digits = |octets: &[u8]| Hex(octets.to_vec());
        let text = |octets: &[u8]| Text(octets.to_vec());
        Ok(UserId {
            imsi: left.with(flags, 1, Octets::short_run)?.map(digits),
            imei: left.with(flags, 2, Octets::short_run)?.map(digits),
            msisdn: left.with(flags, 4, Octets::short_run)?.map(digits),
            nai: left.with(flags, 8, Octets::short_run)?.map(text),
            supi: left.with(flags, 16, Octets::short_run)?.map(text),
            gpsi: left.with(flags, 32, Octets::short_run)?.map(text),
            pei: left.with(flags, 64, Octets::short_run)?.map(text),
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0];
        let digits = [&self.imsi, &self.imei, &self.msisdn];
        let texts = [&self.nai, &self.supi, &self.gpsi, &self.pei];
        let parts = digits
            .into_iter()
            .map(|part| part.as_ref().map(|Hex(octets)| octets))
            .chain(
                texts
                    .into_iter()
                    .map(|part| part.as_ref().map(|Text(octets)| octets)),
            );
        for (bit, part) in parts.enumerate() {
            if let Some(octets) = part {
                out[0] |= 1 << bit;
                put_short_run(&mut out, octets)?;
            }
        }
        Ok(out)
    }
}

pub const USER_ID: Kind = record!(ie: UserId {
    "imsi" imsi: Option<Hex> = ie.imsi.clone();
    "imei" imei: Option<Hex> = ie.imei.clone();
    "msisdn" msisdn: Option<Hex> = ie.msisdn.clone();
    "nai" nai: Option<Text> = ie.nai.clone();
    "supi" supi: Option<Text> = ie.supi.clone();
    "gpsi" gpsi: Option<Text> = ie.gpsi.clone();
    "pei" pei: Option<Text> = ie.pei.clone();
} => UserId { imsi, imei, msisdn, nai, supi, gpsi, pei });
