//! The IEs that a message or a group on N4 must have (the tables of clauses 7.4 and 7.5).

use rs_pfcp::message::MsgType;

/// The mandatory IEs of a message.
pub fn of_message(kind: MsgType) -> &'static [u16] {
    use MsgType as M;
    match kind {
        M::HeartbeatRequest | M::HeartbeatResponse => &[96],
        M::AssociationSetupRequest => &[60, 96],
        M::AssociationSetupResponse => &[60, 19, 96],
        M::AssociationUpdateRequest
        | M::AssociationReleaseRequest
        | M::SessionSetDeletionRequest => &[60],
        M::AssociationUpdateResponse
        | M::AssociationReleaseResponse
        | M::NodeReportResponse
        | M::SessionSetDeletionResponse
        | M::SessionSetModificationResponse
        | M::SessionEstablishmentResponse => &[60, 19],
        M::NodeReportRequest => &[60, 101],
        M::SessionEstablishmentRequest => &[60, 57, 1, 3],
        M::PfdManagementResponse
        | M::SessionModificationResponse
        | M::SessionDeletionResponse
        | M::SessionReportResponse => &[19],
        M::SessionReportRequest => &[39],
        M::PfdManagementRequest
        | M::VersionNotSupportedResponse
        | M::SessionSetModificationRequest
        | M::SessionModificationRequest
        | M::SessionDeletionRequest
        | M::Unknown => &[],
    }
}

/// The mandatory IEs of a group.
pub fn of_group(number: u16) -> &'static [u16] {
    match number {
        1 => &[56, 29, 2],
        2 => &[20],
        3 => &[108, 44],
        4 | 5 => &[42],
        6 => &[81, 62, 37],
        7 => &[109, 25],
        8 | 9 | 15 | 83 | 256 => &[56],
        10 | 16 => &[108],
        12 | 85 | 86 | 87 => &[88],
        13 | 17 | 77 => &[81],
        14 | 18 | 263 => &[109],
        51 => &[52, 53],
        54 => &[52, 53, 55],
        58 | 68 => &[24],
        59 => &[61],
        78..=80 => &[81, 104, 63],
        99 => &[21],
        102 | 187 | 271 => &[103],
        118 => &[120, 119],
        127..=130 => &[131],
        147 => &[33],
        188..=190 => &[191],
        211..=214 => &[215],
        233 => &[177],
        239 => &[103, 237, 156, 240],
        240 => &[234],
        252 | 264 => &[109, 193],
        267 => &[52, 53, 269, 268, 22],
        272 => &[114, 19],
        _ => &[],
    }
}

/// A condition in a bit of an IE: the IE with the bit, its octet, the bit, and the IE that must
/// then be present.
pub type Condition = (u16, usize, u8, u16);

/// The conditional IEs of a message with a condition in the message itself.
pub fn conditions_of_message(kind: MsgType) -> &'static [Condition] {
    match kind {
        // Report Type: DLDR, USAR, ERIR, SESR.
        MsgType::SessionReportRequest => &[
            (39, 0, 0, 83),
            (39, 0, 1, 80),
            (39, 0, 2, 99),
            (39, 0, 5, 214),
        ],
        // Node Report Type: UPFR, UPRR, CKDR, GPQR, PURR.
        MsgType::NodeReportRequest => &[
            (101, 0, 0, 102),
            (101, 0, 1, 187),
            (101, 0, 2, 205),
            (101, 0, 3, 239),
            (101, 0, 4, 315),
        ],
        _ => &[],
    }
}

/// The conditional IEs of a group with a condition in the group itself.
pub fn conditions_of_group(number: u16) -> &'static [Condition] {
    match number {
        // Apply Action: FORW, DUPL.
        3 => &[(44, 0, 1, 4), (44, 0, 4, 5)],
        _ => &[],
    }
}
