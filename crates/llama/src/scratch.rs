//! The buffers that texts are computed in, made once.

use super::config::ModelConfig;
use super::error::{Error, Result};
use metal_bridge::ops::Activations;
use metal_bridge::{Buffer, Device, StorageMode};

/// Activations of one batch, each `[batch, ...]` of f32, and the buffers that the CPU writes or reads.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Tokens to be computed: u32, shared.
    pub tokens: Buffer,
    /// The residual stream: `width` elements a row.
    pub hidden: Buffer,
    /// What a norm gives to the matrices after it: `width` elements a row.
    pub normed: Buffer,
    /// Queries, of all heads.
    pub queries: Buffer,
    /// Keys, of all heads.
    pub keys: Buffer,
    /// Values, of all heads.
    pub values: Buffer,
    /// What attention gives, of all heads.
    pub attended: Buffer,
    /// The gate of the feed-forward layer, and then its product with `up`.
    pub gate: Buffer,
    /// The other factor of the feed-forward layer.
    pub up: Buffer,
    /// Rows of one of the others, rounded to 8 bits; `None` if the session rounds none.
    pub rounded: Option<Buffer>,
    /// What mixtures of experts need besides.
    pub experts: Option<ExpertScratch>,
    /// The logits of next tokens: f32, shared.
    pub logits: Buffer,
    /// The token of the largest logit of each: u32, shared.
    pub best: Buffer,
}

/// What a mixture of experts computes in.
#[derive(Debug)]
pub(super) struct ExpertScratch {
    /// The router's logits: one for each expert a row.
    pub logits: Buffer,
    /// The numbers of a row's experts: u32.
    pub chosen: Buffer,
    /// The share of each of them.
    pub shares: Buffer,
    /// What each of them gives: `width` elements.
    pub given: Buffer,
}

impl Scratch {
    /// For so many tokens to be computed, in passes of `batch` rows at most, with the logits of so many of them, and these activations of
    /// matrices with blocks.
    pub fn new(
        device: &Device,
        config: &ModelConfig,
        tokens: usize,
        batch: usize,
        logits: usize,
        activations: Activations,
    ) -> Result<Self> {
        // A product that is too large for a buffer is refused as one.
        let buffer = |count: usize, mode| {
            let bytes = count.saturating_mul(size_of::<f32>());
            device.new_buffer(bytes, mode)
        };
        let rows = |columns: usize| buffer(batch.saturating_mul(columns), StorageMode::Private);
        // A feed-forward layer computes as many rows as experts are used.
        let used = config.experts.map_or(1, |experts| experts.used);
        let experts = config.experts.map(|shape| {
            Ok::<_, Error>(ExpertScratch {
                logits: rows(shape.experts)?,
                chosen: rows(used)?,
                shares: rows(used)?,
                given: rows(used.saturating_mul(config.width))?,
            })
        });
        let rounded = || {
            // A width that does not divide into blocks has no matrix with blocks, and none of its rows is rounded.
            let block = Activations::Int8.block();
            let widths = [
                config.width,
                config.query_width(),
                used.saturating_mul(config.feed_forward),
            ];
            let blocks = widths.map(|columns| columns.div_ceil(block));
            let columns = blocks.into_iter().max().unwrap_or(0).saturating_mul(block);
            let bytes = Activations::Int8.bytes(batch, columns);
            device.new_buffer(bytes.unwrap_or(usize::MAX), StorageMode::Private)
        };
        Ok(Self {
            tokens: buffer(tokens, StorageMode::Shared)?,
            hidden: rows(config.width)?,
            normed: rows(config.width)?,
            queries: rows(config.query_width())?,
            keys: rows(config.kv_width())?,
            values: rows(config.kv_width())?,
            attended: rows(config.query_width())?,
            gate: rows(used.saturating_mul(config.feed_forward))?,
            up: rows(used.saturating_mul(config.feed_forward))?,
            rounded: match activations {
                Activations::F32 => None,
                Activations::Int8 => Some(rounded()?),
            },
            experts: experts.transpose()?,
            logits: buffer(
                config.vocabulary.saturating_mul(logits),
                StorageMode::Shared,
            )?,
            best: buffer(logits, StorageMode::Shared)?,
        })
    }
}
