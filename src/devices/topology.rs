//! [`Topology`]: devices, where they are, and what joins them.

use super::link::Link;
use super::measure::measure;
use super::measurements::{Measurements, checked_index};
use super::options::MeasureOptions;
use crate::error::{Error, Failure, Result};
use crate::metal::device::Device;
use crate::metal::device_position::DevicePosition;

/// Devices, where they are, and what joins each pair. Other calls name a device by its index here.
///
/// A topology says what was true when it was made: later, devices may come and go.
#[derive(Debug, Clone)]
pub struct Topology {
    devices: Vec<Device>,
    positions: Vec<DevicePosition>,
}

impl Topology {
    /// Every device of the system, in the order of [`Device::all`].
    ///
    /// # Errors
    ///
    /// As [`Device::all`]: [`Error::NoDevice`] if there is none.
    pub fn discover() -> Result<Topology> {
        Topology::of(&Device::all()?)
    }

    /// These devices, in this order. One GPU may be there several times.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] without a device.
    pub fn of(devices: &[Device]) -> Result<Topology> {
        if devices.is_empty() {
            let message = "a topology needs at least one device";
            return Err(Error::InvalidArgument(Failure::new(
                "Topology::of",
                message,
            )));
        }
        Ok(Topology {
            devices: devices.to_vec(),
            positions: devices.iter().map(Device::position).collect(),
        })
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Where each of the devices is.
    pub fn positions(&self) -> &[DevicePosition] {
        &self.positions
    }

    /// What joins the devices `from` and `to`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if there is no such device.
    pub fn link(&self, from: usize, to: usize) -> Result<Link> {
        let end = |index| -> Result<(&Device, &DevicePosition)> {
            let index = checked_index(index, self.devices.len(), "Topology::link")?;
            Ok((&self.devices[index], &self.positions[index]))
        };
        Ok(Link::between(end(from)?, end(to)?))
    }

    /// Measures every pair, also each device with itself, by transfers between private buffers. It waits for each transfer.
    ///
    /// Whatever else runs on the machine shows in the figures.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidArgument`] and [`Error::Misaligned`] for [options](MeasureOptions) that say so.
    /// - The error of the transfer that failed, if a device fails or vanishes.
    /// - [`Error::Timeout`] if a transfer takes longer than [`MeasureOptions::timeout`].
    /// - [`Error::OutOfMemory`], [`Error::OutOfRange`] or [`Error::OverBudget`] if a device has no room for two buffers of
    ///   [`MeasureOptions::bytes`].
    pub fn measure(&self, options: &MeasureOptions) -> Result<Measurements> {
        let are_peers =
            |from, to| -> Result<bool> { Ok(matches!(self.link(from, to)?, Link::Peers { .. })) };
        measure(&self.devices, are_peers, options)
    }
}
