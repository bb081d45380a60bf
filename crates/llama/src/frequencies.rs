//! [`Rope`]: the frequencies of a rotary embedding in a buffer.

use super::config::ModelConfig;
use super::error::{Error, Result};
use super::loader::Loader;
use super::rope::{LONG_DIVISORS, RopeConfig, RopeScaling};
use metal_bridge::{Buffer, Device, StorageMode};

/// Divisors of the frequencies, one for each pair.
const DIVISORS: &str = "rope_freqs.weight";
/// Those of sessions up to the original context, if longer ones have others.
const SHORT_DIVISORS: &str = "rope_factors_short.weight";

/// A rotary embedding's frequencies on a device.
#[derive(Debug)]
pub(super) struct Rope {
    frequencies: Buffer,
    /// Those of sessions with a longer context than this.
    long: Option<(usize, Buffer)>,
    /// What rotated elements are multiplied by.
    pub magnitude: f32,
}

impl Rope {
    /// The frequencies of a session that has room for so many tokens.
    pub fn frequencies(&self, context: usize) -> &Buffer {
        match &self.long {
            Some((original_context, long)) if context > *original_context => long,
            _ => &self.frequencies,
        }
    }
}

/// The rotary embeddings of a model, with the divisors that its file has.
pub(super) fn load_ropes(
    device: &Device,
    loader: &mut Loader<'_>,
    config: &ModelConfig,
) -> Result<Vec<Rope>> {
    let mut make = |rope: &RopeConfig| {
        let mut buffer = |name: &str| -> Result<Buffer> {
            let divisors = loader.optional_floats(name, config.pairs())?;
            let frequencies = rope.frequencies(config.rope_dim, divisors.as_deref());
            // Without divisors they are sound: `RopeConfig::from_keys` has made them.
            let frequencies = frequencies.map_err(|reason| Error::TensorValues {
                tensor: name.to_owned(),
                reason,
            })?;
            Ok(device.new_buffer_with_data(&frequencies, StorageMode::Shared)?)
        };
        let (frequencies, long) = match rope.scaling {
            RopeScaling::LongRope { original_context } => {
                let long = buffer(LONG_DIVISORS)?;
                (buffer(SHORT_DIVISORS)?, Some((original_context, long)))
            }
            _ => (buffer(DIVISORS)?, None),
        };
        Ok(Rope {
            frequencies,
            long,
            magnitude: rope.magnitude,
        })
    };
    config.ropes.iter().map(&mut make).collect()
}
