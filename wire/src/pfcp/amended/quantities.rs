//! Times, rates and counts.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Marked, Needed, Part, plain, record, record_of};
use crate::pfcp::octets::Octets;
use crate::pfcp::plain::Plain;
use crate::pfcp::words::word_kind;

word_kind!(TimerUnit 7;
    0 "2 seconds" 1 "1 minute" 2 "10 minutes" 3 "1 hour" 4 "10 hours" 7 "infinite"
);

/// rs-pfcp: 32 bits for a Timer and a DL Buffering Duration, and 16 for a Graceful Release Period.
struct Timer {
    unit: TimerUnit,
    value: u8,
}

impl Timer {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let octet = Octets(octets).u8()?;
        Ok(Timer {
            unit: TimerUnit(octet >> 5),
            value: octet & 31,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        if self.value > 31 {
            return Err(Fault::new(format!("value {} is over 31", self.value)));
        }
        Ok(vec![self.unit.0 << 5 | self.value])
    }
}

pub const TIMER: Kind = record!(ie: Timer {
    "unit" unit: Needed<TimerUnit> = Needed(TimerUnit(ie.unit.0));
    "value" value: Needed<u8> = Needed(ie.value);
} => Timer { unit: unit.0, value: value.0 });

/// rs-pfcp: three octets for a Downlink Data Notification Delay, and two for a Suggested Buffering
/// Packets Count.
struct Octet(u8);

impl Octet {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        Octets(octets).u8().map(Octet)
    }

    fn marshal(&self) -> Vec<u8> {
        vec![self.0]
    }
}

pub const OCTET: Kind = plain!(Octet, |ie| ie.0, Octet);

word_kind!(RateUnit 7; 0 "minute" 1 "6 minutes" 2 "hour" 3 "day" 4 "week");

/// A number of packets per unit of time.
#[derive(Clone, Copy)]
struct Packets {
    unit: u8,
    most: u16,
}

impl Packets {
    fn read(left: &mut Octets<'_>) -> Result<Self, Fault> {
        Ok(Packets {
            unit: left.u8()? & 7,
            most: left.u16()?,
        })
    }
}

impl Plain for Packets {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(py);
        Needed(RateUnit(self.unit)).put_into(&dict, "unit")?;
        Needed(self.most).put_into(&dict, "packets")?;
        Ok(dict.into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let dict = record_of(value, &["unit", "packets"])?;
        let Needed(RateUnit(unit)) = Part::take_from(dict, "unit")?;
        let Needed(most) = Part::take_from(dict, "packets")?;
        Ok(Packets { unit, most })
    }
}

/// rs-pfcp: reads an unknown unit as a minute.
struct PacketRate {
    up: Option<Packets>,
    down: Option<Packets>,
    more_up: Option<Packets>,
    more_down: Option<Packets>,
}

impl PacketRate {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        let more = if flags & 4 == 0 { 0 } else { flags };
        Ok(PacketRate {
            up: left.with(flags, 1, Packets::read)?,
            down: left.with(flags, 2, Packets::read)?,
            more_up: left.with(more, 1, Packets::read)?,
            more_down: left.with(more, 2, Packets::read)?,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let (up, down) = (self.up.is_some(), self.down.is_some());
        let more = self.more_up.is_some() || self.more_down.is_some();
        if more && (up, down) != (self.more_up.is_some(), self.more_down.is_some()) {
            return Err(Fault::new(
                "additional rates are of the directions that have a rate",
            ));
        }
        let mut out = vec![u8::from(up) | u8::from(down) << 1 | u8::from(more) << 2];
        for packets in [self.up, self.down, self.more_up, self.more_down]
            .into_iter()
            .flatten()
        {
            out.push(packets.unit);
            out.extend_from_slice(&packets.most.to_be_bytes());
        }
        Ok(out)
    }
}

pub const PACKET_RATE: Kind = record!(ie: PacketRate {
    "uplink" up: Option<Packets> = ie.up;
    "downlink" down: Option<Packets> = ie.down;
    "additional_uplink" more_up: Option<Packets> = ie.more_up;
    "additional_downlink" more_down: Option<Packets> = ie.more_down;
} => PacketRate { up, down, more_up, more_down });

word_kind!(IntervalType 3; 0 "CTP" 1 "DTP");

/// rs-pfcp: refuses an unknown interval type.
struct TimeQuotaMechanism {
    interval_type: IntervalType,
    interval: u32,
}

impl TimeQuotaMechanism {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        Ok(TimeQuotaMechanism {
            interval_type: IntervalType(left.u8()? & 3),
            interval: left.u32()?,
        })
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = vec![self.interval_type.0];
        out.extend_from_slice(&self.interval.to_be_bytes());
        out
    }
}

pub const TIME_QUOTA_MECHANISM: Kind = record!(ie: TimeQuotaMechanism {
    "base_time_interval_type" kind: Needed<IntervalType> =
        Needed(IntervalType(ie.interval_type.0));
    "base_time_interval" interval: Needed<u32> = Needed(ie.interval);
} => TimeQuotaMechanism { interval_type: kind.0, interval: interval.0 });

/// rs-pfcp: 32 bits.
struct Multiplier {
    value_digits: i64,
    exponent: i32,
}

impl Multiplier {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        Ok(Multiplier {
            value_digits: left.array().map(i64::from_be_bytes)?,
            exponent: left.array().map(i32::from_be_bytes)?,
        })
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = self.value_digits.to_be_bytes().to_vec();
        out.extend_from_slice(&self.exponent.to_be_bytes());
        out
    }
}

pub const MULTIPLIER: Kind = record!(ie: Multiplier {
    "value_digits" value_digits: Needed<i64> = Needed(ie.value_digits);
    "exponent" exponent: Needed<i32> = Needed(ie.exponent);
} => Multiplier { value_digits: value_digits.0, exponent: exponent.0 });

/// rs-pfcp: one octet of flags.
struct AdditionalUsageReports {
    auri: bool,
    number: u16,
}

impl AdditionalUsageReports {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let value = Octets(octets).u16()?;
        Ok(AdditionalUsageReports {
            auri: value >> 15 != 0,
            number: value & 0x7fff,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        if self.number > 0x7fff {
            return Err(Fault::new(format!("number {} is over 32767", self.number)));
        }
        let value = u16::from(self.auri) << 15 | self.number;
        Ok(value.to_be_bytes().to_vec())
    }
}

pub const ADDITIONAL_USAGE_REPORTS: Kind = record!(ie: AdditionalUsageReports {
    "auri" auri: Marked = Marked(ie.auri);
    "number" number: Needed<u16> = Needed(ie.number);
} => AdditionalUsageReports { auri: auri.0, number: number.0 });

/// rs-pfcp: refuses a User Plane Inactivity Timer with octets of a later release.
struct Seconds(u32);

impl Seconds {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        Octets(octets).u32().map(Seconds)
    }

    fn marshal(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

pub const SECONDS: Kind = plain!(Seconds, |ie| ie.0, Seconds);
