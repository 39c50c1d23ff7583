//! A receiver's handling of invalid messages (clause 7.6).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rs_pfcp::ie::cause::CauseValue;
use rs_pfcp::message::MsgType;
use rs_pfcp::message::header::Header;

use super::decode::MOST;
use super::frames::{Broken, Frame, Frames};
use super::kind::Kind;
use super::message::{self, VERSION, framed};
use super::required::{
    Condition, conditions_of_group, conditions_of_message, of_group, of_message,
};
use super::table::{by_number, is_update, name_of};
use super::words::cause_word;

/// A fault and its IE.
struct Finding {
    cause: CauseValue,
    ie: Option<u16>,
    text: String,
    /// Whether the message can be processed without the IE.
    optional: bool,
}

const F_SEID: u16 = 57;
const NODE_ID: u16 = 60;
const CAUSE: u16 = 19;
const ACCEPTED: u8 = CauseValue::RequestAccepted as u8;

/// The finding for an incomplete frame, possibly `within` a group.
fn cut(broken: Broken, within: Option<u16>) -> Finding {
    Finding {
        cause: CauseValue::InvalidLength,
        ie: broken.number.or(within),
        text: broken.fault.to_string(),
        optional: false,
    }
}

/// The mandatory contents of a message or a group.
struct Rules {
    within: Option<u16>,
    mandatory: &'static [u16],
    /// The mandatory IE that the receiver does without, if it is missing.
    dispensable: Option<u16>,
    conditions: &'static [Condition],
}

/// The most severe finding in some IEs and their contents.
struct Ies<'a> {
    py: Python<'a>,
    found: Option<Finding>,
}

impl Ies<'_> {
    /// Keep a finding, unless there is one of the same or higher severity.
    fn keep(&mut self, finding: Finding) {
        let worse = match &self.found {
            None => true,
            Some(kept) => kept.optional && !finding.optional,
        };
        if worse {
            self.found = Some(finding);
        }
    }

    fn missing(&mut self, cause: CauseValue, ie: u16, optional: bool) {
        let text = "it is missing".to_owned();
        let ie = Some(ie);
        self.keep(Finding {
            cause,
            ie,
            text,
            optional,
        });
    }

    /// The IEs of a message, or those within a group.
    fn check(&mut self, octets: &[u8], rules: &Rules, deeper: usize) {
        let Rules {
            within,
            mandatory,
            dispensable,
            conditions,
        } = *rules;
        let mut frames = Vec::new();
        for frame in Frames::new(octets, 0) {
            match frame {
                Ok(frame) => frames.push(frame),
                Err(broken) => return self.keep(cut(broken, within)),
            }
        }
        let there = |number: u16| frames.iter().find(|frame| frame.number == number);
        for number in mandatory {
            if there(*number).is_none() {
                let optional = dispensable == Some(*number);
                self.missing(CauseValue::MandatoryIeMissing, *number, optional);
            }
        }
        for (flags, octet, bit, number) in conditions {
            let asked = there(*flags)
                .and_then(|frame| frame.value.get(*octet))
                .is_some_and(|octet| octet >> bit & 1 != 0);
            if asked && there(*number).is_none() {
                self.missing(CauseValue::ConditionalIeMissing, *number, false);
            }
        }
        for frame in &frames {
            let conditional = || conditions.iter().any(|(.., ie)| *ie == frame.number);
            let optional = !mandatory.contains(&frame.number) && !conditional();
            let taken_out = optional && frame.value.is_empty() && is_update(within);
            if !taken_out {
                self.value(frame, optional, deeper);
            }
        }
    }

    fn value(&mut self, frame: &Frame<'_>, optional: bool, deeper: usize) {
        if frame.enterprise.is_some() {
            return;
        }
        let ie = Some(frame.number);
        match by_number(frame.number).map(|ie| ie.kind) {
            Some(Kind::Group) => {
                let Some(deeper) = deeper.checked_sub(1) else {
                    let text = format!("groups nest deeper than {MOST}");
                    let cause = CauseValue::MandatoryIeIncorrect;
                    return self.keep(Finding {
                        cause,
                        ie,
                        text,
                        optional,
                    });
                };
                let rules = Rules {
                    within: ie,
                    mandatory: of_group(frame.number),
                    dispensable: None,
                    conditions: conditions_of_group(frame.number),
                };
                self.check(frame.value, &rules, deeper);
            }
            Some(Kind::Value { read, .. }) => {
                if let Err(fault) = read(self.py, frame.value) {
                    let cause = if fault.length {
                        CauseValue::InvalidLength
                    } else {
                        CauseValue::MandatoryIeIncorrect
                    };
                    let text = fault.to_string();
                    self.keep(Finding {
                        cause,
                        ie,
                        text,
                        optional,
                    });
                }
            }
            _ => {}
        }
    }
}

