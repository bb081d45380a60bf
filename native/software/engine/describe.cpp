/* Describes what a kernel that failed has done, and what its threads were waiting for. */
#include <bit>
#include <csignal>
#include <string_view>
#include <utility>

#include "context.h"
#include "core.h"
#include "faults.h"
#include "watchdog.h"
#include "support/numbers.h"
#include "support/settings.h"

namespace smtl {
namespace {

/* The line that SMTL_SITE has put into the site. */
uint32_t line_of(uint32_t site) {
    return (site & ~(SMTL_SYNC_SITE | SMTL_JOIN_SITE | SMTL_TURN_SITE)) >> SMTL_SITE_COLUMN_BITS;
}

/* From "... [T = name]", as the compiler writes the name: in Metal's words. */
std::string function_type_of(std::string_view text) {
    const size_t sign = text.find(" = ");
    if (sign == text.npos || text.size() < sign + 4) return std::string(text);
    std::string type(text.substr(sign + 3, text.size() - sign - 4));
    constexpr std::pair<std::string_view, std::string_view> words[] = {{"const __global_host", "constant"},
                                                                       {"__global_host const", "constant"},
                                                                       {"__global", "device"},
                                                                       {"__local", "threadgroup"},
                                                                       {"unsigned int", "uint"},
                                                                       {"unsigned short", "ushort"},
                                                                       {"unsigned char", "uchar"},
                                                                       {"unsigned long", "ulong"},
                                                                       {"_Float16", "half"},
                                                                       {"__bf16", "bfloat"},
                                                                       {"metal::", ""}};
    for (const auto &[from, to] : words)
        for (size_t at = type.find(from); at != type.npos; at = type.find(from, at + to.size()))
            type.replace(at, from.size(), to);
    return type;
}

std::string types_differ(const char *has, const char *verb, const char *wanted) {
    const std::string first = function_type_of(has), second = function_type_of(wanted);
    return "is of type '" + first + "', and " + verb + " of type '" + second + "'" +
           (first == second ? ": the two sources have types of other sizes by these names" : "");
}

std::string threads_wait(uint32_t count) {
    return count == 1 ? "1 thread waits " : std::to_string(count) + " threads wait ";
}

}  // namespace

smtl_failure core::fault_kind() const {
    switch (fault_signal) {
    case SIGSEGV:
    case SIGBUS: return stacks.in_guard(fault_address) ? SMTL_FAILURE_STACK : SMTL_FAILURE_ACCESS;
    case watchdog_signal: return SMTL_FAILURE_TIMEOUT;
    default: return SMTL_FAILURE_TRAP;
    }
}

std::string core::describe_fault() const {
    std::string text = "kernel '" + std::string(current->kernel->image->name) + "' ";
    switch (fault_signal) {
    case SIGSEGV:
    case SIGBUS:
        if (stacks.in_guard(fault_address))
            text += "used more stack than the " + std::to_string(stacks.size()) + " bytes that a thread has";
        else if (fault_address == unknown_address())
            text += "accessed invalid memory at an address of more bits than a pointer has";
        else
            text += "accessed invalid memory at " + describe_address(*current->given, fault_address);
        break;
    case watchdog_signal: {
        char seconds[32];
        smtl_snprintf(seconds, sizeof seconds, "%g", smtl_settings_get()->timeout);
        text += std::string("ran longer than the ") + seconds + " s of SOFTWARE_METAL_TIMEOUT";
        break;
    }
    case SIGFPE: text += "divided an integer by zero, or the smallest integer by -1"; break;
    default: text += "executed a trap";
    }
    text += ", in " + describe_threadgroup();
    if (blocks) text += ", thread " + std::to_string(thread);
    if (blocks && fault_signal == watchdog_signal) text += describe_waiting();
    return text;
}

std::string core::describe_threadgroup() const {
    return "threadgroup (" + std::to_string(threadgroup_position[0]) + ", " + std::to_string(threadgroup_position[1]) +
           ", " + std::to_string(threadgroup_position[2]) + ")";
}

/* How many threads cannot go on, and where they wait. */
std::string core::describe_waiting() const {
    uint32_t at_barrier = 0, talking = 0, line = 0;
    for (uint32_t s = 0; s < simdgroup_count; ++s) {
        const simdgroup &group = simdgroups[s];
        at_barrier += uint32_t(std::popcount(group.at_barrier));
        for (uint32_t i = 0; i < group.open_count; ++i) {
            const open_exchange &exchange = exchanges[s][group.open[i]];
            if (exchange.site & SMTL_SYNC_SITE) continue;
            talking += uint32_t(std::popcount(exchange.active));
            line = line_of(exchange.site);
        }
    }
    std::string text;
    if (at_barrier != 0)
        text +=
            "; " + threads_wait(at_barrier) + "at threadgroup_barrier in line " + std::to_string(line_of(barrier_site));
    if (talking != 0)
        text += "; " + threads_wait(talking) + "in a function of their SIMD-group in line " + std::to_string(line);
    return text;
}

std::string core::describe_call(const smtl_function_request &request) const {
    const smtl_function_table *const table = request.table;
    const std::string index = std::to_string(request.index);
    if (request.function != nullptr)
        return "the linked function '" + std::string(request.function->name) + "' " +
               types_differ(request.function->type_name, "is declared as", request.type_name);
    if (table == nullptr) return "the visible function table is null";
    if (table->mark != SMTL_FUNCTION_TABLE_MARK) return "the argument is not a visible function table";
    if (table->image != current->kernel->image->identity)
        return "the visible function table belongs to another pipeline";
    if (request.index >= table->count)
        return "index " + index + " of the visible function table is not below its " + std::to_string(table->count) +
               " functions";
    const smtl_visible_function *const function = table->functions[request.index];
    if (function == nullptr) return "the visible function table has no function at index " + index;
    return "function '" + std::string(function->name) + "' at index " + index + " of the visible function table " +
           types_differ(function->type_name, "the kernel calls one", request.type_name);
}

void core::fail_call(const smtl_function_request &request) {
    current->fail(SMTL_FAILURE_ARGUMENTS,
                  "kernel '" + std::string(current->kernel->image->name) + "': " + describe_call(request) +
                      (request.site == 0 ? "" : ", in line " + std::to_string(line_of(request.site))) + ", in " +
                      describe_threadgroup());
}

std::string core::describe_poll() const {
    return describe_threadgroup() + " in line " + std::to_string(line_of(poll_site)) + describe_waiting();
}

void core::fail_deadlock(const simdgroup &group) {
    const open_exchange &exchange = exchanges[&group - simdgroups][group.completed];
    current->fail(SMTL_FAILURE_TIMEOUT,
                  "kernel '" + std::string(current->kernel->image->name) + "': deadlock in " + describe_threadgroup() +
                      ": " + threads_wait(uint32_t(std::popcount(group.at_barrier))) +
                      "at threadgroup_barrier in line " + std::to_string(line_of(barrier_site)) +
                      " for lanes of their own SIMD-group, which have executed " + std::to_string(most_meetings) +
                      " SIMD-group functions since, the last in line " + std::to_string(line_of(exchange.site)));
    smtl_continue(abandon_kernel(SIGTRAP, nullptr));
}

}  // namespace smtl
