// Errors and results of metal_bridge.hpp, and the ownership of the C ABI's handles and of functions that it calls back.
#ifndef METAL_BRIDGE_ERROR_HPP
#define METAL_BRIDGE_ERROR_HPP

#include "metal_bridge.h"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

// Whether Result::value() exists, which throws. Define it as 0 to do without it although exceptions are on.
#ifndef METAL_BRIDGE_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define METAL_BRIDGE_EXCEPTIONS 1
#else
#define METAL_BRIDGE_EXCEPTIONS 0
#endif
#endif

namespace metal_bridge {

namespace detail {

// One owned reference to an object of the C ABI, or none.
template <class T, void (*Release)(T *)> class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *raw) noexcept : raw_(raw) {}
    ~Handle() { Release(raw_); }
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) Release(std::exchange(raw_, std::exchange(other.raw_, nullptr)));
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    T *Get() const noexcept { return raw_; }
    // Gives the reference away.
    T *Take() noexcept { return std::exchange(raw_, nullptr); }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

private:
    T *raw_ = nullptr;
};

}  // namespace detail

// What went wrong and where. True if there is an error. Copies share it.
class Error : public std::exception {
public:
    Error() noexcept = default;

    explicit operator bool() const noexcept { return status_ != MTB_OK; }

    mtb_status Status() const noexcept { return status_; }
    // The NSError code if Metal gave an error, zero otherwise.
    int64_t Code() const noexcept { return details_ ? details_->code : 0; }
    // What went wrong, and with which values.
    const char *Message() const noexcept { return details_ ? details_->message.c_str() : mtb_status_name(status_); }
    // The function of the C ABI that failed.
    const char *Function() const noexcept { return details_ ? details_->function.c_str() : ""; }
    // Function, status and message.
    const char *what() const noexcept override { return details_ ? details_->text.c_str() : mtb_status_name(status_); }

    // Takes over the error of a call that failed. The C ABI gives one with every failure.
    static Error Take(mtb_error *raw) {
        const detail::Handle<mtb_error, mtb_error_release> owned(raw);
        return raw ? CopyOf(raw) : Of(MTB_INTERNAL);
    }

    // A copy of an error that somebody else owns; none for NULL.
    static Error CopyOf(const mtb_error *raw) {
        if (!raw) return Error();
        return Of(mtb_error_status(raw), mtb_error_function(raw), mtb_error_message(raw), mtb_error_code(raw));
    }

    // An error that these headers found.
    static Error Of(mtb_status status, const char *function, const char *message, int64_t code = 0) {
        Error error = Of(status);
        const std::string text = std::string(function) + ": " + mtb_status_name(status) + ": " + message;
        error.details_ = std::make_shared<const Details>(Details{code, message, function, text});
        return error;
    }
    // The same with a status alone.
    static Error Of(mtb_status status) noexcept {
        Error error;
        error.status_ = status;
        return error;
    }

private:
    struct Details {
        int64_t code;
        std::string message;
        std::string function;
        std::string text;
    };

    mtb_status status_ = MTB_OK;
    std::shared_ptr<const Details> details_;
};

// What a fallible call returns: its value or its error. The members have the names of std::expected.
template <class T = void> class [[nodiscard]] Result {
public:
    Result(T &&value) noexcept : value_(std::move(value)) {}
    Result(Error error) noexcept : error_(std::move(error)) {}

    // Whether the call succeeded.
    explicit operator bool() const noexcept { return !error_; }
    const Error &error() const noexcept { return error_; }
    // The value; an empty object if the call failed.
    T &operator*() & noexcept { return value_; }
    T operator*() && noexcept { return std::move(value_); }
    const T &operator*() const & noexcept { return value_; }
    T *operator->() noexcept { return &value_; }
    const T *operator->() const noexcept { return &value_; }
#if METAL_BRIDGE_EXCEPTIONS
    // The value; throws the error if the call failed.
    T &value() & {
        if (error_) throw error_;
        return value_;
    }
    T value() && { return std::move(value()); }
#endif

private:
    T value_;
    Error error_;
};

// The result of a call that has no value.
template <> class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return !error_; }
    const Error &error() const noexcept { return error_; }
#if METAL_BRIDGE_EXCEPTIONS
    void value() const {
        if (error_) throw error_;
    }
#endif

private:
    Error error_;
};

namespace detail {

// Makes a call that returns a handle, which a T takes over.
template <class T, class Call> Result<T> Make(Call call) {
    mtb_error *raw = nullptr;
    auto *made = call(&raw);
    if (!made) return Error::Take(raw);
    return T(made);
}

// Makes a call that returns a status.
template <class Call> Result<void> Check(Call call) {
    mtb_error *raw = nullptr;
    if (call(&raw) == MTB_OK) return {};
    return Error::Take(raw);
}

// A function of the caller's, as the context of a callback of the C ABI.
template <class Function> class Callback {
public:
    // Has `call` hand over the context together with Free, which the bridge calls even if `call` fails. An error names
    // `name`.
    template <class Call> static auto Give(Function function, const char *name, Call call) -> decltype(call(nullptr)) {
        if (!function) return Error::Of(MTB_INVALID_ARGUMENT, name, "the function to call is empty");
        auto *callback = new (std::nothrow) Callback(std::move(function));
        if (!callback) return Error::Of(MTB_OUT_OF_MEMORY);
        return call(callback);
    }
    // Has `use` call the function. An exception must not unwind into the bridge: it ends here.
    template <class Use> static void Call(void *context, Use use) noexcept {
#if METAL_BRIDGE_EXCEPTIONS
        try {
            use(static_cast<Callback *>(context)->function_);
        } catch (...) {}
#else
        use(static_cast<Callback *>(context)->function_);
#endif
    }
    static void Free(void *context) noexcept { delete static_cast<Callback *>(context); }

private:
    explicit Callback(Function function) noexcept : function_(std::move(function)) {}

    Function function_;
};

// A time as the C ABI has it: 0 for negative times, and MTB_FOREVER for the longest time.
inline uint64_t Nanoseconds(std::chrono::nanoseconds time) noexcept {
    if (time == std::chrono::nanoseconds::max()) return MTB_FOREVER;
    return time.count() > 0 ? static_cast<uint64_t>(time.count()) : 0;
}

}  // namespace detail

// For calls that take a time: a time without an end.
inline constexpr std::chrono::nanoseconds Forever = std::chrono::nanoseconds::max();

// Three extents, in threads or threadgroups.
constexpr mtb_size Size(size_t width, size_t height = 1, size_t depth = 1) noexcept { return {width, height, depth}; }

}  // namespace metal_bridge

#endif
