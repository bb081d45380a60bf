//! The macro behind every function of the API.

/// Declares functions of the API: C's name, or names, and the Rust function behind them.
///
/// A function with a default stream has two names. `CUDA_API_PER_THREAD_DEFAULT_STREAM` selects the second, whose
/// default stream is the calling thread's; the Rust function is told which one was called. Two more names, behind a
/// semicolon, are those of the asynchronous form, whose last parameter is a stream. The Rust function then gets a
/// `Target`: the stream, and whether the form is the synchronous one.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $name:ident $(, $per_thread:ident)?
        $(; $(#[$async_doc:meta])* $async_name:ident, $async_per_thread:ident)?
        = $body:ident($($parameter:ident: $type:ty),* $(,)?);
    )*) => {
        $(
            calls! {
                @names [$(#[$doc])*] $name $(, $per_thread)?
                $(; [$(#[$async_doc])*] $async_name, $async_per_thread)?
                = $body($($parameter: $type),*)
            }
        )*
    };
    (@names [$($doc:tt)*] $name:ident = $body:ident($($parameter:ident: $type:ty),*)) => {
        calls! { @one [$($doc)*] $name($($parameter: $type),*) = $body($($parameter),*) }
    };
    (@names [$($doc:tt)*] $name:ident, $per_thread:ident = $body:ident($($parameter:ident: $type:ty),*)) => {
        calls! {
            @two [$($doc)*] $name, $per_thread($($parameter: $type),*) = default,
            $body(default, $($parameter),*)
        }
    };
    (
        @names [$($doc:tt)*] $name:ident, $per_thread:ident;
        [$($async_doc:tt)*] $async_name:ident, $async_per_thread:ident
        = $body:ident($($parameter:ident: $type:ty),*)
    ) => {
        calls! {
            @two [$($doc)*] $name, $per_thread($($parameter: $type),*) = default,
            $body($crate::runtime::handles::Target::synchronous(default), $($parameter),*)
        }
        calls! {
            @two [$($async_doc)*] $async_name, $async_per_thread(
                $($parameter: $type,)* stream: $crate::types::cudaStream_t
            ) = default,
            $body($crate::runtime::handles::Target::asynchronous(default, stream), $($parameter),*)
        }
    };
    (
        @two [$($doc:tt)*] $name:ident, $per_thread:ident($($parameter:ident: $type:ty),*)
        = $default:ident, $body:ident($($argument:expr),*)
    ) => {
        calls! {
            @one [$($doc)*] $name($($parameter: $type),*) =
            { $default = $crate::runtime::handles::DefaultStream::Legacy } $body($($argument),*)
        }
        calls! {
            @one [
                #[doc = concat!("[`", stringify!($name), "`], where the default stream is the calling thread's.")]
            ] $per_thread($($parameter: $type),*) =
            { $default = $crate::runtime::handles::DefaultStream::PerThread } $body($($argument),*)
        }
    };
    (
        @one [$(#[$doc:meta])*] $name:ident($($parameter:ident: $type:ty),*)
        = $({ $default:ident = $stream:expr })? $body:ident($($argument:expr),*)
    ) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> $crate::codes::cudaError_t {
            $(let $default = $stream;)?
            // SAFETY: what the header asks of the caller.
            $crate::runtime::failure::call(|| unsafe { $body($($argument),*) })
        }
    };
}

pub(crate) use calls;
