/* The statistics as text. */
#include "memory/memory.h"

#include "core/errors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* More bytes than all lines that there can be. */
enum {
    REPORT_SIZE = 8192
};

typedef struct text {
    char *bytes;
    size_t length;
} text;

static void add(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = mtbi_vsnprintf(to->bytes + to->length, REPORT_SIZE - to->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        to->length += (size_t)length < REPORT_SIZE - to->length ? (size_t)length : REPORT_SIZE - to->length - 1;
}

static void add_transfers(text *to, const mtb_transfer_statistics *transfers) {
    add(to, "%-18s %12s %16s %12s %9s\n", "transfers", "count", "bytes", "ms", "GB/s");
    for (unsigned i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) {
        const mtb_transfer_statistics *one = &transfers[i];
        if (one->count == 0) continue;
        double rate = one->nanoseconds ? (double)one->bytes / (double)one->nanoseconds : 0;
        add(to, "%-18s %12" PRIu64 " %16" PRIu64 " %12.3f %9.2f\n", mtb_transfer_kind_name((mtb_transfer_kind)i),
            one->count, one->bytes, (double)one->nanoseconds * 1e-6, rate);
    }
}

static void add_pool(text *to, const char *name, const mtb_pool_statistics *pool) {
    add(to,
        "%-18s %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %16" PRIu64 " %16" PRIu64 " %16" PRIu64 " %8" PRIu64
        " %8" PRIu64 "\n",
        name, pool->hits, pool->misses, pool->trimmed, pool->bytes_in_use, pool->bytes_kept, pool->high_water_bytes,
        pool->objects_in_use, pool->objects_kept);
}

char *mtb_memory_copy_report(const mtb_memory *memory) {
    text report = {.bytes = malloc(REPORT_SIZE)};
    if (!report.bytes) return NULL;
    report.bytes[0] = '\0';
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    add_transfers(&report, statistics.transfers);
    add(&report, "%-18s %12" PRIu64 "\n", "command buffers", statistics.command_buffers);
    add(&report, "%-18s %12s %10s %10s %16s %16s %16s %8s %8s\n", "pools", "hits", "misses", "trimmed", "bytes in use",
        "bytes kept", "high water", "in use", "kept");
    add_pool(&report, "staging", &statistics.staging);
    add_pool(&report, "buffers", &statistics.buffers);
    add_pool(&report, "queues", &statistics.queues);
    add(&report, "%-18s %12" PRIu64 " of %" PRIu64 "\n", "bytes held", statistics.held, statistics.budget);
    add(&report, "live handles\n");
    for (unsigned i = 0; i < MTB_HANDLE_KIND_COUNT; i++) {
        uint64_t live = mtb_live_handles((mtb_handle_kind)i);
        if (live > 0) add(&report, "%-18s %12" PRIu64 "\n", mtb_handle_kind_name((mtb_handle_kind)i), live);
    }
    return report.bytes;
}
