#include "SMTLCommandStream.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)32 << 10)
#define MAX_SPARE_CHUNKS 32

void smtl_chunk_pool_init(smtl_chunk_pool *pool) {
    pthread_mutex_init(&pool->mutex, NULL);
    pool->spare = NULL;
    pool->spare_count = 0;
}

void smtl_chunk_pool_destroy(smtl_chunk_pool *pool) {
    while (pool->spare != NULL) {
        smtl_chunk *next = pool->spare->next;
        free(pool->spare);
        pool->spare = next;
    }
    pthread_mutex_destroy(&pool->mutex);
}

static smtl_chunk *take_chunk(smtl_chunk_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    smtl_chunk *chunk = pool->spare;
    if (chunk != NULL) {
        pool->spare = chunk->next;
        pool->spare_count--;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (chunk == NULL) {
        void *memory = NULL;
        if (posix_memalign(&memory, SMTL_RECORD_ALIGNMENT, sizeof *chunk + CHUNK_BYTES) != 0)
            [NSException raise:NSMallocException format:@"no memory for the commands of a command buffer"];
        chunk = memory;
    }
    chunk->next = NULL;
    chunk->used = 0;
    return chunk;
}

void *smtl_stream_append(smtl_stream *stream, smtl_op op, uint32_t index, size_t size) {
    size = (size + SMTL_RECORD_ALIGNMENT - 1) / SMTL_RECORD_ALIGNMENT * SMTL_RECORD_ALIGNMENT;
    smtl_chunk *chunk = stream->last;
    if (__builtin_expect(chunk == NULL || chunk->used + size > CHUNK_BYTES, 0)) {
        chunk = take_chunk(stream->pool);
        if (stream->last == NULL)
            stream->first = chunk;
        else
            stream->last->next = chunk;
        stream->last = chunk;
    }
    smtl_record *record = (smtl_record *)(chunk->bytes + chunk->used);
    chunk->used += size;
    record->op = (uint16_t)op;
    record->index = (uint16_t)index;
    record->size = (uint32_t)size;
    return record;
}

void smtl_stream_clear(smtl_stream *stream) {
    smtl_chunk *chunk = stream->first;
    stream->first = NULL;
    stream->last = NULL;
    if (chunk == NULL) return;
    pthread_mutex_lock(&stream->pool->mutex);
    while (chunk != NULL && stream->pool->spare_count < MAX_SPARE_CHUNKS) {
        smtl_chunk *next = chunk->next;
        chunk->next = stream->pool->spare;
        stream->pool->spare = chunk;
        stream->pool->spare_count++;
        chunk = next;
    }
    pthread_mutex_unlock(&stream->pool->mutex);
    while (chunk != NULL) {
        smtl_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}
