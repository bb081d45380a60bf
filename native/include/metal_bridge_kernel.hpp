// Kernels of metal_bridge.hpp: programs of the GPU from source or from files, and their dispatches.
#ifndef METAL_BRIDGE_KERNEL_HPP
#define METAL_BRIDGE_KERNEL_HPP

#include "metal_bridge_buffer.hpp"

#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace metal_bridge {

namespace detail {
using LibraryHandle = Handle<mtb_library, mtb_library_release>;
using FunctionHandle = Handle<mtb_function, mtb_function_release>;
using ConstantsHandle = Handle<mtb_constant_values, mtb_constant_values_release>;
using PipelineHandle = Handle<mtb_pipeline, mtb_pipeline_release>;
using ComputeHandle = Handle<mtb_compute_encoder, mtb_compute_encoder_release>;
}  // namespace detail

// Macros, language version, mathematics. Zeroes (`CompileOptions{}`) are the defaults.
using CompileOptions = mtb_compile_options;

// Compiled source, or a metallib.
class Library {
public:
    Library() noexcept = default;

    // Takes over a library of the C ABI.
    explicit Library(mtb_library *owned) noexcept : library_(owned) {}

    // Compiles the shading language. MTB_COMPILE_FAILED with the compiler's log.
    static Result<Library> FromSource(const Device &device, std::string_view source,
                                      const CompileOptions &options = CompileOptions{}) {
        const char *text = source.data() ? source.data() : "";
        return detail::Make<Library>([&](mtb_error **e) {
            return mtb_library_create_from_source(device.Get(), text, source.size(), &options, e);
        });
    }
    // Reads a metallib.
    static Result<Library> FromFile(const Device &device, const char *path) {
        return detail::Make<Library>(
            [&](mtb_error **e) { return mtb_library_create_from_file(device.Get(), path, e); });
    }

    size_t FunctionCount() const noexcept { return mtb_library_function_count(library_.Get()); }
    // The name of a function, which the library owns; NULL past the end.
    const char *FunctionName(size_t index) const noexcept { return mtb_library_function_name(library_.Get(), index); }
    explicit operator bool() const noexcept { return bool(library_); }
    mtb_library *Get() const noexcept { return library_.Get(); }

private:
    detail::LibraryHandle library_;
};

// The value of a function constant.
class Constant {
public:
    Constant(size_t index, bool value) noexcept : Constant(index, MTB_TYPE_BOOL, value) {}
    Constant(size_t index, int32_t value) noexcept : Constant(index, MTB_TYPE_INT, value) {}
    Constant(size_t index, uint32_t value) noexcept : Constant(index, MTB_TYPE_UINT, value) {}
    Constant(size_t index, float value) noexcept : Constant(index, MTB_TYPE_FLOAT, value) {}
    // `bytes` is what the type has in Metal, at most 16; they stand at `value`.
    static Constant Of(size_t index, mtb_data_type type, const void *value, size_t bytes) noexcept {
        Constant constant(index, type, '\0');
        std::memcpy(constant.value_, value, bytes < sizeof constant.value_ ? bytes : sizeof constant.value_);
        return constant;
    }

private:
    friend class Kernel;
    template <class T> Constant(size_t index, mtb_data_type type, T value) noexcept : index_(index), type_(type) {
        std::memcpy(value_, &value, sizeof value);
    }

    size_t index_;
    mtb_data_type type_;
    unsigned char value_[32] = {};
};

// A function of a library, compiled for its device.
class Kernel {
public:
    using Constants = std::initializer_list<Constant>;

    Kernel() noexcept = default;

    // Takes over a pipeline of the C ABI.
    explicit Kernel(mtb_pipeline *owned) noexcept : pipeline_(owned) {}

    // MTB_NOT_FOUND if the library has no function of that name.
    static Result<Kernel> Create(const Library &library, const char *name, Constants constants = {}) {
        detail::ConstantsHandle values;
        if (constants.size() > 0) {
            auto made = detail::Make<detail::ConstantsHandle>(mtb_constant_values_create);
            if (!made) return made.error();
            values = *std::move(made);
        }
        for (const Constant &constant : constants) {
            const auto set = detail::Check([&](mtb_error **e) {
                return mtb_constant_values_set_at(values.Get(), constant.index_, constant.type_, constant.value_, e);
            });
            if (!set) return set.error();
        }
        auto function = detail::Make<detail::FunctionHandle>(
            [&](mtb_error **e) { return mtb_function_create(library.Get(), name, values.Get(), e); });
        if (!function) return function.error();
        return detail::Make<Kernel>([&](mtb_error **e) { return mtb_pipeline_create(function->Get(), e); });
    }

