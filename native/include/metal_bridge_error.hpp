// Errors of metal_bridge.hpp, and the ownership of the C ABI's handles.
#ifndef METAL_BRIDGE_ERROR_HPP
#define METAL_BRIDGE_ERROR_HPP

#include "metal_bridge.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

// Whether the calls without an `Error &` exist, which throw. Define it as 0 to do without where exceptions are on.
#ifndef METAL_BRIDGE_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define METAL_BRIDGE_EXCEPTIONS 1
#else
#define METAL_BRIDGE_EXCEPTIONS 0
#endif
#endif

namespace metal_bridge {

// What went wrong and where: what the throwing calls throw, and what the others set. True where there is an error. Copies
// share it.
class Error : public std::exception {
public:
    Error() noexcept = default;

    explicit operator bool() const noexcept { return status_ != MTB_OK; }

    mtb_status Status() const noexcept { return status_; }
    // The NSError code where Metal gave an error, zero otherwise.
    int64_t Code() const noexcept { return details_ ? mtb_error_code(details_->error) : 0; }
    // What went wrong, with the values that were at fault.
    const char *Message() const noexcept
    {
        return details_ ? mtb_error_message(details_->error) : mtb_status_name(status_);
    }
    // The function of the C ABI that failed.
    const char *Function() const noexcept { return details_ ? mtb_error_function(details_->error) : ""; }
    // Function, status and message.
    const char *what() const noexcept override { return details_ ? details_->text.c_str() : mtb_status_name(status_); }

    // Takes over the error of a call that failed, or none of one that did not. A failure without an error had no memory for one.
    static Error Take(bool failed, mtb_error *raw)
    {
        Error error;
        if (!failed)
            return error;
        error.status_ = raw ? mtb_error_status(raw) : MTB_OUT_OF_MEMORY;
        if (raw)
            error.details_ = std::make_shared<const Details>(raw);
        return error;
    }

    // An error that this header found.
    static Error Of(mtb_status status) noexcept
    {
        Error error;
        error.status_ = status;
        return error;
    }

private:
    struct Details {
        explicit Details(mtb_error *raw)
            : error(raw), text(std::string(mtb_error_function(raw)) + ": " + mtb_status_name(mtb_error_status(raw)) +
                               ": " + mtb_error_message(raw))
        {
        }
        ~Details() { mtb_error_release(error); }
        Details(const Details &) = delete;
        Details &operator=(const Details &) = delete;

        mtb_error *error;
        std::string text;
    };

    mtb_status status_ = MTB_OK;
    std::shared_ptr<const Details> details_;
};

namespace detail {

// One owned reference to an object of the C ABI, or none.
template <class T, void (*Release)(T *)> class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *raw) noexcept : raw_(raw) {}
    ~Handle() { Release(raw_); }
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept
    {
        if (this != &other)
            Release(std::exchange(raw_, std::exchange(other.raw_, nullptr)));
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    T *Get() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

private:
    T *raw_ = nullptr;
};

// Makes a call that returns a handle.
template <class H, class Call> H Make(Error &error, Call call)
{
    mtb_error *raw = nullptr;
    auto *made = call(&raw);
    error = Error::Take(made == nullptr, raw);
    return H(made);
}

// Makes a call that returns a status.
template <class Call> bool Check(Error &error, Call call)
{
    mtb_error *raw = nullptr;
    const mtb_status status = call(&raw);
    error = Error::Take(status != MTB_OK, raw);
    return status == MTB_OK;
}

#if METAL_BRIDGE_EXCEPTIONS
// The result of `call`, which takes a place for its error, or that error as an exception.
template <class Call> auto OrThrow(Call call)
{
    Error error;
    auto result = call(error);
    if (error)
        throw error;
    return result;
}
#endif

} // namespace detail
} // namespace metal_bridge

#endif
