/* Compute and blit encoders. */
#include "fuzz.h"

#include <stdlib.h>

/* What every call on an encoder is refused for. */
static verdict open_verdict(const encoder_model *encoder) {
    verdict v = {0};
    refuse_if(&v, !encoder, MTB_INVALID_ARGUMENT);
    refuse_if(&v, encoder && encoder->has_ended, MTB_INVALID_STATE);
    return v;
}

static encoder_model *pick_encoder(bool is_compute) {
    encoder_model **picked = PICK(all.encoders);
    for (int i = 0; picked && i < all.encoders.count; i++) {
        int index = (int)(picked - all.encoders.items + i) % all.encoders.count;
        if (all.encoders.items[index]->is_compute == is_compute) return all.encoders.items[index];
    }
    return NULL;
}

static mtb_compute_encoder *compute(const encoder_model *encoder) { return encoder ? encoder->compute : NULL; }

static mtb_blit_encoder *blit(const encoder_model *encoder) { return encoder ? encoder->blit : NULL; }

void make_encoder(void) {
    command_model **picked = PICK(all.commands);
    command_model *commands = picked ? *picked : NULL;
    bool is_compute = !one_in(3);
    uint32_t type = any_enumerator(2);
    if (IS_FULL(all.encoders)) return;
    verdict v = {0};
    refuse_if(&v, !commands || (is_compute && type > 1), MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && (commands->is_committed || commands->is_encoding), MTB_INVALID_STATE);
    encoder_model made = {.is_compute = is_compute, .commands = commands};
    if (is_compute)
        made.compute = MAKE(&v, mtb_compute_encoder_create, HANDLE(commands), (mtb_dispatch_type)type);
    else
        made.blit = MAKE(&v, mtb_blit_encoder_create, HANDLE(commands));
    if (is_compute ? !made.compute : !made.blit) return;
    commands->is_encoding = true;
    commands->references++;
    made.device = commands->device;
    encoder_model *encoder = malloc(sizeof *encoder);
    *encoder = made;
    ADD(all.encoders, encoder);
}

static void has_ended(encoder_model *encoder) {
    if (!encoder->has_ended) encoder->commands->is_encoding = false;
    encoder->has_ended = true;
}

static void end_encoder(void) {
    bool is_compute = one_in(2);
    encoder_model *encoder = pick_encoder(is_compute);
    verdict v = open_verdict(encoder);
    bool ended = is_compute ? CALL(&v, mtb_compute_encoder_end, compute(encoder))
                            : CALL(&v, mtb_blit_encoder_end, blit(encoder));
    if (ended) has_ended(encoder);
}

void drop_encoder(encoder_model *encoder) {
    if (encoder->is_compute)
        mtb_compute_encoder_release(encoder->compute);
    else
        mtb_blit_encoder_release(encoder->blit);
    drop_commands(encoder->commands);
    free(encoder);
}

static void release_encoder(void) {
    encoder_model **picked = PICK(all.encoders);
    if (!picked) {
        mtb_compute_encoder_release(NULL);
        mtb_blit_encoder_release(NULL);
        return;
    }
    has_ended(*picked);
    drop_encoder(*picked);
    REMOVE(all.encoders, picked);
}

static void use_debug_groups(void) {
    bool is_compute = one_in(2), pushes = one_in(2), is_text = !one_in(8);
    encoder_model *encoder = pick_encoder(is_compute);
    verdict v = open_verdict(encoder);
    verdict labelled = v;
    refuse_if(&labelled, !is_text, MTB_INVALID_ARGUMENT);
    const char *text = is_text ? "group" : "\xff";
    if (is_compute)
        CALL(&labelled, mtb_compute_encoder_set_label, compute(encoder), text);
    else
        CALL(&labelled, mtb_blit_encoder_set_label, blit(encoder), text);
    const char *name = is_text ? text : NULL;
    refuse_if(&v, encoder && !pushes && encoder->open_groups == 0, MTB_INVALID_STATE);
    refuse_if(&v, pushes && !name, MTB_INVALID_ARGUMENT);
    bool done;
    if (pushes)
        done = is_compute ? CALL(&v, mtb_compute_encoder_push_debug_group, compute(encoder), name)
                          : CALL(&v, mtb_blit_encoder_push_debug_group, blit(encoder), name);
    else
        done = is_compute ? CALL(&v, mtb_compute_encoder_pop_debug_group, compute(encoder))
                          : CALL(&v, mtb_blit_encoder_pop_debug_group, blit(encoder));
    if (done) encoder->open_groups += pushes ? 1 : -1;
}

static void set_pipeline(void) {
    encoder_model *encoder = pick_encoder(true);
    int number, pipeline = (int)below(PIPELINES);
    device_model *device = pick_device(&number);
    verdict v = open_verdict(encoder);
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    refuse_if(&v, encoder && device && number != encoder->device, MTB_WRONG_DEVICE);
    if (!CALL(&v, mtb_compute_encoder_set_pipeline, compute(encoder), device ? device->pipelines[pipeline] : NULL))
        return;
    encoder->has_pipeline = true;
    encoder->pipeline = pipeline;
}

