// <metal_logging>: messages from kernels. They are written where the program has asked for logging when it compiled the
// source, and has a log state to receive them.
#pragma once

#include <msl/common.h>
#include <msl/spaces.h>

#if SMTL_LOGGING
#include <smtl/log.h>
#endif

namespace metal {

enum os_log_type : uchar {
    OS_LOG_TYPE_DEFAULT = 0x00,
    OS_LOG_TYPE_INFO = 0x01,
    OS_LOG_TYPE_DEBUG = 0x02,
    OS_LOG_TYPE_ERROR = 0x10,
    OS_LOG_TYPE_FAULT = 0x11,
};

#if SMTL_LOGGING
struct os_log {
    // In the space of literals: a pointer that has left it is not a constant expression.
    using text = SMTL_CONSTANT char *;
    constexpr os_log() : subsystem_(nullptr), category_(nullptr) {}
    constexpr os_log(text subsystem, text category) : subsystem_(subsystem), category_(category) {}

    template <class... Arguments>
    SMTL_FUNCTION void log_with_type(os_log_type type, const char *format, Arguments... arguments) const {
        smtl::log(type, plain(subsystem_), plain(category_), format, arguments...);
    }
#else
// The strings are of whatever type literals have: `constant char *` in Metal.
struct os_log {
    os_log() = default;
    template <class String> constexpr os_log(String /* subsystem */, String /* category */) {}

    template <class String, class... Arguments> void log_with_type(os_log_type, String, Arguments...) const {}
#endif
    template <class String, class... Arguments> void log(String format, Arguments... arguments) const {
        log_with_type(OS_LOG_TYPE_DEFAULT, format, arguments...);
    }
    template <class String, class... Arguments> void log_debug(String format, Arguments... arguments) const {
        log_with_type(OS_LOG_TYPE_DEBUG, format, arguments...);
    }
    template <class String, class... Arguments> void log_info(String format, Arguments... arguments) const {
        log_with_type(OS_LOG_TYPE_INFO, format, arguments...);
    }
    template <class String, class... Arguments> void log_error(String format, Arguments... arguments) const {
        log_with_type(OS_LOG_TYPE_ERROR, format, arguments...);
    }
    template <class String, class... Arguments> void log_fault(String format, Arguments... arguments) const {
        log_with_type(OS_LOG_TYPE_FAULT, format, arguments...);
    }

#if SMTL_LOGGING
private:
    static SMTL_FUNCTION const char *plain(text name) { return name ? (const char *)name : ""; }
    text subsystem_, category_;
#endif
};

inline constexpr os_log os_log_default{};

}  // namespace metal
