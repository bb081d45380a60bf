#import "SMTLHostCommand.h"

#import "support/SMTLError.h"
#include <string.h>

static size_t round_up(size_t size) {
    return (size + SMTL_RECORD_ALIGNMENT - 1) & ~(size_t)(SMTL_RECORD_ALIGNMENT - 1);
}

static void require_access(const char *where, const SMTLHostAccess *access, SMTLDevice *device) {
    SMTLBuffer *buffer = SMTLCheckBuffer(where, access->buffer, device);
    SMTL_REQUIRE(access->offset <= buffer->_length && access->length <= buffer->_length - access->offset, where,
                 @"%@ of %lu bytes at offset %lu exceeds the buffer's length %lu",
                 access->writes ? @"a write" : @"a read", (unsigned long)access->length, (unsigned long)access->offset,
                 (unsigned long)buffer->_length);
}

void SMTLRecordHostCommand(SMTLCommandEncoder *encoder, const char *where, smtl_host_function run, const void *argument,
                           size_t size, const SMTLHostAccess *accesses, NSUInteger count) {
    SMTL_REQUIRE_ENCODING(encoder, where);
    uint32_t written = 0;
    for (NSUInteger i = 0; i < count; i++) {
        require_access(where, &accesses[i], encoder->_device);
        [encoder->_buffer keep:accesses[i].buffer];
        written += accesses[i].writes;
    }
    const size_t header = round_up(sizeof(smtl_record_host) + written * sizeof(smtl_host_range));
    smtl_record_host *command = smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_HOST, written, header + size);
    command->run = run;
    command->argument = memcpy((uint8_t *)command + header, argument, size);
    uint32_t next = 0;
    for (NSUInteger i = 0; i < count; i++) {
        if (accesses[i].writes) {
            command->written[next++] =
                (smtl_host_range){accesses[i].buffer->_device_bytes + accesses[i].offset, accesses[i].length};
        }
    }
}
