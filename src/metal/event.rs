//! [`SharedEvent`]: a counter that CPU and GPU signal and wait for.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::device::Device;
use super::handle::{Handle, c_string, check, create, nanoseconds, take_string};
use crate::error::Result;
use crate::sys::{self, contain_panic};

/// A counter that only rises, which CPU and GPU signal and wait for (`MTLSharedEvent`). Clones share it.
///
/// The GPU's side is recorded by [`CommandBuffer::encode_signal_event`](crate::CommandBuffer::encode_signal_event) and
/// [`encode_wait_for_event`](crate::CommandBuffer::encode_wait_for_event).
#[derive(Clone)]
pub struct SharedEvent {
    inner: Arc<EventInner>,
}

/// A reference to a [`SharedEvent`] that does not keep the event alive: for listeners, which the event itself keeps
/// until it has reached their value.
#[derive(Clone)]
pub struct WeakSharedEvent {
    inner: Weak<EventInner>,
}

impl WeakSharedEvent {
    /// The event, unless its last handle is gone.
    pub fn upgrade(&self) -> Option<SharedEvent> {
        let inner = self.inner.upgrade()?;
        Some(SharedEvent { inner })
    }
}

impl fmt::Debug for WeakSharedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakSharedEvent")
    }
}

struct EventInner {
    handle: Handle<sys::mtb_event>,
    device: Device,
}

impl Device {
    /// Makes an event whose value is zero (`newSharedEvent`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new_shared_event(&self) -> Result<SharedEvent> {
        // SAFETY: returns an owned event, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_event_create(self.as_ptr(), error)) }?;
        Ok(SharedEvent {
            inner: Arc::new(EventInner {
                handle,
                device: self.clone(),
            }),
        })
    }
}

impl SharedEvent {
    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_event {
        self.inner.handle.as_ptr()
    }

    /// A weak reference, for the event's own listeners.
    pub fn downgrade(&self) -> WeakSharedEvent {
        WeakSharedEvent {
            inner: Arc::downgrade(&self.inner),
        }
    }

    /// The device that the event belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The value that the event has now (`signaledValue`).
    pub fn signaled_value(&self) -> u64 {
        // SAFETY: the event is live.
        unsafe { sys::mtb_event_signaled_value(self.as_ptr()) }
    }

    /// Raises the event's value from the CPU (`signaledValue`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a value smaller than the present one.
    pub fn set_signaled_value(&self, value: u64) -> Result<()> {
        // SAFETY: the event is live.
        unsafe { check(|error| sys::mtb_event_signal(self.as_ptr(), value, error)) }
    }

    /// Waits on the CPU until the event has reached `value` (`waitUntilSignaledValue:timeoutMS:`).
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout) after `timeout`, which is rounded up to milliseconds.
    pub fn wait_until_signaled_value(&self, value: u64, timeout: Duration) -> Result<()> {
        // SAFETY: the event is live.
        unsafe {
            check(|error| sys::mtb_event_wait(self.as_ptr(), value, nanoseconds(timeout), error))
        }
    }

    /// Calls `listener` with the event's value once that has reached `value`, on a thread of Metal's
    /// (`notifyListener:atValue:block:`). If the event is gone before that, `listener` is dropped uncalled. If the last handle
    /// goes just after the event has reached `value`, that handle's thread may call `listener`.
    ///
    /// A listener that owns the event keeps the event alive, and so itself, until the value is reached: for ever if
    /// nobody else is left to raise it. So let it [own the event weakly](SharedEvent::downgrade).
    ///
    /// ```
    /// # if !metal_bridge::is_available() { return Ok(()); }
    /// # let device = metal_bridge::Device::system_default()?;
    /// let event = device.new_shared_event()?;
    /// let own = event.downgrade();
    /// event.notify(1, move |_| {
    ///     if let Some(event) = own.upgrade() {
    ///         event.set_signaled_value(2).ok();
    ///     }
    /// })?;
    /// # Ok::<(), metal_bridge::Error>(())
    /// ```
    ///
    /// A panic of the listener ends there.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); the listener is dropped then.
    pub fn notify(&self, value: u64, listener: impl FnOnce(u64) + Send + 'static) -> Result<()> {
        let context: *mut Listener = Box::into_raw(Box::new(Some(Box::new(listener))));
        // SAFETY: the event is live, and the context, which the bridge takes over, is one that both functions take.
        unsafe {
            check(|error| {
                let (callback, destructor) =
                    (Some(call_listener as _), Some(release_listener as _));
                sys::mtb_event_notify(
                    self.as_ptr(),
                    value,
                    callback,
                    context.cast(),
                    destructor,
                    error,
                )
            })
        }
    }

    /// Names the event in Metal's tools (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a label with a NUL.
    pub fn set_label(&self, label: &str) -> Result<()> {
        let label = c_string("SharedEvent::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe { check(|error| sys::mtb_event_set_label(self.as_ptr(), label.as_ptr(), error)) }
    }

    /// The label, if there is one.
    pub fn label(&self) -> Option<String> {
        // SAFETY: the event is live, and the string is ours.
        unsafe { take_string(sys::mtb_event_copy_label(self.as_ptr())) }
    }
}

/// The context of a notification: taken by the call, freed by the destructor.
type Listener = Option<Box<dyn FnOnce(u64) + Send>>;

unsafe extern "C" fn call_listener(value: u64, context: *mut c_void) {
    // SAFETY: the context is a boxed listener, which the bridge lends to this one call.
    let listener = unsafe { (*context.cast::<Listener>()).take() };
    if let Some(listener) = listener {
        contain_panic(|| listener(value));
    }
}

unsafe extern "C" fn release_listener(context: *mut c_void) {
    // SAFETY: the context is a boxed listener, which the bridge gives back once.
    let listener = unsafe { Box::from_raw(context.cast::<Listener>()) };
    contain_panic(|| drop(listener));
}

impl fmt::Debug for SharedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedEvent")
            .field("signaled_value", &self.signaled_value())
            .finish()
    }
}
