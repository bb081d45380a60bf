//! The macro behind every function of the API.

/// Declares functions of the API: C's name, or names, and the function that does it. Of two names the second is the one
/// that `CUDA_API_PER_THREAD_DEFAULT_STREAM` gives: its default stream is the calling thread's, and the function is
/// told.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $name:ident $(, $per_thread:ident)? = $body:ident($($parameter:ident: $type:ty),* $(,)?);
    )*) => {
        $(
            calls! { @one [$(#[$doc])*] $name $(, $per_thread)? = $body($($parameter: $type),*) }
        )*
    };
    (@one [$(#[$doc:meta])*] $name:ident = $body:ident($($parameter:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> $crate::codes::cudaError_t {
            // SAFETY: what the header asks of the caller.
            $crate::runtime::failure::call(|| unsafe { $body($($parameter),*) })
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident, $per_thread:ident = $body:ident($($parameter:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> $crate::codes::cudaError_t {
            let default = $crate::runtime::handles::DefaultStream::Legacy;
            // SAFETY: what the header asks of the caller.
            $crate::runtime::failure::call(|| unsafe { $body(default, $($parameter),*) })
        }

        #[doc = concat!("[`", stringify!($name), "`], where the default stream is the calling thread's.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $per_thread($($parameter: $type),*) -> $crate::codes::cudaError_t {
            let default = $crate::runtime::handles::DefaultStream::PerThread;
            // SAFETY: what the header asks of the caller.
            $crate::runtime::failure::call(|| unsafe { $body(default, $($parameter),*) })
        }
    };
}

pub(crate) use calls;
