//! [`Measurements`]: figures of every pair of devices, and the fastest route by them.

use std::time::Duration;

use crate::error::{Error, Failure, Result};

/// How fast bytes move from one device to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairFigures {
    /// Bytes a second of a large copy, from the call to its return.
    pub bandwidth: f64,
    /// The time of a copy of a few bytes, from the call to its return.
    pub latency: Duration,
}

impl PairFigures {
    /// What a copy of so many bytes takes by these figures: the latency, and the bytes divided by the bandwidth. Times too long
    /// for a `Duration` are [`Duration::MAX`].
    pub fn time(&self, bytes: u64) -> Duration {
        let moving = Duration::try_from_secs_f64(bytes as f64 / self.bandwidth);
        self.latency.saturating_add(moving.unwrap_or(Duration::MAX))
    }
}

/// Which way bytes go from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The index of a third device: the caller transfers the bytes to a buffer there, and then on, one after the other. None for one
    /// transfer.
    pub through: Option<usize>,
    /// What the transfer, or both together, take by the figures.
    pub time: Duration,
}

/// Figures of every pair of devices, in both directions and of each device with itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    figures: Vec<Vec<PairFigures>>,
}

impl Measurements {
    /// Figures that are known from elsewhere, such as from an earlier run: `figures[from][to]`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no device, if a row has not as many figures as there are rows, or if a bandwidth is not a
    /// positive, finite number.
    pub fn new(figures: Vec<Vec<PairFigures>>) -> Result<Measurements> {
        let failure = |message: String| {
            let failure = Failure::new("Measurements::new", message);
            Err(Error::InvalidArgument(failure))
        };
        let count = figures.len();
        if count == 0 {
            return failure("figures need at least one device".to_owned());
        }
        for (from, row) in figures.iter().enumerate() {
            if row.len() != count {
                let message = format!("device {from} of {count} has {} figures", row.len());
                return failure(message);
            }
            let is_wrong =
                |figures: &PairFigures| !figures.bandwidth.is_finite() || figures.bandwidth <= 0.0;
            if let Some(to) = row.iter().position(is_wrong) {
                let bandwidth = row[to].bandwidth;
                let message = format!("the bandwidth from {from} to {to} is {bandwidth}");
                return failure(message);
            }
        }
        Ok(Measurements { figures })
    }

    /// How many devices the figures are of.
    pub fn device_count(&self) -> usize {
        self.figures.len()
    }

    /// The figures from one device to another.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if there is no such device.
    pub fn pair(&self, from: usize, to: usize) -> Result<PairFigures> {
        self.checked_pair(from, to, "Measurements::pair")
    }

    /// The fastest way for so many bytes: one transfer, or two through a third device if these are faster together. Their times add
    /// up, since the second transfer begins when the first has ended. Of equal routes it is the one transfer, then the third device
    /// of the smallest index. Within one device it is always one transfer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if there is no such device.
    pub fn route(&self, from: usize, to: usize, bytes: u64) -> Result<Route> {
        let direct = self.checked_pair(from, to, "Measurements::route")?;
        let mut fastest = Route {
            through: None,
            time: direct.time(bytes),
        };
        let thirds =
            (0..self.device_count()).filter(|third| from != to && ![from, to].contains(third));
        for third in thirds {
            let first = self.figures[from][third].time(bytes);
            let time = first.saturating_add(self.figures[third][to].time(bytes));
            if time < fastest.time {
                fastest = Route {
                    through: Some(third),
                    time,
                };
            }
        }
        Ok(fastest)
    }

    fn checked_pair(&self, from: usize, to: usize, function: &'static str) -> Result<PairFigures> {
        let count = self.device_count();
        let from = checked_index(from, count, function)?;
        let to = checked_index(to, count, function)?;
        Ok(self.figures[from][to])
    }
}

/// The index, if there is such a device.
pub(super) fn checked_index(index: usize, count: usize, function: &'static str) -> Result<usize> {
    if index < count {
        return Ok(index);
    }
    let message = format!("there is no device {index}: the topology has {count}");
    Err(Error::OutOfRange(Failure::new(function, message)))
}
