//! Functions of libraries that the loader may or may not find.

use std::ffi::{CStr, c_void};

/// A function of the first of the libraries that has it.
pub fn function(libraries: &[&CStr], name: &CStr) -> Option<*mut c_void> {
    libraries.iter().find_map(|library| {
        // SAFETY: the names are C strings, and the libraries' constructors ask for nothing.
        let found = unsafe {
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                return None;
            }
            libc::dlsym(handle, name.as_ptr())
        };
        (!found.is_null()).then_some(found)
    })
}
