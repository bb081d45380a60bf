// metal-bridge for C++17: devices, buffers, ordered transfers, kernels, over the C ABI, in headers alone.
//
//   metal_bridge_error.hpp      Result, Error
//   metal_bridge_device.hpp     Device: a GPU with its memory, budget and statistics
//   metal_bridge_buffer.hpp     MetalBuffer, Pending: what is in memory, and work that was committed
//   metal_bridge_batch.hpp      Batch: many transfers in one command buffer, in rows too
//   metal_bridge_arena.hpp      Arena, ResidencySet: scratch memory, and memory that stays resident
//   metal_bridge_event.hpp      Event: order among streams and devices
//   metal_bridge_kernel.hpp     Library, Kernel, Compute: programs of the GPU, and their dispatches
//   metal_bridge_stream.hpp     Stream: all of that in one order, without waiting
//   metal_bridge_utilities.hpp  MetalMemoryUtils: copies and fills of whole buffers
//
// Errors: every fallible call returns a Result, which is true if the call succeeded, and otherwise has the error(). Its
// value() is what the call made; it throws the Error if the call failed. Programs built without exceptions take the
// value by *.
//
// Ownership: programs move objects and cannot copy them. An object releases what it owns when it goes; committed work
// goes on, and keeps what it needs. An object that was moved from is empty, and so is the value of a failed call: calls
// on it are errors of status MTB_INVALID_ARGUMENT.
//
// Callbacks: functions that a program gives to a call. Metal calls them on threads of its own. (If an event's last
// Event goes just after the event has reached a value, the thread that destroys it may call the notification.) A
// callback may make, commit and release anything. It must not wait for the work that it belongs to, nor for later work
// of the same stream. An exception that leaves the callback ends there.
//
// Threads: any thread may use devices, buffers, streams, events, arenas, residency sets, kernels and pending work at
// the same time as others; only one thread at a time may use a batch or a compute pass.
#ifndef METAL_BRIDGE_HPP
#define METAL_BRIDGE_HPP

#include "metal_bridge_arena.hpp"
#include "metal_bridge_batch.hpp"
#include "metal_bridge_buffer.hpp"
#include "metal_bridge_device.hpp"
#include "metal_bridge_error.hpp"
#include "metal_bridge_event.hpp"
#include "metal_bridge_kernel.hpp"
#include "metal_bridge_stream.hpp"
#include "metal_bridge_utilities.hpp"

#endif
