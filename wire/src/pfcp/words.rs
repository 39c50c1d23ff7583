//! Enumerations: one octet or a part of one, and the specification's word for each number.
//!
//! A number without a word represents itself. The enumerations of rs-pfcp 0.5 lose or refuse
//! unknown numbers, and read spare bits as part of the number.

use super::kind::Kind;

/// An enumeration in the bits of `$mask`.
macro_rules! words {
    ($mask:expr; $($number:literal $word:literal)*) => {
        Kind::Value {
            read: |py, octets| {
                let number = $crate::pfcp::octets::Octets(octets).u8()? & $mask;
                Ok(match number {
                    $($number => pyo3::intern!(py, $word).clone().into_any(),)*
                    _ => $crate::pfcp::plain::Plain::put(&number, py)?,
                })
            },
            write: |value, out| {
                out.push(number_of(value, $mask, &[$(($number, $word)),*])?);
                Ok(())
            },
        }
    };
}

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::fault::Fault;
use super::plain::{Plain, text_of};

/// The number of a word, or a number that represents itself.
pub fn number_of(value: &Bound<'_, PyAny>, most: u8, words: &[(u8, &str)]) -> Result<u8, Fault> {
    let number = if value.is_instance_of::<PyString>() {
        let text = text_of(value)?;
        words
            .iter()
            .find(|(_, word)| *word == text)
            .map(|(number, _)| *number)
            .ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
                Fault::new(format!("{text:?} is none of: {}", words.join(", ")))
            })?
    } else {
        u8::take(value)?
    };
    if number > most {
        return Err(Fault::new(format!("{number} is more than {most}")));
    }
    Ok(number)
}

/// The causes of clause 8.2.1, also used in answers to faults.
pub const CAUSES: &[(u8, &str)] = &[
    (1, "Request accepted"),
    (2, "More Usage Report to send"),
    (3, "Request partially accepted"),
    (64, "Request rejected (reason not specified)"),
    (65, "Session context not found"),
    (66, "Mandatory IE missing"),
    (67, "Conditional IE missing"),
    (68, "Invalid length"),
    (69, "Mandatory IE incorrect"),
    (70, "Invalid Forwarding Policy"),
    (71, "Invalid F-TEID allocation option"),
    (72, "No established PFCP Association"),
    (73, "Rule creation/modification Failure"),
    (74, "PFCP entity in congestion"),
    (75, "No resources available"),
    (76, "Service not supported"),
    (77, "System failure"),
    (78, "Redirection Requested"),
    (79, "All dynamic addresses are occupied"),
    (80, "Unknown Pre-defined Rule"),
    (81, "Unknown Application ID"),
    (82, "L2TP tunnel Establishment failure"),
    (83, "L2TP session Establishment failure"),
    (84, "L2TP tunnel release"),
    (85, "L2TP session release"),
    (
        86,
        "PFCP session restoration failure due to requested resource not available",
    ),
    (
        87,
        "L2TP tunnel Establishment failure - Tunnel Auth Failure",
    ),
    (
        88,
        "L2TP Session Establishment failure - Session Auth Failure",
    ),
    (89, "L2TP tunnel Establishment failure - LNS not reachable"),
];

/// The word for a cause.
pub fn cause_word(number: u8) -> Option<&'static str> {
    let at = CAUSES.binary_search_by_key(&number, |(number, _)| *number);
    at.ok().map(|at| CAUSES[at].1)
}

pub const CAUSE: Kind = Kind::Value {
    read: |py, octets| {
        let number = super::octets::Octets(octets).u8()?;
        Ok(match cause_word(number) {
            Some(word) => PyString::new(py, word).into_any(),
            None => number.put(py)?,
        })
    },
    write: |value, out| {
        out.push(number_of(value, 255, CAUSES)?);
        Ok(())
    },
};

pub const SOURCE_INTERFACE: Kind = words! { 15;
    0 "Access" 1 "Core" 2 "SGi-LAN/N6-LAN" 3 "CP-function" 4 "5G VN Internal"
};

pub const DESTINATION_INTERFACE: Kind = words! { 15;
    0 "Access" 1 "Core" 2 "SGi-LAN/N6-LAN" 3 "CP-function" 4 "LI Function" 5 "5G VN Internal"
};

pub const PDN_TYPE: Kind = words! { 7;
    1 "IPv4" 2 "IPv6" 3 "IPv4v6" 4 "Non-IP" 5 "Ethernet"
};

pub const INTERFACE_TYPE: Kind = words! { 63;
    0 "S1-U" 1 "S5/S8-U" 2 "S4-U" 3 "S11-U" 4 "S12-U" 5 "Gn/Gp-U" 6 "S2a-U" 7 "S2b-U"
    8 "eNodeB GTP-U interface for DL data forwarding"
    9 "eNodeB GTP-U interface for UL data forwarding"
    10 "SGW/UPF GTP-U interface for DL data forwarding"
    11 "N3 3GPP Access" 12 "N3 Trusted Non-3GPP Access" 13 "N3 Untrusted Non-3GPP Access"
    14 "N3 for data forwarding" 15 "N9" 16 "SGi" 17 "N6" 18 "N19" 19 "S8-U" 20 "Gp-U"
    21 "N9 for roaming" 22 "Iu-U" 23 "N9 for data forwarding" 24 "Sxa-U" 25 "Sxb-U" 26 "Sxc-U"
    27 "N4-U" 28 "SGW/UPF GTP-U interface for UL data forwarding"
    29 "N6mb/Nmb9" 30 "N3mb" 31 "N19mb"
};

pub const RAT_TYPE: Kind = words! { 255;
    1 "UTRAN" 2 "GERAN" 3 "WLAN" 4 "GAN" 5 "HSPA Evolution" 6 "EUTRAN (WB-E-UTRAN)" 7 "Virtual"
    8 "EUTRAN-NB-IoT" 9 "LTE-M" 10 "NR"
};

/// A type for a part that is a word of the specification, or else a number.
macro_rules! word_kind {
    ($type:ident $most:literal; $($number:literal $word:literal)*) => {
        struct $type(u8);

        impl $crate::pfcp::plain::Plain for $type {
            fn put<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                match self.0 {
                    $($number => Ok(pyo3::intern!(py, $word).clone().into_any()),)*
                    number => $crate::pfcp::plain::Plain::put(&number, py),
                }
            }

            fn take(
                value: &pyo3::Bound<'_, pyo3::PyAny>,
            ) -> Result<Self, $crate::pfcp::fault::Fault> {
                $crate::pfcp::words::number_of(value, $most, &[$(($number, $word)),*]).map($type)
            }
        }
    };
}

pub(super) use word_kind;