    // Threads in a SIMD-group.
    size_t ThreadExecutionWidth() const noexcept { return mtb_pipeline_thread_execution_width(pipeline_.Get()); }
    size_t MaxThreadsPerThreadgroup() const noexcept {
        return mtb_pipeline_max_total_threads_per_threadgroup(pipeline_.Get());
    }
    // The function's name; NULL for an empty kernel.
    const char *Name() const noexcept { return mtb_pipeline_function_name(pipeline_.Get()); }
    explicit operator bool() const noexcept { return bool(pipeline_); }
    mtb_pipeline *Get() const noexcept { return pipeline_.Get(); }

private:
    detail::PipelineHandle pipeline_;
};

// What a dispatch executes.
class Grid {
public:
    // `threads` threads. The size of a threadgroup need not divide their number.
    static constexpr Grid Threads(mtb_size threads, mtb_size per_threadgroup) noexcept {
        return Grid(threads, per_threadgroup, mtb_compute_encoder_dispatch_threads);
    }
    static constexpr Grid Threadgroups(mtb_size threadgroups, mtb_size per_threadgroup) noexcept {
        return Grid(threadgroups, per_threadgroup, mtb_compute_encoder_dispatch_threadgroups);
    }

private:
    friend class Compute;
    using Call = decltype(&mtb_compute_encoder_dispatch_threads);
    constexpr Grid(mtb_size count, mtb_size per_threadgroup, Call call) noexcept
        : count_(count), per_threadgroup_(per_threadgroup), call_(call) {}

    mtb_size count_;
    mtb_size per_threadgroup_;
    Call call_;
};

// An argument of a dispatch. It refers to what it was made from until the dispatch is recorded.
class Argument {
public:
    // A buffer, from `offset` on.
    Argument(const MetalBuffer &buffer, size_t offset = 0) noexcept
        : buffer_(buffer.Get()), size_(offset), kind_(Kind::Buffer) {}
    // A value as the kernel declares it, of at most MTB_MAX_INLINE_BYTES.
    template <class T> static Argument Value(const T &value) noexcept {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                      "the kernel gets the bytes of the value");
        return Bytes(&value, sizeof value);
    }
    static Argument Bytes(const void *bytes, size_t size) noexcept { return Argument(Kind::Bytes, bytes, size); }
    // Threadgroup memory, a multiple of 16 bytes.
    static Argument ThreadgroupMemory(size_t bytes) noexcept { return Argument(Kind::Threadgroup, nullptr, bytes); }

private:
    friend class Compute;
    enum class Kind {
        Buffer,
        Bytes,
        Threadgroup
    };
    Argument(Kind kind, const void *bytes, size_t size) noexcept : bytes_(bytes), size_(size), kind_(kind) {}

    mtb_buffer *buffer_ = nullptr;
    const void *bytes_ = nullptr;
    size_t size_;
    Kind kind_;
};

// Recorded dispatches for one command buffer. Each dispatch sees what the dispatches before it wrote. Destroying a
// Compute discards what is not committed.
class Compute {
public:
    using Arguments = std::initializer_list<Argument>;

    Compute() noexcept = default;

    // Adds a dispatch. Buffers and values have the binding indices from 0 on, in their order, and threadgroup memory
    // has indices of its own. What earlier dispatches bound to higher indices stays bound. MTB_MISSING_ARGUMENT if
    // nothing is bound to an argument.
    Result<> Dispatch(const Kernel &kernel, const Grid &grid, Arguments arguments) {
        return detail::Check([&](mtb_error **e) {
            mtb_status status = mtb_compute_encoder_set_pipeline(encoder_.Get(), kernel.Get(), e);
            size_t index = 0, threadgroup_index = 0;
            for (const Argument &argument : arguments) {
                size_t &next = argument.kind_ == Argument::Kind::Threadgroup ? threadgroup_index : index;
                if (status == MTB_OK) status = Set(argument, next++, e);
            }
            return status == MTB_OK ? grid.call_(encoder_.Get(), grid.count_, grid.per_threadgroup_, e) : status;
        });
    }
    // Ends the recording and commits it.
    Result<Pending> Commit() {
        const detail::ComputeHandle encoder = std::move(encoder_);
        return detail::CommitCommands(std::move(commands_), [&](mtb_command_buffer *, mtb_error **e) {
            return mtb_compute_encoder_end(encoder.Get(), e);
        });
    }
    explicit operator bool() const noexcept { return bool(encoder_); }
    mtb_compute_encoder *Get() const noexcept { return encoder_.Get(); }

private:
    friend class Stream;

    mtb_status Set(const Argument &argument, size_t index, mtb_error **e) const {
        switch (argument.kind_) {
        case Argument::Kind::Bytes:
            return mtb_compute_encoder_set_bytes(encoder_.Get(), argument.bytes_, argument.size_, index, e);
        case Argument::Kind::Threadgroup:
            return mtb_compute_encoder_set_threadgroup_memory(encoder_.Get(), argument.size_, index, e);
        default: return mtb_compute_encoder_set_buffer(encoder_.Get(), argument.buffer_, argument.size_, index, e);
        }
    }

    detail::CommandBufferHandle commands_;
    detail::ComputeHandle encoder_;
};

}  // namespace metal_bridge

#endif
