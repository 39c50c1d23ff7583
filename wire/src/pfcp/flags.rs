//! Bit maps: a list of the names of the set bits, from bit 1 of octet 5.
//!
//! A receiver ignores unknown bits (clause 7.6.9), so the list does not have them.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rs_pfcp::ie::apply_action::ApplyAction;
use rs_pfcp::ie::cp_function_features::CPFunctionFeatures;
use rs_pfcp::ie::reporting_triggers::ReportingTriggers;
use rs_pfcp::ie::up_function_features::UPFunctionFeatures;
use rs_pfcp::ie::usage_report_trigger::UsageReportTrigger;

use super::fault::Fault;
use super::kind::Kind;
use super::plain::text_of;

/// The names of the set bits of a bit map with at least `least` octets.
pub fn read<'py>(
    py: Python<'py>,
    octets: &[u8],
    least: usize,
    names: &[(&'static str, usize)],
) -> Result<Bound<'py, PyAny>, Fault> {
    if octets.len() < least {
        return Err(Fault::short());
    }
    let list = PyList::empty(py);
    for (name, bit) in names {
        if octets.get(bit / 8).is_some_and(|o| o >> (bit % 8) & 1 != 0) {
            list.append(PyString::intern(py, name))?;
        }
    }
    Ok(list.into_any())
}