/// The result of `wire.pfcp_check`.
fn said<'py>(
    py: Python<'py>,
    action: &str,
    finding: Option<&Finding>,
    text: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("action", action)?;
    let cause = finding.map(|finding| finding.cause as u8);
    out.set_item("cause", cause.and_then(cause_word))?;
    out.set_item("cause_value", cause)?;
    let ie = finding.and_then(|finding| finding.ie);
    out.set_item("offending_ie", ie.map(name_of))?;
    out.set_item("offending_ie_type", ie)?;
    out.set_item("text", text)?;
    Ok(out)
}

#[pyfunction]
pub fn pfcp_check<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(header) = Header::unmarshal(data) else {
        return said(py, "discard", None, "it is too short for a header").map(Some);
    };
    let kind = header.message_type;
    let told = kind == MsgType::VersionNotSupportedResponse;
    if header.version != VERSION && !told {
        let text = format!("it is of version {}", header.version);
        return said(py, "version-not-supported", None, &text).map(Some);
    }
    if kind == MsgType::Unknown {
        let text = format!("there is no message type {}", header.message_type_code());
        return said(py, "discard", None, &text).map(Some);
    }
    let found = match framed(data) {
        Ok(framed) if framed.rest.is_empty() || header.has_fo => {
            if message::is_of_session(kind) && !header.has_seid {
                return said(py, "discard", None, "its header has no SEID").map(Some);
            }
            ies(py, kind, &framed.message[framed.start()..])
        }
        // The length of the message is wrong (clause 7.6.3).
        _ => Some(Finding {
            cause: CauseValue::InvalidLength,
            ie: None,
            text: "its length is not that in its header".to_owned(),
            optional: false,
        }),
    };
    let Some(finding) = found else {
        return Ok(None);
    };
    let action = match () {
        () if finding.optional => "ignore",
        // A response is never answered, and the response to a heartbeat cannot report a fault.
        () if !message::is_request(kind) || kind == MsgType::HeartbeatRequest => "discard",
        () => "reject",
    };
    let text = match finding.ie {
        Some(ie) => format!("{}: {}", name_of(ie), finding.text),
        None => finding.text.clone(),
    };
    said(py, action, Some(&finding), &text).map(Some)
}

fn ies(py: Python<'_>, kind: MsgType, octets: &[u8]) -> Option<Finding> {
    let mut ies = Ies { py, found: None };
    let rules = Rules {
        within: None,
        mandatory: of_message(kind),
        // The sender of a response is known by its request: the Cause is all that counts.
        dispensable: (!message::is_request(kind)).then_some(NODE_ID),
        conditions: conditions_of_message(kind),
    };
    ies.check(octets, &rules, MOST);
    // The UP F-SEID of an established session.
    if kind == MsgType::SessionEstablishmentResponse {
        let frames = || Frames::new(octets, 0).map_while(Result::ok);
        let cause = frames().find(|frame| frame.number == CAUSE);
        let accepted = cause.is_some_and(|frame| frame.value.first() == Some(&ACCEPTED));
        if accepted && !frames().any(|frame| frame.number == F_SEID) {
            ies.missing(CauseValue::ConditionalIeMissing, F_SEID, false);
        }
    }
    ies.found
}
