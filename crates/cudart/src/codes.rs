//! [`cudaError_t`]: CUDA 12's codes, with their names and what they say.

/// How a call ended: `cudaSuccess`, or what was wrong.
pub type cudaError_t = u32;

macro_rules! codes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        $(
            #[doc = $text]
            pub const $name: cudaError_t = $value;
        )*

        /// Value, name and description, by rising value.
        const CODES: &[(cudaError_t, &std::ffi::CStr, &std::ffi::CStr)] = &[
            $(($value, c_str(concat!(stringify!($name), "\0")), c_str(concat!($text, "\0"))),)*
        ];
    };
}

const fn c_str(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the macro ends every text with its only NUL"),
    }
}

codes! {
    cudaSuccess = 0, "no error";
    cudaErrorInvalidValue = 1, "invalid argument";
    cudaErrorMemoryAllocation = 2, "out of memory";
    cudaErrorInitializationError = 3, "initialization failed";
    cudaErrorCudartUnloading = 4, "the process is shutting down";
    cudaErrorProfilerDisabled = 5, "no profiler in this run";
    cudaErrorProfilerNotInitialized = 6, "profiler not initialized";
    cudaErrorProfilerAlreadyStarted = 7, "profiler already started";
    cudaErrorProfilerAlreadyStopped = 8, "profiler already stopped";
    cudaErrorInvalidConfiguration = 9, "grid or block that the device can never run";
    cudaErrorInvalidPitchValue = 12, "invalid pitch";
    cudaErrorInvalidSymbol = 13, "invalid device symbol";
    cudaErrorInvalidHostPointer = 16, "invalid host pointer";
    cudaErrorInvalidDevicePointer = 17, "invalid device pointer";
    cudaErrorInvalidTexture = 18, "invalid texture";
    cudaErrorInvalidTextureBinding = 19, "invalid texture binding";
    cudaErrorInvalidChannelDescriptor = 20, "invalid channel descriptor";
    cudaErrorInvalidMemcpyDirection = 21, "invalid direction of a copy";
    cudaErrorAddressOfConstant = 22, "address of a constant";
    cudaErrorTextureFetchFailed = 23, "texture fetch failed";
    cudaErrorTextureNotBound = 24, "texture not bound";
    cudaErrorSynchronizationError = 25, "synchronization failed";
    cudaErrorInvalidFilterSetting = 26, "filtering of a texture that is not of floats";
    cudaErrorInvalidNormSetting = 27, "texture cannot be read as normalized floats";
    cudaErrorMixedDeviceExecution = 28, "device and emulation mixed";
    cudaErrorNotYetImplemented = 31, "not yet implemented";
    cudaErrorMemoryValueTooLarge = 32, "memory value too large";
    cudaErrorStubLibrary = 34, "the driver is a stub";
    cudaErrorInsufficientDriver = 35, "the driver is older than the runtime";
    cudaErrorCallRequiresNewerDriver = 36, "the call needs a newer driver";
    cudaErrorInvalidSurface = 37, "invalid surface";
    cudaErrorDuplicateVariableName = 43, "two variables of one name";
    cudaErrorDuplicateTextureName = 44, "two textures of one name";
    cudaErrorDuplicateSurfaceName = 45, "two surfaces of one name";
    cudaErrorDevicesUnavailable = 46, "the devices are busy or gone";
    cudaErrorIncompatibleDriverContext = 49, "incompatible driver context";
    cudaErrorMissingConfiguration = 52, "launch without a configuration";
    cudaErrorPriorLaunchFailure = 53, "an earlier launch failed";
    cudaErrorLaunchMaxDepthExceeded = 65, "launches nested too deeply";
    cudaErrorLaunchFileScopedTex = 66, "kernel uses a texture of file scope";
    cudaErrorLaunchFileScopedSurf = 67, "kernel uses a surface of file scope";
    cudaErrorSyncDepthExceeded = 68, "synchronization nested too deeply";
    cudaErrorLaunchPendingCountExceeded = 69, "too many pending launches";
    cudaErrorInvalidDeviceFunction = 98, "there is no such kernel";
    cudaErrorNoDevice = 100, "there is no Metal device";
    cudaErrorInvalidDevice = 101, "there is no device of that number";
    cudaErrorDeviceNotLicensed = 102, "device not licensed";
    cudaErrorSoftwareValidityNotEstablished = 103, "validity of the software not established";
    cudaErrorStartupFailure = 127, "startup failed";
    cudaErrorInvalidKernelImage = 200, "invalid kernel image";
    cudaErrorDeviceUninitialized = 201, "device not initialized";
    cudaErrorMapBufferObjectFailed = 205, "buffer object could not be mapped";
    cudaErrorUnmapBufferObjectFailed = 206, "buffer object could not be unmapped";
    cudaErrorArrayIsMapped = 207, "array is mapped";
    cudaErrorAlreadyMapped = 208, "already mapped";
    cudaErrorNoKernelImageForDevice = 209, "no kernel image for this device";
    cudaErrorAlreadyAcquired = 210, "already acquired";
    cudaErrorNotMapped = 211, "not mapped";
    cudaErrorNotMappedAsArray = 212, "not mapped as an array";
    cudaErrorNotMappedAsPointer = 213, "not mapped as a pointer";
    cudaErrorECCUncorrectable = 214, "uncorrectable memory error";
    cudaErrorUnsupportedLimit = 215, "limit not supported by the device";
    cudaErrorDeviceAlreadyInUse = 216, "device in exclusive use";
    cudaErrorPeerAccessUnsupported = 217, "the devices are no peers";
    cudaErrorInvalidPtx = 218, "invalid PTX";
    cudaErrorInvalidGraphicsContext = 219, "invalid graphics context";
    cudaErrorNvlinkUncorrectable = 220, "uncorrectable NVLink error";
    cudaErrorJitCompilerNotFound = 221, "compiler not found";
    cudaErrorUnsupportedPtxVersion = 222, "unsupported version of PTX";
    cudaErrorJitCompilationDisabled = 223, "compilation disabled";
    cudaErrorUnsupportedExecAffinity = 224, "unsupported execution affinity";
    cudaErrorUnsupportedDevSideSync = 225, "unsupported synchronization on the device";
    cudaErrorInvalidSource = 300, "the source of a kernel does not compile";
    cudaErrorFileNotFound = 301, "file not found";
    cudaErrorSharedObjectSymbolNotFound = 302, "symbol of a shared object not found";
    cudaErrorSharedObjectInitFailed = 303, "shared object could not be initialized";
    cudaErrorOperatingSystem = 304, "the operating system failed";
    cudaErrorInvalidResourceHandle = 400, "invalid handle";
    cudaErrorIllegalState = 401, "not possible in the present state";
    cudaErrorLossyQuery = 402, "the answer would lose information";
    cudaErrorSymbolNotFound = 500, "name not found";
    cudaErrorNotReady = 600, "not completed yet";
    cudaErrorIllegalAddress = 700, "a kernel used an address where nothing is";
    cudaErrorLaunchOutOfResources = 701, "too many resources for a launch";
    cudaErrorLaunchTimeout = 702, "a kernel ran too long";
    cudaErrorLaunchIncompatibleTexturing = 703, "launch with an incompatible texturing mode";
    cudaErrorPeerAccessAlreadyEnabled = 704, "peer access already enabled";
    cudaErrorPeerAccessNotEnabled = 705, "peer access not enabled";
    cudaErrorSetOnActiveProcess = 708, "the device is in use already";
    cudaErrorContextIsDestroyed = 709, "context destroyed";
    cudaErrorAssert = 710, "an assertion in a kernel failed";
    cudaErrorTooManyPeers = 711, "too many peers";
    cudaErrorHostMemoryAlreadyRegistered = 712, "host memory already registered";
    cudaErrorHostMemoryNotRegistered = 713, "host memory not registered";
    cudaErrorHardwareStackError = 714, "a kernel ran out of stack";
    cudaErrorIllegalInstruction = 715, "illegal instruction in a kernel";
    cudaErrorMisalignedAddress = 716, "misaligned address in a kernel";
    cudaErrorInvalidAddressSpace = 717, "address of another address space in a kernel";
    cudaErrorInvalidPc = 718, "invalid program counter in a kernel";
    cudaErrorLaunchFailure = 719, "a kernel failed";
    cudaErrorCooperativeLaunchTooLarge = 720, "cooperative launch too large";
    cudaErrorNotPermitted = 800, "not permitted here";
    cudaErrorNotSupported = 801, "not supported";
    cudaErrorSystemNotReady = 802, "system not ready";
    cudaErrorSystemDriverMismatch = 803, "drivers do not fit together";
    cudaErrorCompatNotSupportedOnDevice = 804, "compatibility mode not supported by the device";
    cudaErrorMpsConnectionFailed = 805, "no connection to the MPS server";
    cudaErrorMpsRpcFailure = 806, "call of the MPS server failed";
    cudaErrorMpsServerNotReady = 807, "MPS server not ready";
    cudaErrorMpsMaxClientsReached = 808, "too many MPS clients";
    cudaErrorMpsMaxConnectionsReached = 809, "too many MPS connections";
    cudaErrorMpsClientTerminated = 810, "MPS client terminated";
    cudaErrorCdpNotSupported = 811, "launches from kernels not supported";
    cudaErrorCdpVersionMismatch = 812, "versions of launches from kernels differ";
    cudaErrorStreamCaptureUnsupported = 900, "not possible in a capture";
    cudaErrorStreamCaptureInvalidated = 901, "the capture is invalid";
    cudaErrorStreamCaptureMerge = 902, "two captures would be merged";
    cudaErrorStreamCaptureUnmatched = 903, "the capture did not begin in this stream";
    cudaErrorStreamCaptureUnjoined = 904, "the capture has streams that were not joined";
    cudaErrorStreamCaptureIsolation = 905, "dependency across the border of a capture";
    cudaErrorStreamCaptureImplicit = 906, "implicit dependency on the legacy stream in a capture";
    cudaErrorCapturedEvent = 907, "the event was recorded in a capture";
    cudaErrorStreamCaptureWrongThread = 908, "the capture began in another thread";
    cudaErrorTimeout = 909, "timed out";
    cudaErrorGraphExecUpdateFailure = 910, "the graph cannot be updated";
    cudaErrorExternalDevice = 911, "an external device failed";
    cudaErrorInvalidClusterSize = 912, "invalid cluster size";
    cudaErrorUnknown = 999, "unknown error";
}

fn find(
    code: cudaError_t,
) -> Option<&'static (
    cudaError_t,
    &'static std::ffi::CStr,
    &'static std::ffi::CStr,
)> {
    let place = CODES.binary_search_by_key(&code, |entry| entry.0).ok()?;
    CODES.get(place)
}

const UNKNOWN: &std::ffi::CStr = c"unrecognized error code";

/// The code's name, as the header has it.
pub(crate) fn name(code: cudaError_t) -> &'static std::ffi::CStr {
    find(code).map_or(UNKNOWN, |entry| entry.1)
}

/// What the code says.
pub(crate) fn description(code: cudaError_t) -> &'static std::ffi::CStr {
    find(code).map_or(UNKNOWN, |entry| entry.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_rise_so_that_the_search_finds_them() {
        assert!(CODES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(name(719), c"cudaErrorLaunchFailure");
        assert_eq!(name(10), UNKNOWN);
    }
}
