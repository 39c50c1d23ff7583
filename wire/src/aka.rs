//! MILENAGE (TS 35.206), 5G-AKA vectors and re-synchronisation (TS 33.501 6.1.3.2).

use oxirush_security::Rand;
use oxirush_security::milenage::{Amf, Auts, K, Milenage, Op, Opc, Sqn};
use oxirush_security::nas_5gs::{compute_hxres_star, derive_kausf, derive_kseaf};
use oxirush_security::{Autn, SecurityError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{error, of_security};

type Octets<'py> = Bound<'py, PyBytes>;

fn subscriber(k: &[u8], opc: &[u8]) -> PyResult<Milenage> {
    let k = K::from_slice(k).map_err(of_security)?;
    let opc = Opc::from_slice(opc).map_err(of_security)?;
    Ok(Milenage::new(&k, &opc))
}

fn rand_of(rand: &[u8]) -> PyResult<Rand> {
    Rand::from_slice(rand).map_err(of_security)
}

fn sqn_of(sqn: u64) -> PyResult<Sqn> {
    Sqn::try_from(sqn).map_err(|_| error("security", format!("SQN {sqn} has more than 48 bits")))
}

#[pyfunction]
pub fn milenage_opc<'py>(py: Python<'py>, k: &[u8], op: &[u8]) -> PyResult<Octets<'py>> {
    let k = K::from_slice(k).map_err(of_security)?;
    let op = Op::from_slice(op).map_err(of_security)?;
    Ok(PyBytes::new(py, Opc::from_op(&k, &op).as_octets()))
}

#[pyfunction]
pub fn milenage<'py>(
    py: Python<'py>,
    k: &[u8],
    opc: &[u8],
    rand: &[u8],
    sqn: u64,
    amf: &[u8],
) -> PyResult<Bound<'py, PyDict>> {
    let (sub, rand, sqn) = (subscriber(k, opc)?, rand_of(rand)?, sqn_of(sqn)?);
    let amf = Amf::from_slice(amf).map_err(of_security)?;
    let out = PyDict::new(py);
    out.set_item(
        "f1",
        PyBytes::new(py, sub.f1(&rand, &sqn, &amf).as_octets()),
    )?;
    out.set_item(
        "f1*",
        PyBytes::new(py, sub.f1_star(&rand, &sqn, &amf).as_octets()),
    )?;
    out.set_item("f2", PyBytes::new(py, sub.f2(&rand).as_octets()))?;
    out.set_item("f3", PyBytes::new(py, sub.f3(&rand).as_octets()))?;
    out.set_item("f4", PyBytes::new(py, sub.f4(&rand).as_octets()))?;
    out.set_item("f5", PyBytes::new(py, sub.f5(&rand).as_octets()))?;
    out.set_item("f5*", PyBytes::new(py, sub.f5_star(&rand).as_octets()))?;
    Ok(out)
}

/// A 5G home environment authentication vector and the keys derived from it.
#[pyclass(frozen, get_all, module = "wire")]
pub struct AkaVector {
    rand: Py<PyBytes>,
    autn: Py<PyBytes>,
    xres_star: Py<PyBytes>,
    hxres_star: Py<PyBytes>,
    kausf: Py<PyBytes>,
    kseaf: Py<PyBytes>,
}

#[pyfunction]
pub fn aka_vector(
    py: Python<'_>,
    k: &[u8],
    opc: &[u8],
    rand: &[u8],
    sqn: u64,
    amf: &[u8],
    sn_name: &str,
) -> PyResult<AkaVector> {
    let (sub, rand, sqn) = (subscriber(k, opc)?, rand_of(rand)?, sqn_of(sqn)?);
    let amf = Amf::from_slice(amf).map_err(of_security)?;
    let name = sn_name.as_bytes();
    let vector = sub.authentication_vector(&rand, &sqn, &amf);
    let xres_star = vector.xres_star(name).map_err(of_security)?;
    let kausf = derive_kausf(vector.ck(), vector.ik(), name, vector.autn()).map_err(of_security)?;
    let kseaf = derive_kseaf(&kausf, name).map_err(of_security)?;
    let bytes = |octets: &[u8]| PyBytes::new(py, octets).unbind();
    Ok(AkaVector {
        rand: bytes(rand.as_octets()),
        autn: bytes(vector.autn().as_octets()),
        xres_star: bytes(xres_star.as_octets()),
        hxres_star: bytes(compute_hxres_star(&rand, &xres_star).as_octets()),
        kausf: bytes(kausf.as_octets()),
        kseaf: bytes(kseaf.as_octets()),
    })
}

/// The response of a USIM and its ME to a challenge.
#[pyclass(frozen, get_all, module = "wire")]
pub struct UsimAnswer {
    sqn: u64,
    separation_bit: bool,
    res_star: Py<PyBytes>,
    kausf: Py<PyBytes>,
    kseaf: Py<PyBytes>,
}

#[pyfunction]
pub fn usim_answer(
    py: Python<'_>,
    k: &[u8],
    opc: &[u8],
    rand: &[u8],
    autn: &[u8],
    sn_name: &str,
) -> PyResult<UsimAnswer> {
    let (sub, rand) = (subscriber(k, opc)?, rand_of(rand)?);
    let autn = Autn::from_slice(autn).map_err(of_security)?;
    let name = sn_name.as_bytes();
    let answer = sub.check_autn(&rand, &autn).map_err(|err| match err {
        SecurityError::MacFailure => error("aka-mac", "the MAC of AUTN does not match"),
        other => of_security(other),
    })?;
    let kausf = derive_kausf(answer.ck(), answer.ik(), name, &autn).map_err(of_security)?;
    let kseaf = derive_kseaf(&kausf, name).map_err(of_security)?;
    let res_star = answer.res_star(name).map_err(of_security)?;
    let bytes = |octets: &[u8]| PyBytes::new(py, octets).unbind();
    Ok(UsimAnswer {
        sqn: answer.sqn().get(),
        separation_bit: answer.amf().separation_bit(),
        res_star: bytes(res_star.as_octets()),
        kausf: bytes(kausf.as_octets()),
        kseaf: bytes(kseaf.as_octets()),
    })
}

#[pyfunction]
pub fn auts<'py>(
    py: Python<'py>,
    k: &[u8],
    opc: &[u8],
    rand: &[u8],
    sqn_ms: u64,
) -> PyResult<Octets<'py>> {
    let auts = subscriber(k, opc)?.auts(&rand_of(rand)?, &sqn_of(sqn_ms)?);
    Ok(PyBytes::new(py, auts.as_octets()))
}

#[pyfunction]
pub fn verify_auts(k: &[u8], opc: &[u8], rand: &[u8], auts: &[u8]) -> PyResult<u64> {
    let auts = Auts::from_slice(auts).map_err(of_security)?;
    let sqn = subscriber(k, opc)?.verify_auts(&rand_of(rand)?, &auts);
    match sqn {
        Ok(sqn) => Ok(sqn.get()),
        Err(SecurityError::MacFailure) => Err(error("aka-mac", "the MAC-S of AUTS does not match")),
        Err(other) => Err(of_security(other)),
    }
}