static size_t any_index(void) { return one_in(16) ? any_size() : below(4); }

static void set_buffer(void) {
    encoder_model *encoder = pick_encoder(true);
    buffer_model *buffer = PICK(all.buffers);
    size_t offset = one_in(2) ? 0 : any_offset_in_buffer(), index = any_index();
    verdict v = open_verdict(encoder);
    refuse_if(&v, !buffer, MTB_INVALID_ARGUMENT);
    refuse_if(&v, index >= MTB_MAX_BINDINGS || (buffer && offset >= buffer->length), MTB_OUT_OF_RANGE);
    refuse_if(&v, encoder && buffer && buffer->device != encoder->device, MTB_WRONG_DEVICE);
    if (!CALL(&v, mtb_compute_encoder_set_buffer, compute(encoder), HANDLE(buffer), offset, index)) return;
    encoder->buffer_length[index] = buffer->length;
    encoder->offset[index] = offset;
    encoder->bound[index] = buffer->length - offset;
}

static void set_offset(void) {
    encoder_model *encoder = pick_encoder(true);
    size_t offset = any_offset_in_buffer(), index = any_index();
    verdict v = open_verdict(encoder);
    bool is_index = index < MTB_MAX_BINDINGS;
    size_t length = encoder && is_index ? encoder->buffer_length[index] : 0;
    refuse_if(&v, !is_index || (length && offset >= length), MTB_OUT_OF_RANGE);
    refuse_if(&v, is_index && length == 0, MTB_INVALID_STATE);
    if (!CALL(&v, mtb_compute_encoder_set_buffer_offset, compute(encoder), offset, index)) return;
    encoder->offset[index] = offset;
    encoder->bound[index] = length - offset;
}

static void set_bytes(void) {
    encoder_model *encoder = pick_encoder(true);
    size_t length = any_offset_in_buffer(), index = any_index();
    const void *bytes = one_in(16) ? NULL : all.host;
    verdict v = open_verdict(encoder);
    refuse_if(&v, !bytes, MTB_INVALID_ARGUMENT);
    refuse_if(&v, index >= MTB_MAX_BINDINGS || length == 0 || length > MTB_MAX_INLINE_BYTES, MTB_OUT_OF_RANGE);
    if (!CALL(&v, mtb_compute_encoder_set_bytes, compute(encoder), bytes, length, index)) return;
    encoder->buffer_length[index] = encoder->offset[index] = 0;
    encoder->bound[index] = length;
}

static void set_threadgroup_memory(void) {
    encoder_model *encoder = pick_encoder(true);
    size_t length = one_in(4) ? any_size() : 16 * below(1024), index = any_index();
    verdict v = open_verdict(encoder);
    refuse_if(&v, index >= MTB_MAX_BINDINGS, MTB_OUT_OF_RANGE);
    refuse_if(&v, encoder && length > all.devices[encoder->device].info.max_threadgroup_memory_length,
              MTB_OUT_OF_RANGE);
    refuse_if(&v, length % 16 != 0, MTB_MISALIGNED);
    if (CALL(&v, mtb_compute_encoder_set_threadgroup_memory, compute(encoder), length, index))
        encoder->threadgroup_memory[index] = length;
}

/* What fuzz.c's kernels need: a kernel, an index, and its bytes and alignment. */
static const struct {
    int pipeline;
    size_t index, bytes;
} arguments[] = {{0, 0, 4}, {0, 1, 4}, {1, 2, 16}};

static void add_binding_refusals(verdict *v, const encoder_model *encoder) {
    size_t threadgroup_memory = 0;
    for (size_t index = 0; index < MTB_MAX_BINDINGS; index++) threadgroup_memory += encoder->threadgroup_memory[index];
    refuse_if(v, threadgroup_memory > all.devices[encoder->device].info.max_threadgroup_memory_length,
              MTB_OUT_OF_RANGE);
    refuse_if(v, encoder->pipeline == 1 && encoder->threadgroup_memory[0] == 0, MTB_MISSING_ARGUMENT);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        size_t index = arguments[i].index, bytes = arguments[i].bytes;
        if (arguments[i].pipeline != encoder->pipeline) continue;
        refuse_if(v, encoder->bound[index] == 0, MTB_MISSING_ARGUMENT);
        refuse_if(v, encoder->bound[index] && encoder->bound[index] < bytes, MTB_OUT_OF_RANGE);
        refuse_if(v, encoder->offset[index] % bytes != 0, MTB_MISALIGNED);
    }
}

/* Extents that are small enough to run quickly, zero, or larger than can be. */
static mtb_size any_extents(uint32_t small) {
    mtb_size size = {below(small) + 1, below(3) + 1, 1};
    if (one_in(8)) size.width = (size_t)UINT32_MAX + 1 + below(8) * (SIZE_MAX / 8);
    if (one_in(16)) size.height = 0;
    if (one_in(16)) size.depth = SIZE_MAX;
    return size;
}

