// Batches of metal_bridge.hpp: transfers of every form, many to a command buffer.
#ifndef METAL_BRIDGE_BATCH_HPP
#define METAL_BRIDGE_BATCH_HPP

#include "metal_bridge_buffer.hpp"

namespace metal_bridge {

namespace detail {
using TransferHandle = Handle<mtb_transfer, mtb_transfer_release>;
} // namespace detail

// How long the host memory that a transfer reads stays as it is.
enum class HostMemory {
    // For the call: it is copied.
    Copied = MTB_HOST_COPIED,
    // Until the transfer has completed, which the caller sees to: large copies then need no staging.
    Borrowed = MTB_HOST_BORROWED,
};

// Rows in a buffer: `height` of `width` bytes, the first at `offset`, one every `pitch` bytes.
struct Rectangle {
    size_t offset;
    size_t pitch;
    size_t width;
    size_t height;
};

// Called when a batch has ended, with its error if the GPU failed.
using Completion = std::function<void(const Error &)>;

// Transfers on record for one command buffer, in the order in which they are added. A call that fails adds nothing.
//
// One of the two buffers of a copy may be of another device than the batch's stream: its own device's work is ordered
// by an Event, as always.
class Batch {
public:
    Batch() noexcept = default;

    // Adds a copy from host memory, which stays as it is for as long as `host` says.
    bool CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes, HostMemory host,
                      Error &error) {
        return CopyFromHost2D(buffer, Row(offset, bytes), source, 0, host, error);
    }
    // Adds a copy to host memory, which stays there, for nobody else, until the batch has completed.
    bool CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes, Error &error) {
        return CopyToHost2D(buffer, Row(offset, bytes), destination, 0, error);
    }
    // Adds a copy between buffers, which must not overlap.
    bool CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                    size_t source_offset, size_t bytes, Error &error) {
        return CopyBuffer2D(destination, Row(destination_offset, bytes), source, source_offset, 0, error);
    }
    // Adds a fill with a byte.
    bool FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value, Error &error) {
        return FillPattern(buffer, Row(offset, bytes), &value, 1, error);
    }

    // The same with rows: in host memory they begin `pitch` bytes apart.
    bool CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                        HostMemory host, Error &error) {
        return IsGiven(buffer, "Batch::CopyFromHost", error) &&
               Copy(Host(source, pitch), In(buffer, rows.offset, rows.pitch), rows, host, error);
    }
    bool CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination, size_t pitch, Error &error) {
        return IsGiven(buffer, "Batch::CopyToHost", error) &&
               Copy(In(buffer, rows.offset, rows.pitch), Host(destination, pitch), rows, HostMemory::Borrowed, error);
    }
    // From the rows of `source` that begin at `source_offset`, `source_pitch` bytes apart.
    bool CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                      size_t source_offset, size_t source_pitch, Error &error) {
        return IsGiven(source, "Batch::CopyBuffer", error) && IsGiven(destination, "Batch::CopyBuffer", error) &&
               Copy(In(source, source_offset, source_pitch), In(destination, rows.offset, rows.pitch), rows,
                    HostMemory::Copied, error);
    }
    // With `pattern_size` bytes (1, 2 or 4) over and over: the width of a row is a multiple of them.
    bool FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern, size_t pattern_size,
                     Error &error) {
        return IsGiven(buffer, "Batch::FillBuffer", error) && detail::Check(error, [&](mtb_error **e) {
                   return mtb_transfer_fill(transfer_.Get(), In(buffer, rows.offset, rows.pitch), rows.width,
                                            rows.height, pattern, pattern_size, e);
               });
    }

    // Commits what was added, and empties the batch.
    Pending Commit(Error &error) {
        return Pending(detail::Make<detail::CommandBufferHandle>(
            error, [&](mtb_error **e) { return mtb_transfer_commit(transfer_.Get(), nullptr, nullptr, nullptr, e); }));
    }
    // The same, and has `completion` called when the bytes are where they belong, before any wait returns.
    Pending Commit(Completion completion, Error &error) {
        using Callback = detail::Callback<Completion>;
        return Pending(Callback::Give(std::move(completion), "Batch::Commit", error, [&](void *context) {
            return detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
                return mtb_transfer_commit(transfer_.Get(), Complete, context, Callback::Free, e);
            });
        }));
    }
    // The same without a callback, which waits for room in the queue no longer than `time`: then the error is
    // MTB_TIMEOUT, and nothing was committed.
    Pending CommitFor(std::chrono::nanoseconds time, Error &error) {
        return Pending(detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
            const uint64_t timeout = detail::Nanoseconds(time);
            return mtb_transfer_commit_timeout(transfer_.Get(), timeout, nullptr, nullptr, nullptr, e);
        }));
    }
    // Commits and waits. Where the CPU sees source and destination, this thread copies.
    bool Run(Error &error) {
        return detail::Check(error, [&](mtb_error **e) { return mtb_transfer_run(transfer_.Get(), e); });
    }
    explicit operator bool() const noexcept { return bool(transfer_); }

