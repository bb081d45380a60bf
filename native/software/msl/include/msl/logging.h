// <metal_logging>: messages from kernels. A device writes them where a program has asked for logging and has a log state to
// receive them; the software Metal makes no log states, so that every message is one that nobody asked for, and is dropped.
#pragma once

#include "common.h"

namespace metal {

enum os_log_type : uchar {
    OS_LOG_TYPE_DEFAULT = 0x00,
    OS_LOG_TYPE_INFO = 0x01,
    OS_LOG_TYPE_DEBUG = 0x02,
    OS_LOG_TYPE_ERROR = 0x10,
    OS_LOG_TYPE_FAULT = 0x11,
};

// The strings are of whatever type literals have: `constant char *` in Metal.
struct os_log {
    os_log() = default;
    template <class String>
    constexpr os_log(String /* subsystem */, String /* category */) {}

    template <class String, class... Arguments>
    void log_with_type(os_log_type, String, Arguments...) const {}
    template <class String, class... Arguments>
    void log(String, Arguments...) const {}
    template <class String, class... Arguments>
    void log_debug(String, Arguments...) const {}
    template <class String, class... Arguments>
    void log_info(String, Arguments...) const {}
    template <class String, class... Arguments>
    void log_error(String, Arguments...) const {}
    template <class String, class... Arguments>
    void log_fault(String, Arguments...) const {}
};

inline constexpr os_log os_log_default{};

}  // namespace metal
