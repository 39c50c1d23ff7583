//! Userspace SCTP over UDP (RFC 6951) or a raw IP socket, on the sans-IO dcsctp.

mod association;
mod cookie;
mod endpoint;
mod inbox;
mod packet;
mod window;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use dcsctp::api::Options;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entropy;
use crate::error::error;
use association::Refused;
use endpoint::{Endpoint, Event, Limits};

/// The SCTP associations of one datagram socket; see wire.pyi.
#[pyclass(unsendable, module = "wire")]
pub struct SctpEndpoint(Endpoint);

fn address(ip: &str, port: u16) -> PyResult<SocketAddr> {
    let ip: IpAddr = ip
        .parse()
        .map_err(|_| error("sctp", format!("{ip:?} is no IP address")))?;
    Ok(SocketAddr::new(ip, port))
}

fn nanoseconds(seconds: f64) -> u64 {
    Duration::try_from_secs_f64(seconds)
        .map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

type Packet<'py> = (Bound<'py, PyBytes>, (String, u16));
type Message<'py> = (u64, u16, u32, Bound<'py, PyBytes>);

#[pymethods]
impl SctpEndpoint {
    #[new]
    #[pyo3(signature = (
        port, *, accept=false, mtu=1400, streams=64, max_associations=1024,
        receive_window=1 << 20, send_buffer=1 << 20, heartbeat=30.0, rto_max=5.0,
        max_retransmissions=10, max_message=1 << 18, max_waiting=64 << 20,
        max_unfinished=32 << 20, max_unsent=64 << 20, unfinished_within=30.0,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        port: u16,
        accept: bool,
        mtu: usize,
        streams: u16,
        max_associations: usize,
        receive_window: usize,
        send_buffer: usize,
        heartbeat: f64,
        rto_max: f64,
        max_retransmissions: u32,
        max_message: usize,
        max_waiting: usize,
        max_unfinished: usize,
        max_unsent: usize,
        unfinished_within: f64,
    ) -> PyResult<Self> {
        let seconds = |name: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .map_err(|_| error("sctp", format!("{name} cannot be {value} seconds")))
        };
        if !(512..=65_000).contains(&mtu) || streams == 0 {
            return Err(error(
                "sctp",
                "mtu is 512 to 65000 octets, streams at least 1",
            ));
        }
        let rto_max = seconds("rto_max", rto_max)?;
        let heartbeat = seconds("heartbeat", heartbeat)?;
        let patience = seconds("unfinished_within", unfinished_within)?;
        let mut rto_initial = Options::default().rto_initial.min(rto_max);
        if !heartbeat.is_zero() {
            // dcsctp waits this long for the answer to a heartbeat. It forgets the outstanding one
            // when it sends the next.
            rto_initial = rto_initial.min(heartbeat * 3 / 4);
        }
        let options = Options {
            announced_maximum_incoming_streams: streams,
            announced_maximum_outgoing_streams: streams,
            mtu: mtu & !3,
            max_message_size: max_message,
            max_receiver_window_buffer_size: receive_window,
            // The endpoint itself enforces `send_buffer`.
            max_send_buffer_size: u32::MAX as usize,
            per_stream_send_queue_limit: u32::MAX as usize,
            total_buffered_amount_low_threshold: send_buffer / 2,
            rto_initial,
            rto_min: Options::default().rto_min.min(rto_max),
            rto_max,
            max_timer_backoff_duration: Some(rto_max),
            heartbeat_interval: heartbeat,
            max_retransmissions: Some(max_retransmissions),
            // NGAP is reliable. A peer that is offered partial reliability may refuse the
            // association.
            enable_partial_reliability: false,
            ..Options::default()
        };
        Ok(Self(Endpoint::new(
            port,
            accept,
            Limits {
                max_associations,
                send_buffer,
                max_waiting,
                max_unfinished,
                max_unsent,
                patience: u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX),
                options,
            },
        )))
    }

    fn connect(&mut self, ip: &str, udp_port: u16, port: u16, now: f64) -> PyResult<u64> {
        entropy::check("SctpEndpoint.connect")?;
        let peer = address(ip, udp_port)?;
        self.0.connect(peer, port, nanoseconds(now)).ok_or_else(|| {
            error(
                "sctp",
                format!("an association with {peer} port {port} exists, or too many do"),
            )
        })
    }

    fn receive(&mut self, data: &[u8], ip: &str, udp_port: u16, now: f64) -> PyResult<()> {
        entropy::check("SctpEndpoint.receive")?;
        self.0
            .receive(data, address(ip, udp_port)?, nanoseconds(now));
        Ok(())
    }

    fn send(
        &mut self,
        association: u64,
        stream: u16,
        ppid: u32,
        payload: Vec<u8>,
        now: f64,
    ) -> PyResult<()> {
        self.0
            .send(association, stream, ppid, payload, nanoseconds(now))
            .map_err(|refused| match refused {
                Refused::NoAssociation => error("sctp", format!("no association {association}")),
                Refused::Full => error(
                    "sctp-full",
                    format!("association {association}: buffer full"),
                ),
                Refused::Invalid(text) => error("sctp", text),
            })
    }

    fn advance(&mut self, now: f64) {
        self.0.advance(nanoseconds(now));
    }

    fn timeout(&self) -> Option<f64> {
        self.0
            .timeout()
            .map(|due| Duration::from_nanos(due).as_secs_f64())
    }

    fn packets<'py>(&mut self, py: Python<'py>) -> Vec<Packet<'py>> {
        let packets = self.0.packets().into_iter();
        packets
            .map(|(to, data)| (PyBytes::new(py, &data), (to.ip().to_string(), to.port())))
            .collect()
    }

    fn messages<'py>(&mut self, py: Python<'py>, limit: usize) -> Vec<Message<'py>> {
        let messages = self.0.messages(limit).into_iter();
        messages
            .map(|m| {
                (
                    m.association,
                    m.stream,
                    m.ppid,
                    PyBytes::new(py, &m.payload),
                )
            })
            .collect()
    }

    fn events(&mut self) -> Vec<(&'static str, u64, String)> {
        let events = self.0.events().into_iter();
        events
            .map(|event| match event {
                Event::Up {
                    association,
                    peer,
                    port,
                } => ("up", association, format!("{peer} port {port}")),
                Event::Down {
                    association,
                    reason,
                } => ("down", association, reason),
                Event::Writable { association } => ("writable", association, String::new()),
            })
            .collect()
    }

    fn shutdown(&mut self, association: u64, now: f64) {
        self.0.shutdown(association, nanoseconds(now));
    }

    fn abort(&mut self, association: u64, now: f64) {
        self.0.abort(association, nanoseconds(now));
    }

    fn streams(&self, association: u64) -> Option<(u16, u16)> {
        self.0.streams(association)
    }

    #[getter]
    fn associations(&self) -> usize {
        self.0.count()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped
    }
}
