//! Parts of QERs, and the rule that failed.

use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Needed, plain, record};
use crate::pfcp::octets::Octets;
use crate::pfcp::words::word_kind;

word_kind!(Gate 3; 0 "OPEN" 1 "CLOSED");

/// rs-pfcp: one bit for each gate, so that the uplink gate is in the downlink gate's bits.
struct GateStatus {
    uplink: Gate,
    downlink: Gate,
}

impl GateStatus {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let octet = Octets(octets).u8()?;
        Ok(GateStatus {
            uplink: Gate(octet >> 2 & 3),
            downlink: Gate(octet & 3),
        })
    }

    fn marshal(&self) -> Vec<u8> {
        vec![self.uplink.0 << 2 | self.downlink.0]
    }
}

pub const GATE_STATUS: Kind = record!(ie: GateStatus {
    "uplink" uplink: Needed<Gate> = Needed(Gate(ie.uplink.0));
    "downlink" downlink: Needed<Gate> = Needed(Gate(ie.downlink.0));
} => GateStatus { uplink: uplink.0, downlink: downlink.0 });

/// rs-pfcp: only the DSCP, without the mask.
struct TransportLevelMarking([u8; 2]);

impl TransportLevelMarking {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        Octets(octets).array().map(TransportLevelMarking)
    }

    fn marshal(&self) -> [u8; 2] {
        self.0
    }
}

pub const TRANSPORT_LEVEL_MARKING: Kind =
    plain!(TransportLevelMarking, |ie| ie.0, TransportLevelMarking);

/// rs-pfcp: a DSCP without flags.
struct DlFlowLevelMarking {
    tos_traffic_class: Option<[u8; 2]>,
    service_class_indicator: Option<[u8; 2]>,
}

impl DlFlowLevelMarking {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        Ok(DlFlowLevelMarking {
            tos_traffic_class: left.with(flags, 1, Octets::array)?,
            service_class_indicator: left.with(flags, 2, Octets::array)?,
        })
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = vec![0];
        if let Some(octets) = &self.tos_traffic_class {
            out[0] |= 1;
            out.extend_from_slice(octets);
        }
        if let Some(octets) = &self.service_class_indicator {
            out[0] |= 2;
            out.extend_from_slice(octets);
        }
        out
    }
}

pub const DL_FLOW_LEVEL_MARKING: Kind = record!(ie: DlFlowLevelMarking {
    "tos_traffic_class" tos_traffic_class: Option<[u8; 2]> = ie.tos_traffic_class;
    "service_class_indicator" service_class_indicator: Option<[u8; 2]> =
        ie.service_class_indicator;
} => DlFlowLevelMarking { tos_traffic_class, service_class_indicator });

word_kind!(RuleType 15; 0 "PDR" 1 "FAR" 2 "QER" 3 "URR" 4 "BAR" 5 "MAR" 6 "SRR");

/// rs-pfcp: lacks BARs, MARs and SRRs.
struct FailedRuleId {
    rule: RuleType,
    id: u32,
}

impl FailedRuleId {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let rule = left.u8()? & 15;
        let id = match rule {
            0 | 5 => left.u16()?.into(),
            1..=3 => left.u32()?,
            4 | 6 => left.u8()?.into(),
            other => return Err(Fault::new(format!("there is no type {other} of rules"))),
        };
        let rule = RuleType(rule);
        Ok(FailedRuleId { rule, id })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let too_large = |_| Fault::new(format!("id {} is too large", self.id));
        let mut out = vec![self.rule.0];
        match self.rule.0 {
            0 | 5 => {
                let id = u16::try_from(self.id).map_err(too_large)?;
                out.extend_from_slice(&id.to_be_bytes());
            }
            1..=3 => out.extend_from_slice(&self.id.to_be_bytes()),
            4 | 6 => out.push(u8::try_from(self.id).map_err(too_large)?),
            other => return Err(Fault::new(format!("there is no type {other} of rules"))),
        }
        Ok(out)
    }
}

pub const FAILED_RULE_ID: Kind = record!(ie: FailedRuleId {
    "rule" rule: Needed<RuleType> = Needed(RuleType(ie.rule.0));
    "id" id: Needed<u32> = Needed(ie.id);
} => FailedRuleId { rule: rule.0, id: id.0 });