static void dispatch(void) {
    encoder_model *encoder = pick_encoder(true);
    mtb_size grid = any_extents(32), group = any_extents(64);
    verdict v = open_verdict(encoder);
    bool is_empty = grid.height == 0 || group.height == 0;
    if (encoder && !encoder->has_ended && !is_empty) {
        mtb_size most = all.devices[encoder->device].info.max_threads_per_threadgroup;
        refuse_if(&v, !encoder->has_pipeline, MTB_INVALID_STATE);
        refuse_if(&v,
                  group.width > most.width || group.depth > most.depth || grid.width > UINT32_MAX ||
                      grid.depth > UINT32_MAX,
                  MTB_OUT_OF_RANGE);
        if (encoder->has_pipeline) add_binding_refusals(&v, encoder);
    }
    if (one_in(2))
        CALL(&v, mtb_compute_encoder_dispatch_threads, compute(encoder), grid, group);
    else
        CALL(&v, mtb_compute_encoder_dispatch_threadgroups, compute(encoder), grid, group);
}

static void use_barriers(void) {
    encoder_model *encoder = pick_encoder(true);
    buffer_model *buffer = PICK(all.buffers);
    verdict v = open_verdict(encoder);
    CALL(&v, mtb_compute_encoder_memory_barrier, compute(encoder));
    verdict with_buffer = v;
    refuse_if(&with_buffer, !buffer, MTB_INVALID_ARGUMENT);
    refuse_if(&with_buffer, encoder && buffer && buffer->device != encoder->device, MTB_WRONG_DEVICE);
    v = with_buffer;
    mtb_buffer *buffers[] = {HANDLE(buffer), HANDLE(buffer)};
    size_t count = below(3);
    bool is_list = !one_in(8);
    if (count == 0 || !is_list) {
        v = open_verdict(encoder);
        refuse_if(&v, true, MTB_INVALID_ARGUMENT);
    }
    CALL(&v, mtb_compute_encoder_memory_barrier_buffers, compute(encoder), is_list ? buffers : NULL, count);
    uint32_t usage = any_enumerator(5);
    refuse_if(&with_buffer, usage < MTB_USAGE_READ || usage > MTB_USAGE_READ_WRITE, MTB_INVALID_ARGUMENT);
    CALL(&with_buffer, mtb_compute_encoder_use_buffer, compute(encoder), HANDLE(buffer), (mtb_usage)usage);
}

static void add_range_refusals(verdict *v, const encoder_model *encoder, const buffer_model *buffer, size_t offset,
                               size_t length) {
    refuse_if(v, !buffer || length == 0, MTB_INVALID_ARGUMENT);
    refuse_if(v, buffer && (offset > buffer->length || length > buffer->length - offset), MTB_OUT_OF_RANGE);
    refuse_if(v, offset % 4 != 0 || length % 4 != 0, MTB_MISALIGNED);
    refuse_if(v, encoder && buffer && buffer->device != encoder->device, MTB_WRONG_DEVICE);
}

static void copy(void) {
    encoder_model *encoder = pick_encoder(false);
    buffer_model *source = PICK(all.buffers), *destination = PICK(all.buffers);
    size_t from = any_offset_in_buffer(), to = any_offset_in_buffer(), size = any_offset_in_buffer();
    verdict v = open_verdict(encoder);
    add_range_refusals(&v, encoder, source, from, size);
    add_range_refusals(&v, encoder, destination, to, size);
    refuse_if(&v, source && source == destination && (from < to ? to - from : from - to) < size, MTB_INVALID_ARGUMENT);
    CALL(&v, mtb_blit_encoder_copy, blit(encoder), HANDLE(source), from, HANDLE(destination), to, size);
}

static void fill(void) {
    encoder_model *encoder = pick_encoder(false);
    buffer_model *buffer = PICK(all.buffers);
    size_t offset = any_offset_in_buffer(), length = any_offset_in_buffer();
    verdict v = open_verdict(encoder);
    verdict whole = v;
    add_range_refusals(&v, encoder, buffer, offset, length);
    CALL(&v, mtb_blit_encoder_fill, blit(encoder), HANDLE(buffer), offset, length, (uint8_t)below(256));
    refuse_if(&whole, !buffer || buffer->mode == MTB_STORAGE_PRIVATE, MTB_INVALID_ARGUMENT);
    refuse_if(&whole, encoder && buffer && buffer->device != encoder->device, MTB_WRONG_DEVICE);
    CALL(&whole, mtb_blit_encoder_synchronize, blit(encoder), HANDLE(buffer));
}

const action encoder_actions[] = {
    make_encoder,
    make_encoder,
    end_encoder,
    release_encoder,
    use_debug_groups,
    set_pipeline,
    set_pipeline,
    set_buffer,
    set_buffer,
    set_offset,
    set_bytes,
    set_threadgroup_memory,
    dispatch,
    dispatch,
    use_barriers,
    copy,
    copy,
    fill,
};
const uint32_t encoder_action_count = sizeof encoder_actions / sizeof *encoder_actions;
