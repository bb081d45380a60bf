//! [`Kept`]: kernels of Metal Performance Shaders that were made, for the next operation of the same sizes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::mps::{Convolution2d, Convolution2dDescriptor, MatrixMultiplication};

/// Products by their transposes, sizes, and the bits of their factors.
pub(super) type Products = Kept<([bool; 2], [usize; 3], [u32; 2]), MatrixMultiplication>;
pub(super) type Convolutions = Kept<Convolution2dDescriptor, Convolution2d>;

/// Kernels that are kept. Beyond that many all are made anew.
const MOST: usize = 256;

/// Kernels by what they compute.
#[derive(Debug)]
pub(super) struct Kept<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Kept<K, V> {
    /// The kernel for `key`, which `make` makes if there is none yet.
    pub(super) fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        // A panic leaves nothing half done.
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let kernel = make()?;
        if kernels.len() == MOST {
            kernels.clear();
        }
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }
}
