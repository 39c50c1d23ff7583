//! IEs that describe the handling of packets.

use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Needed, record};
use crate::pfcp::octets::{Octets, put_run, put_short_run};
use crate::pfcp::plain::Text;
use crate::pfcp::words::word_kind;

word_kind!(RedirectType 15;
    0 "IPv4 address" 1 "IPv6 address" 2 "URL" 3 "SIP URI" 4 "IPv4 and IPv6 addresses"
);

/// rs-pfcp: lacks the lengths of the addresses, and the second address.
struct RedirectInformation {
    kind: RedirectType,
    address: Text,
    other: Option<Text>,
}

impl RedirectInformation {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let kind = left.u8()? & 15;
        let address = Text(left.run()?.to_vec());
        let other = if kind == 4 {
            Some(Text(left.run()?.to_vec()))
        } else {
            None
        };
        let kind = RedirectType(kind);
        Ok(RedirectInformation {
            kind,
            address,
            other,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        if (self.kind.0 == 4) != self.other.is_some() {
            return Err(Fault::new("other_address is of IPv4 and IPv6 addresses"));
        }
        let mut out = vec![self.kind.0];
        put_run(&mut out, &self.address.0)?;
        if let Some(Text(octets)) = &self.other {
            put_run(&mut out, octets)?;
        }
        Ok(out)
    }
}

pub const REDIRECT_INFORMATION: Kind = record!(ie: RedirectInformation {
    "type" kind: Needed<RedirectType> = Needed(RedirectType(ie.kind.0));
    "address" address: Needed<Text> = Needed(ie.address.clone());
    "other_address" other: Option<Text> = ie.other.clone();
} => RedirectInformation { kind: kind.0, address: address.0, other });

/// rs-pfcp: lacks the length of the identifier.
struct ForwardingPolicy(Text);

impl ForwardingPolicy {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let identifier = Octets(octets).short_run()?;
        Ok(ForwardingPolicy(Text(identifier.to_vec())))
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        put_short_run(&mut out, &self.0.0)?;
        Ok(out)
    }
}

pub const FORWARDING_POLICY: Kind = record!(ie: ForwardingPolicy {
    "identifier" identifier: Needed<Text> = Needed(ie.0.clone());
} => ForwardingPolicy(identifier.0));

word_kind!(HeaderType 31; 0 "HTTP");

/// rs-pfcp: a spare octet before the name, and a type 1. It truncates texts over 255 octets.
struct HeaderEnrichment {
    kind: HeaderType,
    name: Text,
    value: Text,
}

impl HeaderEnrichment {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        Ok(HeaderEnrichment {
            kind: HeaderType(left.u8()? & 31),
            name: Text(left.short_run()?.to_vec()),
            value: Text(left.short_run()?.to_vec()),
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![self.kind.0];
        put_short_run(&mut out, &self.name.0)?;
        put_short_run(&mut out, &self.value.0)?;
        Ok(out)
    }
}

pub const HEADER_ENRICHMENT: Kind = record!(ie: HeaderEnrichment {
    "type" kind: Needed<HeaderType> = Needed(HeaderType(ie.kind.0));
    "name" name: Needed<Text> = Needed(ie.name.clone());
    "value" value: Needed<Text> = Needed(ie.value.clone());
} => HeaderEnrichment { kind: kind.0, name: name.0, value: value.0 });

/// rs-pfcp: the flags only, without the paging policy indication and the QFI that they announce.
struct DownlinkDataServiceInformation {
    paging_policy_indication: Option<u8>,
    qfi: Option<u8>,
}

impl DownlinkDataServiceInformation {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        let six_bits = |left: &mut Octets<'_>| left.u8().map(|octet| octet & 63);
        Ok(DownlinkDataServiceInformation {
            paging_policy_indication: left.with(flags, 1, six_bits)?,
            qfi: left.with(flags, 2, six_bits)?,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0];
        for (bit, part) in [self.paging_policy_indication, self.qfi]
            .into_iter()
            .enumerate()
        {
            if let Some(value) = part {
                if value > 63 {
                    return Err(Fault::new(format!("{value} is over 63")));
                }
                out[0] |= 1 << bit;
                out.push(value);
            }
        }
        Ok(out)
    }
}

pub const DOWNLINK_DATA_SERVICE_INFORMATION: Kind = record!(ie: DownlinkDataServiceInformation {
    "paging_policy_indication" paging_policy_indication: Option<u8> =
        ie.paging_policy_indication;
    "qfi" qfi: Option<u8> = ie.qfi;
} => DownlinkDataServiceInformation { paging_policy_indication, qfi });