/// Append the bit map of a list of names, in the fewest possible octets but at least `least`.
pub fn write(
    value: &Bound<'_, PyAny>,
    out: &mut Vec<u8>,
    least: usize,
    names: &[(&'static str, usize)],
) -> Result<(), Fault> {
    let list = value
        .cast::<PyList>()
        .map_err(|_| Fault::new("a list of flags is needed"))?;
    let mut octets = vec![0; least];
    for name in list.iter() {
        let name = text_of(&name)?;
        let Some((_, bit)) = names.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            return Err(Fault::new(format!(
                "{name:?} is none of: {}",
                names.join(", ")
            )));
        };
        if octets.len() <= bit / 8 {
            octets.resize(bit / 8 + 1, 0);
        }
        octets[bit / 8] |= 1 << (bit % 8);
    }
    out.extend_from_slice(&octets);
    Ok(())
}

/// A bit map of at least `$read` octets on reading and `$written` on writing. A bit map that a
/// release has extended is written in full, because some receivers accept no less.
macro_rules! bit_map {
    ($read:expr, $written:expr, $names:expr) => {
        Kind::Value {
            read: |py, octets| read(py, octets, $read, $names),
            write: |value, out| write(value, out, $written, $names),
        }
    };
}

/// A bit map of rs-pfcp, and the specification's names of its bits.
macro_rules! named_by {
    ($type:ident, $read:expr, $written:expr; $($flag:ident)*; $($name:literal $other:ident)*) => {{
        const NAMES: &[(&str, usize)] = &[
            $((stringify!($flag), $type::$flag.bit()),)*
            $(($name, $type::$other.bit()),)*
        ];
        bit_map!($read, $written, NAMES)
    }};
}

/// One octet with a name for each of its bits, from the lowest.
macro_rules! octet {
    ($($name:literal)*) => {{
        const NAMES: [&str; [$($name),*].len()] = [$($name),*];
        const PLACES: [(&str, usize); NAMES.len()] = {
            let mut places = [("", 0); NAMES.len()];
            let mut bit = 0;
            while bit < NAMES.len() {
                places[bit] = (NAMES[bit], bit);
                bit += 1;
            }
            places
        };
        bit_map!(1, 1, &PLACES)
    }};
}

pub const APPLY_ACTION: Kind = named_by! { ApplyAction, 1, 2;
    DROP FORW BUFF NOCP DUPL IPMA IPMD DFRT EDRT BDPN DDPN FSSM MBSU;
};

pub const REPORTING_TRIGGERS: Kind = named_by! { ReportingTriggers, 2, 3;
    PERIO VOLTH TIMTH QUHTI START STOPT DROTH LIUSA VOLQU TIMQU ENVCL MACAR EVETH EVEQU IPMJL
    QUVTI REEMR UPINT;
};

pub const USAGE_REPORT_TRIGGER: Kind = named_by! { UsageReportTrigger, 2, 3;
    PERIO VOLTH TIMTH QUHTI START STOPT DROTH IMMER VOLQU TIMQU LIUSA TERMR MONIT ENVCL MACAR
    EVETH EVEQU TEBUR IPMJL QUVTI EMRRE UPINT;
};

pub const CP_FUNCTION_FEATURES: Kind = named_by! { CPFunctionFeatures, 1, 1;
    LOAD OVRL EPFAR SSET BUNDL MPAS ARDR UIAUR PSUCC RPGUR;
};

pub const UP_FUNCTION_FEATURES: Kind = named_by! { UPFunctionFeatures, 2, 2;
    BUCP DDND DLBD TRST FTUP PFDM HEEU TREU EMPU PDIU UDBC QUOAC TRACE FRRT PFDE EPFAR DPDRA
    ADPDP UEIP SSET MNOP MTE BUNDL GCOM MPAS RTTL VTIME NORP IPTV IP6PL;
    "TSCU" TSN "MPTCP" MPTCP
    "ATSSS-LL" ATSSS_LL "QFQM" QFQM "GPQM" GPQM "MT-EDT" MT_EDT "CIOT" CIOT "ETHAR" ETHAR
    "DDDS" DDDS "RDS" RDS "RTTWP" RTTWP "QUASF" QUASF "NSPOC" NSPOC "L2TP" L2TP "UPBER" UPBER
    "RESPS" RESPS "IPREP" IPREP "DNSTS" DNSTS "DRQOS" DRQOS "MBSN4" MBSN4 "PSUPRM" PSUPRM
    "EPPPI" EPPPI "RATP" RATP "UPIDP" UPIDP "AFSFC" AFSFC "MPQUIC" MPQUIC "REDSM" REDSM
    "DBDM" DBDM "TSCTS" TSCTS "DRTSC" DRTSC "N6JEDB" N6JEDB "QMCON" QMCON "DETNET" DETNET
    "EML4S" EML4S "PDUSM" PDUSM "CN-TL" CN_TL "QMDRM" QMDRM "EDBNC" EDBNC "MT-SDT" MT_SDT
    "UPSBIES" UPSBIES "UMN6IP" UMN6IP "UN6TU" UN6TU "MBSCH" MBSCH "ULM" ULM
};

pub const REPORT_TYPE: Kind = octet!("DLDR" "USAR" "ERIR" "UPIR" "TMIR" "SESR" "UISR");
pub const PFCPSMREQ_FLAGS: Kind = octet!("DROBU" "SNDEM" "QAURR" "SUMPC" "RUMUC");
pub const PFCPSRRSP_FLAGS: Kind = octet!("DROBU");
pub const PFCPSRREQ_FLAGS: Kind = octet!("PSDBU");
pub const PFCPAUREQ_FLAGS: Kind = octet!("PARPS");
pub const PFCPASREQ_FLAGS: Kind = octet!("UUPSI");
pub const PFCPASRSP_FLAGS: Kind = octet!("PSREI" "UUPSI");
pub const PFCPSEREQ_FLAGS: Kind = octet!("RESTI" "SUMPC" "HRSBOM");
pub const PFCPSDRSP_FLAGS: Kind = octet!("PURU");
pub const OCI_FLAGS: Kind = octet!("AOCI");
pub const ASSOCIATION_RELEASE: Kind = octet!("SARR" "URSS");
pub const MEASUREMENT_METHOD: Kind = octet!("DURAT" "VOLUM" "EVENT");
pub const MEASUREMENT_INFORMATION: Kind =
    octet!("MBQE" "INAM" "RADI" "ISTM" "MNOP" "SSPOC" "ASPOC" "CIAM");
pub const USAGE_INFORMATION: Kind = octet!("BEF" "AFT" "UAE" "UBE");
pub const NODE_REPORT_TYPE: Kind = octet!("UPFR" "UPRR" "CKDR" "GPQR" "PURR" "VSR");
pub const RQI: Kind = octet!("RQI");
pub const PROXYING: Kind = octet!("ARP" "INS");
pub const ETHERNET_FILTER_PROPERTIES: Kind = octet!("BIDE");
pub const ETHERNET_PDU_SESSION_INFORMATION: Kind = octet!("ETHI");
pub const PACKET_REPLICATION: Kind = octet!("PRIUEAI" "PRIN19I" "PRIN6I" "DCARONI");
pub const QER_CONTROL_INDICATIONS: Kind = octet!("RCSR" "MOED" "NORD");
pub const QER_INDICATIONS: Kind = octet!("IQFISN" "EDBMI" "EML4S" "PDUSM");
pub const IP_VERSION: Kind = octet!("V4" "V6");
pub const DATA_STATUS: Kind = octet!("DROP" "BUFF");
pub const QOS_REPORT_TRIGGER: Kind = octet!("PER" "THR" "IRE");
pub const GTPU_PATH_INTERFACE_TYPE: Kind = octet!("N9" "N3");
pub const REQUESTED_QOS_MONITORING: Kind =
    octet!("DL" "UL" "RP" "GTPUPM" "DLCI" "ULCI" "DLDR" "ULDR");
pub const REPORTING_FREQUENCY: Kind = octet!("EVETT" "PERIO" "SESRL");
pub const MT_EDT: Kind = octet!("RDSI");
pub const REPORTING_FLAGS: Kind = octet!("DUPL");
pub const EXTENDED_DL_BUFFERING: Kind = octet!("EDBN");