#if METAL_BRIDGE_EXCEPTIONS
    void CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                      HostMemory host = HostMemory::Copied) {
        detail::OrThrow([&](Error &error) { return CopyFromHost(buffer, offset, source, bytes, host, error); });
    }
    void CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes) {
        detail::OrThrow([&](Error &error) { return CopyToHost(buffer, offset, destination, bytes, error); });
    }
    void CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                    size_t source_offset, size_t bytes) {
        detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    void FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value) {
        detail::OrThrow([&](Error &error) { return FillBuffer(buffer, offset, bytes, value, error); });
    }
    void CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                        HostMemory host = HostMemory::Copied) {
        detail::OrThrow([&](Error &error) { return CopyFromHost2D(buffer, rows, source, pitch, host, error); });
    }
    void CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination, size_t pitch) {
        detail::OrThrow([&](Error &error) { return CopyToHost2D(buffer, rows, destination, pitch, error); });
    }
    void CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                      size_t source_offset, size_t source_pitch) {
        detail::OrThrow(
            [&](Error &error) { return CopyBuffer2D(destination, rows, source, source_offset, source_pitch, error); });
    }
    void FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern, size_t pattern_size) {
        detail::OrThrow([&](Error &error) { return FillPattern(buffer, rows, pattern, pattern_size, error); });
    }
    Pending Commit() {
        return detail::OrThrow([&](Error &error) { return Commit(error); });
    }
    Pending Commit(Completion completion) {
        return detail::OrThrow([&](Error &error) { return Commit(std::move(completion), error); });
    }
    Pending CommitFor(std::chrono::nanoseconds time) {
        return detail::OrThrow([&](Error &error) { return CommitFor(time, error); });
    }
    void Run() {
        detail::OrThrow([&](Error &error) { return Run(error); });
    }
#endif

private:
    friend class MetalBuffer;
    friend class MetalMemoryUtils;
    friend class Stream;

    static Batch Begin(mtb_memory *memory, mtb_queue *queue, Error &error) {
        Batch batch;
        batch.transfer_ = detail::Make<detail::TransferHandle>(
            error, [&](mtb_error **e) { return mtb_transfer_create(memory, queue, e); });
        return batch;
    }
    static Rectangle Row(size_t offset, size_t bytes) noexcept { return {offset, 0, bytes, 1}; }
    // An empty buffer would pass for host memory, which may be nowhere where there is nothing to copy.
    static bool IsGiven(const MetalBuffer &buffer, const char *name, Error &error) {
        if (!buffer) error = Error::Of(MTB_INVALID_ARGUMENT, name, "the buffer is empty");
        return bool(buffer);
    }
    static mtb_place In(const MetalBuffer &buffer, size_t offset, size_t pitch) noexcept {
        return {buffer.buffer_.Get(), offset, nullptr, pitch};
    }
    static mtb_place Host(const void *bytes, size_t pitch) noexcept {
        return {nullptr, 0, const_cast<void *>(bytes), pitch};
    }
    bool Copy(mtb_place source, mtb_place destination, const Rectangle &rows, HostMemory host, Error &error) {
        return detail::Check(error, [&](mtb_error **e) {
            return mtb_transfer_copy(transfer_.Get(), source, destination, rows.width, rows.height,
                                     mtb_host_memory(host), e);
        });
    }
    static void Complete(const mtb_completion *completion, void *context) noexcept {
        detail::Callback<Completion>::Call(
            context, [&](const Completion &function) { function(Error::CopyOf(completion->error)); });
    }

    detail::TransferHandle transfer_;
};

inline bool MetalBuffer::CopyFromHost(const void *source, size_t bytes, size_t offset, Error &error) {
    Batch batch = Batch::Begin(memory_.Get(), queue_.Get(), error);
    return batch && batch.CopyFromHost(*this, offset, source, bytes, HostMemory::Borrowed, error) && batch.Run(error);
}

inline bool MetalBuffer::CopyToHost(void *destination, size_t bytes, size_t offset, Error &error) const {
    Batch batch = Batch::Begin(memory_.Get(), queue_.Get(), error);
    return batch && batch.CopyToHost(*this, offset, destination, bytes, error) && batch.Run(error);
}

} // namespace metal_bridge

#endif
