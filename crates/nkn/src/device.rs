//! Where a network computes.

use crate::{Error, Result};

/// A place to compute.
///
/// ```
/// use nkn::Device;
/// assert_eq!("cpu".parse::<Device>()?, Device::Cpu);
/// assert!("abacus".parse::<Device>().is_err());
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// All cores of this machine.
    #[default]
    Cpu,
}

impl Device {
    /// The device as Burn knows it.
    pub(crate) fn burn(self) -> burn::tensor::Device {
        match self {
            Device::Cpu => burn::tensor::Device::flex(),
        }
    }
}

impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "cpu" => Ok(Device::Cpu),
            other => Err(Error::invalid("device", "cpu", other, "this build computes on the processor")),
        }
    }
}
