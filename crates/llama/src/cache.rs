//! [`Cache`]: the keys and values of all texts on one device.

use super::error::{Error, Result};
use metal_bridge::ops::{KV_PAGE_POSITIONS, KvCache, KvShape, View};
use metal_bridge::{Buffer, CommandQueue, Device, StorageMode};

/// The keys and values of the device's layers, and where in them each text has its positions.
#[derive(Debug)]
pub(super) struct Cache {
    layers: Vec<KvCache>,
    /// A page table for each text, with as many pages as a context has: u32, shared.
    tables: Buffer,
    /// The most tokens of a text.
    pub context: usize,
}

impl Cache {
    /// Room for as many pages as the shape has, in each of these layers.
    pub fn new(
        device: &Device,
        layers: usize,
        texts: usize,
        context: usize,
        shape: &KvShape,
    ) -> Result<Self> {
        let bytes = (shape.bytes()? as u64)
            .saturating_mul(2)
            .saturating_mul(layers as u64);
        let limit = device.limits().recommended_max_working_set_size;
        if bytes > limit {
            let tokens = shape.pages.saturating_mul(KV_PAGE_POSITIONS);
            return Err(Error::CacheTooLarge {
                tokens,
                bytes,
                limit,
            });
        }
        let layers = (0..layers).map(|_| KvCache::new(device, shape));
        let entry_bytes = context.div_ceil(KV_PAGE_POSITIONS) * size_of::<u32>();
        Ok(Self {
            layers: layers.collect::<Result<_, _>>()?,
            tables: device.new_buffer(entry_bytes.saturating_mul(texts), StorageMode::Shared)?,
            context,
        })
    }

    pub fn layer(&self, index: usize) -> &KvCache {
        &self.layers[index]
    }

    /// The page table of a text.
    pub fn table(&self, text: usize) -> View<'_> {
        View::new(&self.tables, self.table_offset(text))
    }

    /// Says which pages a text has.
    pub fn set_table(&self, text: usize, pages: &[u32]) -> Result<()> {
        let offset = self.table_offset(text);
        Ok(self.tables.wait_copy_from_slice(offset, pages)?)
    }

    /// Copies a page of all layers, and waits.
    pub fn copy_page(&self, queue: &CommandQueue, from: u32, to: u32) -> Result<()> {
        let mut commands = queue.command_buffer()?;
        let mut blit = commands.blit_command_encoder()?;
        for layer in &self.layers {
            let bytes = layer.page_bytes();
            let (from, to) = (from as usize * bytes, to as usize * bytes);
            for buffer in [layer.keys().buffer(), layer.values().buffer()] {
                blit.copy(buffer, from, buffer, to, bytes)?;
            }
        }
        blit.end_encoding()?;
        Ok(commands.commit()?.wait()?)
    }

    fn table_offset(&self, text: usize) -> usize {
        text * self.context.div_ceil(KV_PAGE_POSITIONS) * size_of::<u32>()
    }
}
