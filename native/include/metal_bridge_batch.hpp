// Batches of metal_bridge.hpp: transfers of every form, many to a command buffer.
#ifndef METAL_BRIDGE_BATCH_HPP
#define METAL_BRIDGE_BATCH_HPP

#include "metal_bridge_buffer.hpp"

namespace metal_bridge {

// How long the host memory that a transfer reads stays as it is.
enum class HostMemory {
    // For the call, which copies it.
    Copied = MTB_HOST_COPIED,
    // Until the transfer has completed; the caller sees to that. Large copies then need no staging.
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

// Recorded transfers for one command buffer, in the order in which they are added. A call that fails adds nothing.
//
// One of the two buffers of a copy may be of another device than the batch's stream: an Event orders the other device's
// work, as always.
class Batch {
public:
    Batch() noexcept = default;

    // Adds a copy from host memory, which stays as it is for as long as `host` says.
    Result<> CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                          HostMemory host = HostMemory::Copied) {
        return CopyFromHost2D(buffer, Row(offset, bytes), source, 0, host);
    }
    // Adds a copy to host memory. The memory must stay valid, and nobody else may use it, until the batch has
    // completed.
    Result<> CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes) {
        return CopyToHost2D(buffer, Row(offset, bytes), destination, 0);
    }
    // Adds a copy between buffers, which must not overlap.
    Result<> CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                        size_t source_offset, size_t bytes) {
        return CopyBuffer2D(destination, Row(destination_offset, bytes), source, source_offset, 0);
    }
    // Adds a fill with a byte.
    Result<> FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value) {
        return FillPattern(buffer, Row(offset, bytes), &value, 1);
    }

    // The same with rows, which begin `pitch` bytes apart in host memory.
    Result<> CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                            HostMemory host = HostMemory::Copied) {
        if (!buffer) return Empty("Batch::CopyFromHost");
        return Copy(Host(source, pitch), In(buffer, rows.offset, rows.pitch), rows, host);
    }
    Result<> CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination, size_t pitch) {
        if (!buffer) return Empty("Batch::CopyToHost");
        return Copy(In(buffer, rows.offset, rows.pitch), Host(destination, pitch), rows, HostMemory::Borrowed);
    }
    // From the rows of `source` that begin at `source_offset`, `source_pitch` bytes apart.
    Result<> CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                          size_t source_offset, size_t source_pitch) {
        if (!source || !destination) return Empty("Batch::CopyBuffer");
        return Copy(In(source, source_offset, source_pitch), In(destination, rows.offset, rows.pitch), rows,
                    HostMemory::Copied);
    }
    // Adds a fill with a pattern of `pattern_size` bytes (1, 2 or 4). The width of a row must be a multiple of it.
    Result<> FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern, size_t pattern_size) {
        if (!buffer) return Empty("Batch::FillBuffer");
        return detail::Check([&](mtb_error **e) {
            return mtb_transfer_fill(transfer_.Get(), In(buffer, rows.offset, rows.pitch), rows.width, rows.height,
                                     pattern, pattern_size, e);
        });
    }

    // Commits what was added, and empties the batch.
    Result<Pending> Commit() {
        return detail::Make<Pending>(
            [&](mtb_error **e) { return mtb_transfer_commit(transfer_.Get(), nullptr, nullptr, nullptr, e); });
    }
    // The same, and calls `completion` when the bytes have arrived, before any wait returns. An empty function is
    // MTB_INVALID_ARGUMENT: nothing was committed, and the batch keeps what was added.
    Result<Pending> Commit(Completion completion) {
        using Callback = detail::Callback<Completion>;
        return Callback::Give(std::move(completion), "Batch::Commit", [&](void *context) {
            return detail::Make<Pending>([&](mtb_error **e) {
                return mtb_transfer_commit(transfer_.Get(), Complete, context, Callback::Free, e);
            });
        });
    }
    // The same without a callback, but waits for a slot in the queue no longer than `time`: after that the error is
    // MTB_TIMEOUT, and nothing was committed.
    Result<Pending> CommitFor(std::chrono::nanoseconds time) {
        return detail::Make<Pending>([&](mtb_error **e) {
            const uint64_t timeout = detail::Nanoseconds(time);
            return mtb_transfer_commit_timeout(transfer_.Get(), timeout, nullptr, nullptr, nullptr, e);
        });
    }
    // Commits and waits. If the CPU sees source and destination, this thread copies.
    Result<> Run() {
        return detail::Check([&](mtb_error **e) { return mtb_transfer_run(transfer_.Get(), e); });
    }
    explicit operator bool() const noexcept { return bool(transfer_); }

private:
    friend class MetalMemoryUtils;
    friend class Stream;

    explicit Batch(mtb_transfer *owned) noexcept : transfer_(owned) {}
    static Result<Batch> Begin(const detail::MemoryHandle &memory, const detail::QueueHandle &queue) {
        mtb_error *raw = nullptr;
        mtb_transfer *made = mtb_transfer_create(memory.Get(), queue.Get(), &raw);
        if (!made) return Error::Take(raw);
        return Batch(made);
    }
    // Runs a batch of what `add` adds.
    template <class Add>
    static Result<> Run(const detail::MemoryHandle &memory, const detail::QueueHandle &queue, Add add) {
        auto batch = Begin(memory, queue);
        if (!batch) return batch.error();
        if (Result<> added = add(*batch); !added) return added;
        return batch->Run();
    }
    static Rectangle Row(size_t offset, size_t bytes) noexcept { return {offset, 0, bytes, 1}; }
    // An empty buffer would pass for host memory, which may be NULL if there is nothing to copy.
    static Error Empty(const char *name) { return Error::Of(MTB_INVALID_ARGUMENT, name, "the buffer is empty"); }
    static mtb_place In(const MetalBuffer &buffer, size_t offset, size_t pitch) noexcept {
        return {buffer.buffer_.Get(), offset, nullptr, pitch};
    }
    static mtb_place Host(const void *bytes, size_t pitch) noexcept {
        return {nullptr, 0, const_cast<void *>(bytes), pitch};
    }
    Result<> Copy(mtb_place source, mtb_place destination, const Rectangle &rows, HostMemory host) {
        return detail::Check([&](mtb_error **e) {
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

}  // namespace metal_bridge

#endif
