//! [`Registry`]: the objects behind a kind of handle. Handles are numbers that are never given twice, so a call
//! recognises a handle that was destroyed or never existed.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::codes::cudaErrorInvalidResourceHandle;
use crate::runtime::failure::{Failed, Outcome};

/// The next number. All kinds take their numbers from here, so that no two kinds share a handle. The first numbers are
/// not given: CUDA's names for the default streams are small numbers.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

pub(crate) struct Registry<T> {
    objects: LazyLock<RwLock<HashMap<usize, Arc<T>>>>,
    noun: &'static str,
}

impl<T> Registry<T> {
    pub(crate) const fn new(noun: &'static str) -> Registry<T> {
        Registry {
            objects: LazyLock::new(Default::default),
            noun,
        }
    }

    pub(crate) fn add(&self, object: Arc<T>) -> *mut c_void {
        let number = NEXT.fetch_add(16, Ordering::Relaxed);
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(number, object);
        ptr::without_provenance_mut(number)
    }

    pub(crate) fn get(&self, handle: *const c_void) -> Outcome<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let found = objects.get(&handle.addr()).cloned();
        found.ok_or_else(|| self.unknown(handle))
    }

    pub(crate) fn remove(&self, handle: *const c_void) -> Outcome<Arc<T>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let found = objects.remove(&handle.addr());
        found.ok_or_else(|| self.unknown(handle))
    }

    /// Removes and returns all objects that `is_gone` accepts.
    pub(crate) fn remove_where(&self, is_gone: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let mut removed = Vec::new();
        objects.retain(|_, object| {
            let stays = !is_gone(object);
            if !stays {
                removed.push(object.clone());
            }
            stays
        });
        // Objects may use the registry when they are dropped, so the caller drops them, without the lock.
        removed
    }

    fn unknown(&self, handle: *const c_void) -> Failed {
        let message = format!("{handle:p} is not a {}, or has been destroyed", self.noun);
        Failed::new(cudaErrorInvalidResourceHandle, message)
    }
}
