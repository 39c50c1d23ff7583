//! The header of a message (clause 7.2.2), and the names of the messages (table 7.3-1).

use rs_pfcp::message::MsgType;
use rs_pfcp::message::header::Header;

use super::fault::Fault;

/// The protocol version of this implementation.
pub const VERSION: u8 = 1;

/// The name of each message, without the "PFCP" and the spaces.
const NAMES: &[(MsgType, &str)] = &[
    (MsgType::HeartbeatRequest, "HeartbeatRequest"),
    (MsgType::HeartbeatResponse, "HeartbeatResponse"),
    (MsgType::PfdManagementRequest, "PFDManagementRequest"),
    (MsgType::PfdManagementResponse, "PFDManagementResponse"),
    (MsgType::AssociationSetupRequest, "AssociationSetupRequest"),
    (
        MsgType::AssociationSetupResponse,
        "AssociationSetupResponse",
    ),
    (
        MsgType::AssociationUpdateRequest,
        "AssociationUpdateRequest",
    ),
    (
        MsgType::AssociationUpdateResponse,
        "AssociationUpdateResponse",
    ),
    (
        MsgType::AssociationReleaseRequest,
        "AssociationReleaseRequest",
    ),
    (
        MsgType::AssociationReleaseResponse,
        "AssociationReleaseResponse",
    ),
    (
        MsgType::VersionNotSupportedResponse,
        "VersionNotSupportedResponse",
    ),
    (MsgType::NodeReportRequest, "NodeReportRequest"),
    (MsgType::NodeReportResponse, "NodeReportResponse"),
    (
        MsgType::SessionSetDeletionRequest,
        "SessionSetDeletionRequest",
    ),
    (
        MsgType::SessionSetDeletionResponse,
        "SessionSetDeletionResponse",
    ),
    (
        MsgType::SessionSetModificationRequest,
        "SessionSetModificationRequest",
    ),
    (
        MsgType::SessionSetModificationResponse,
        "SessionSetModificationResponse",
    ),
    (
        MsgType::SessionEstablishmentRequest,
        "SessionEstablishmentRequest",
    ),
    (
        MsgType::SessionEstablishmentResponse,
        "SessionEstablishmentResponse",
    ),
    (
        MsgType::SessionModificationRequest,
        "SessionModificationRequest",
    ),
    (
        MsgType::SessionModificationResponse,
        "SessionModificationResponse",
    ),
    (MsgType::SessionDeletionRequest, "SessionDeletionRequest"),
    (MsgType::SessionDeletionResponse, "SessionDeletionResponse"),
    (MsgType::SessionReportRequest, "SessionReportRequest"),
    (MsgType::SessionReportResponse, "SessionReportResponse"),
];

/// The name of a message that PFCP does not define.
pub const UNKNOWN: &str = "unknown";

/// The name of a message.
pub fn name_of(kind: MsgType) -> &'static str {
    let found = NAMES.iter().find(|(known, _)| *known == kind);
    found.map_or(UNKNOWN, |(_, name)| name)
}

/// The message with a name.
pub fn named(name: &str) -> Option<MsgType> {
    let found = NAMES.iter().find(|(_, known)| *known == name);
    found.map(|(kind, _)| *kind)
}

/// Whether a message is a request.
pub fn is_request(kind: MsgType) -> bool {
    name_of(kind).ends_with("Request")
}

/// Whether a message belongs to a session, and so has a SEID.
pub fn is_of_session(kind: MsgType) -> bool {
    (50..100).contains(&(kind as u8))
}

/// A header, and the octets of its message.
pub struct Framed<'a> {
    pub header: Header,
    /// The message with its header.
    pub message: &'a [u8],
    /// The octets after it in the packet.
    pub rest: &'a [u8],
}

impl Framed<'_> {
    /// The offset of the first IE.
    pub fn start(&self) -> usize {
        self.header.len().into()
    }

    /// The message priority, if present.
    pub fn priority(&self) -> Option<u8> {
        // rs-pfcp holds the whole octet. Its lower half is spare.
        self.header
            .has_mp
            .then_some(self.header.message_priority >> 4)
    }
}

/// Separate a message from the octets after it.
pub fn framed(data: &[u8]) -> Result<Framed<'_>, Fault> {
    let header = Header::unmarshal(data)?;
    let end = usize::from(header.length) + 4;
    if end < header.len().into() {
        return Err(Fault::new(format!("{end} octets do not hold the header")));
    }
    let (message, rest) = data.split_at_checked(end).ok_or_else(|| {
        Fault::new(format!(
            "it is to have {end} octets, and has {}",
            data.len()
        ))
    })?;
    Ok(Framed {
        header,
        message,
        rest,
    })
}

/// Like `framed`, for a complete message of this version. Octets after it are refused unless it
/// announces another message.
pub fn whole(data: &[u8]) -> Result<Framed<'_>, Fault> {
    let found = framed(data)?;
    let header = &found.header;
    // A peer reports its other version with this message.
    let told = header.message_type == MsgType::VersionNotSupportedResponse;
    if header.version != VERSION && !told {
        return Err(Fault::new(format!("it is of version {}", header.version)));
    }
    if !found.rest.is_empty() && !header.has_fo {
        return Err(Fault::new(format!(
            "it is to have {} octets, and has {}",
            found.message.len(),
            data.len()
        )));
    }
    Ok(found)
}
