/* What accesses leave behind in the state of memory: who touched it last, and which bytes have been written. */
#ifndef SMTL_SANITIZER_CELLS_H
#define SMTL_SANITIZER_CELLS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace smtl::sanitize {

/* Pages that are zero until they are written to, and take no memory until then. */
class lazy_pages {
public:
    lazy_pages() = default;
    ~lazy_pages() { release(); }
    lazy_pages(const lazy_pages &) = delete;
    lazy_pages &operator=(const lazy_pages &) = delete;

    /* False if there is no address space. */
    bool reserve(size_t bytes);
    void release();
    /* All zero again. */
    void clear();
    /* These bytes are zero again. */
    void clear(size_t begin, size_t end);
    template <class T> T *as() const { return static_cast<T *>(memory_); }

private:
    void *memory_ = nullptr;
    size_t size_ = 0;
};

/* One access, as the next one to the same location sees it. */
struct access {
    uint32_t run = 0;    /* the threadgroup, counted over all launches from 1; 0: no access */
    uint32_t pc = 0;     /* in the code of that launch's kernel */
    uint32_t clock = 0;  /* of the threadgroup: grows with each of its barriers */
    uint16_t thread = 0; /* in its threadgroup; for all lanes of a simdgroup, its number with `whole_simdgroup` */
    uint8_t touch = 0;   /* bits of smtl_touch */
};

constexpr uint16_t whole_simdgroup = 0x8000;

/* The last accesses to four bytes, or to one byte if bytes are touched one by one. It has two reads: a write that comes
 * after one of them may still be in no order with the other. */
struct cell {
    access write;
    access reads[2];
};

/* The cells of one piece of memory, or of all parts of a shared one. */
class cell_store {
public:
    static constexpr size_t granule = 4;

    /* Calls `visit(cell &)` for the cells of the bytes. */
    template <class Visit> void visit(size_t length, size_t offset, size_t size, Visit visit) {
        if (!pages_.as<cell>() && !pages_.reserve((length / granule + 1) * sizeof(cell))) return;
        cell *const cells = pages_.as<cell>();
        const size_t end = offset + size;
        while (offset < end) {
            cell &whole = cells[offset / granule];
            const size_t next = (offset / granule + 1) * granule;
            if (offset % granule == 0 && next <= end && !is_split(whole)) {
                visit(whole);
            } else {
                cell *const bytes = split(whole);
                for (size_t byte = offset; byte < next && byte < end; ++byte) visit(bytes[byte % granule]);
            }
            offset = next;
        }
    }
    void release() {
        pages_.release();
        split_.clear();
        unused_.clear();
    }
    /* Forgets the accesses to these bytes. */
    void forget(size_t offset, size_t size) {
        const size_t first = offset / granule, end = (offset + size + granule - 1) / granule;
        for (size_t i = 0; i < split_.size(); ++i) {
            if (!split_[i].bytes || split_[i].index < first || split_[i].index >= end) continue;
            split_[i].bytes.reset();
            unused_.push_back(uint32_t(i));
        }
        pages_.clear(first * sizeof(cell), end * sizeof(cell));
    }

private:
    static constexpr uint32_t split_mark = UINT32_MAX;

    /* What is known of each byte of a cell. */
    struct split_cell {
        size_t index;
        std::unique_ptr<cell[]> bytes;
    };

    static bool is_split(const cell &whole) { return whole.write.run == split_mark; }
    cell *split(cell &whole) {
        if (!is_split(whole)) {
            auto bytes = std::make_unique<cell[]>(granule);
            for (size_t i = 0; i < granule; ++i) bytes[i] = whole;
            if (unused_.empty()) {
                unused_.push_back(uint32_t(split_.size()));
                split_.emplace_back();
            }
            whole.write.run = split_mark;
            whole.write.clock = unused_.back();
            unused_.pop_back();
            split_[whole.write.clock] = {size_t(&whole - pages_.as<cell>()), std::move(bytes)};
        }
        return split_[whole.write.clock].bytes.get();
    }

    lazy_pages pages_;
    std::vector<split_cell> split_;
    std::vector<uint32_t> unused_; /* of `split_` */
};

/* Which bytes of a piece of memory kernels have written, and what fresh memory looks like: a pattern that depends on
 * the location. Bytes that no kernel has written but that differ from the pattern were written by the CPU, whose writes
 * cannot be watched. */
class written_bytes {
public:
    /* `first`: where in the pattern the memory begins. */
    written_bytes(uint64_t key, size_t first) : key_(key), first_(first) {}

    bool reserve(size_t length) {
        const size_t size = length / 8 + 2 * sizeof(uint64_t);
        return bits_.reserve(size) && doubts_.reserve(size);
    }
    void mark(size_t offset, size_t size) { set(bits_, offset, size, true); }
    /* Notes that a kernel has read what may be fresh. */
    void doubt(size_t offset) { set(doubts_, offset, 1, true); }
    bool is_doubtful(size_t offset) const { return get(doubts_, offset, 1) != 0; }
    /* Notes that nobody has written the bytes. If `memory` is given, the bytes themselves get the pattern. */
    void forget(unsigned char *memory, size_t offset, size_t size);
    /* The bytes, at most 64, that no kernel has written: a bit for each. */
    uint64_t unmarked(size_t offset, size_t size) const;
    /* Whether the byte still is as fresh memory is. */
    bool is_fresh(const unsigned char *memory, size_t offset) const { return memory[offset] == pattern(offset); }
    void clear() {
        bits_.clear();
        doubts_.clear();
    }
    uint64_t key() const { return key_; }

private:
    static void set(lazy_pages &bits, size_t offset, size_t size, bool value);
    /* At most 64 bits. */
    static uint64_t get(const lazy_pages &bits, size_t offset, size_t size);
    unsigned char pattern(size_t offset) const;

    uint64_t key_;
    size_t first_;
    lazy_pages bits_, doubts_;
};

}  // namespace smtl::sanitize

#endif
