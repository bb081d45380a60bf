/* Memories, transfers, arenas and residency sets. */
#include "fuzz.h"

#include <stdlib.h>

typedef struct {
    mtb_memory *handle;
    int device;
} memory_model;

typedef struct {
    mtb_transfer *handle;
    int device, memory_device;
} transfer_model;

typedef struct {
    mtb_arena *handle;
    int device;
    mtb_storage_mode mode;
} arena_model;

typedef struct {
    mtb_residency_set *handle;
    int device;
} set_model;

static struct {
    LIST(memory_model) memories;
    LIST(transfer_model) transfers;
    LIST(arena_model) arenas;
    LIST(set_model) sets;
} kept;

void make_memory(void) {
    int number;
    device_model *device = pick_device(&number);
    if (IS_FULL(kept.memories)) return;
    mtb_memory_options options = {
        .budget = any_size(), .staging_limit = any_size(), .cache_limit = any_size(), .idle_ns = any_size()};
    verdict v = {0};
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    mtb_memory *memory = MAKE(&v, mtb_memory_create, HANDLE(device), one_in(2) ? NULL : &options);
    if (memory) ADD(kept.memories, (memory_model){memory, number});
}

static void use_memory(void) {
    memory_model *memory = PICK(kept.memories);
    mtb_memory *handle = HANDLE(memory);
    mtb_memory_release(mtb_memory_retain(handle));
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(handle, &statistics);
    mtb_pair_statistics pairs[2];
    mtb_memory_get_pair_statistics(handle, pairs, one_in(2) ? 2 : 0);
    mtb_memory_reset_statistics(handle);
    mtb_string_free(mtb_memory_copy_report(handle));
    mtb_memory_trim(handle, any_size());
    int number;
    device_model *peer = pick_device(&number);
    verdict v = {0};
    refuse_if(&v, !memory || !peer || number == memory->device, MTB_INVALID_ARGUMENT);
    refuse_if(&v, memory && peer && number != memory->device && mtb_device_peer_group_id(peer->handle) == 0,
              MTB_UNSUPPORTED);
    CALL(&v, mtb_memory_set_peer_access, handle, HANDLE(peer), one_in(2));
    if (IS_FULL(all.queues)) return;
    v = (verdict){0};
    refuse_if(&v, !memory, MTB_INVALID_ARGUMENT);
    mtb_command_queue *queue = MAKE(&v, mtb_memory_acquire_queue, handle);
    if (queue)        /* Its next user gets it with what the last one has committed. */
        ADD(all.queues, (queue_model){queue, memory->device, true});
}

static void release_memory(void) {
    memory_model *memory = PICK(kept.memories);
    mtb_memory_release(HANDLE(memory));
    if (memory) REMOVE(kept.memories, memory);
}

static verdict allocation_verdict(bool has_owner, int device, size_t length) {
    verdict v = {0};
    refuse_if(&v, !has_owner || length == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, has_owner && length > all.devices[device].info.max_buffer_length, MTB_OUT_OF_RANGE);
    possibly(&v, MTB_OVER_BUDGET);
    return v;
}

static void allocate(void) {
    memory_model *memory = PICK(kept.memories);
    size_t length = any_size();
    uint32_t mode = any_enumerator(3);
    if (IS_FULL(all.buffers) ||
        (memory && length > 1 << 20 && length <= all.devices[memory->device].info.max_buffer_length))
        return;
    verdict v = allocation_verdict(memory, memory ? memory->device : 0, length);
    refuse_if(&v, mode > MTB_STORAGE_PRIVATE, MTB_INVALID_ARGUMENT);
    mtb_buffer *buffer = MAKE(&v, mtb_memory_allocate, HANDLE(memory), length, (mtb_storage_mode)mode);
    if (buffer) ADD(all.buffers, (buffer_model){buffer, memory->device, length, (mtb_storage_mode)mode});
}

static void make_arena(void) {
    memory_model *memory = PICK(kept.memories);
    uint32_t mode = any_enumerator(3);
    size_t block = below(4) << 12, limit = any_size();
    if (IS_FULL(kept.arenas)) return;
    verdict v = {0};
    refuse_if(&v, !memory || (mode != MTB_STORAGE_SHARED && mode != MTB_STORAGE_PRIVATE), MTB_INVALID_ARGUMENT);
    mtb_arena *arena = MAKE(&v, mtb_arena_create, HANDLE(memory), (mtb_storage_mode)mode, block, limit);
    if (arena) ADD(kept.arenas, (arena_model){arena, memory->device, (mtb_storage_mode)mode});
}

static void use_arena(void) {
    arena_model *arena = PICK(kept.arenas);
    mtb_arena *handle = HANDLE(arena);
    size_t length = any_size();
    mtb_arena_release(mtb_arena_retain(handle));
    mtb_pool_statistics statistics;
    mtb_arena_get_statistics(handle, &statistics);
    mtb_arena_trim(handle);
    if (IS_FULL(all.buffers) ||
        (arena && length > 1 << 20 && length <= all.devices[arena->device].info.max_buffer_length))
        return;
    verdict v = allocation_verdict(arena, arena ? arena->device : 0, length);
    mtb_buffer *buffer = MAKE(&v, mtb_arena_allocate, handle, length);
    if (buffer) ADD(all.buffers, (buffer_model){buffer, arena->device, length, arena->mode});
}

static void release_arena(void) {
    arena_model *arena = PICK(kept.arenas);
    mtb_arena_release(HANDLE(arena));
    if (arena) REMOVE(kept.arenas, arena);
}

void make_transfer(void) {
    memory_model *memory = PICK(kept.memories);
    queue_model *queue = PICK(all.queues);
    if (IS_FULL(kept.transfers) || (queue && !queue->is_calm)) return;
    verdict v = {0};
    refuse_if(&v, !memory || !queue, MTB_INVALID_ARGUMENT);
    refuse_if(&v, memory && queue && memory->device != queue->device, MTB_WRONG_DEVICE);
    mtb_transfer *transfer = MAKE(&v, mtb_transfer_create, HANDLE(memory), HANDLE(queue));
    if (transfer) ADD(kept.transfers, (transfer_model){transfer, queue->device, memory->device});
}

static mtb_place any_place(buffer_model **buffer) {
    *buffer = one_in(3) ? NULL : PICK(all.buffers);
    return (mtb_place){
        .buffer = HANDLE(*buffer),
        .offset = any_offset_in_buffer(),
        .bytes = one_in(16) ? NULL : all.host + below(1024),
        .pitch = one_in(2) ? any_size() : 64,
    };
}

/* Adds what is wrong with a place; whether the host has the memory that it names. */
static bool add_place_refusals(verdict *v, const mtb_place *place, const buffer_model *buffer, size_t width,
                               size_t height) {
    size_t extent = 0;
    bool overflows = __builtin_mul_overflow(height > 1 ? place->pitch : 0, height - 1, &extent) ||
                     __builtin_add_overflow(extent, width, &extent);
    refuse_if(v, height > 1 && place->pitch < width, MTB_INVALID_ARGUMENT);
    if (buffer) {
        refuse_if(v, overflows || place->offset > buffer->length || extent > buffer->length - place->offset,
                  MTB_OUT_OF_RANGE);
        return true;
    }
    refuse_if(v, !place->bytes, MTB_INVALID_ARGUMENT);
    refuse_if(v, overflows || extent > UINTPTR_MAX - (uintptr_t)place->bytes, MTB_OUT_OF_RANGE);
    return !overflows && place->bytes && extent <= (size_t)(all.host + HOST_BYTES - (uint8_t *)place->bytes);
}

static void add_transfer(void) {
    transfer_model *transfer = PICK(kept.transfers);
    buffer_model *from, *to;
    mtb_place source = any_place(&from), destination = any_place(&to);
    size_t width = any_offset_in_buffer(), height = one_in(4) ? any_size() : below(4);
    uint32_t host = any_enumerator(2);
    verdict v = {0};
    refuse_if(&v, !transfer || host > MTB_HOST_BORROWED, MTB_INVALID_ARGUMENT);
    bool is_there = true;
    if (width && height) {
        is_there &= add_place_refusals(&v, &source, from, width, height);
        is_there &= add_place_refusals(&v, &destination, to, width, height);
        bool is_far_from = transfer && from && from->device != transfer->device;
        bool is_far_to = transfer && to && to->device != transfer->device;
        refuse_if(&v, (is_far_from && (!to || is_far_to)) || (is_far_to && !from), MTB_WRONG_DEVICE);
        if (from == to) possibly(&v, MTB_INVALID_ARGUMENT);
    }
    possibly(&v, MTB_OVER_BUDGET);
    if (!is_valid(&v) || is_there)
        CALL(&v, mtb_transfer_copy, HANDLE(transfer), source, destination, width, height, (mtb_host_memory)host);
}

static void add_fill(void) {
    transfer_model *transfer = PICK(kept.transfers);
    buffer_model *to;
    mtb_place destination = any_place(&to);
    size_t width = any_offset_in_buffer(), height = one_in(4) ? any_size() : below(4), pattern = 1u << below(4);
    verdict v = {0};
    bool is_there = true;
    refuse_if(&v, !transfer || pattern == 8, MTB_INVALID_ARGUMENT);
    refuse_if(&v, width % pattern != 0, MTB_MISALIGNED);
    if (width && height) {
        is_there = add_place_refusals(&v, &destination, to, width, height);
        refuse_if(&v, transfer && to && to->device != transfer->device, MTB_WRONG_DEVICE);
    }
    possibly(&v, MTB_OVER_BUDGET);
    if (!is_valid(&v) || is_there)
        CALL(&v, mtb_transfer_fill, HANDLE(transfer), destination, width, height, all.host, pattern);
}

static void add_committed(mtb_command_buffer *handle, int device) {
    if (!handle) return;
    if (IS_FULL(all.commands)) {
        mtb_command_buffer_release(handle);
        return;
    }
    command_model *commands = malloc(sizeof *commands);
    *commands = (command_model){.handle = handle,
                                .device = device,
                                .is_calm = true,
                                .is_enqueued = true,
                                .is_committed = true,
                                .references = 1};
    ADD(all.commands, commands);
}

static void do_transfer(void) {
    transfer_model *transfer = PICK(kept.transfers);
    verdict v = {0};
    refuse_if(&v, !transfer, MTB_INVALID_ARGUMENT);
    possibly(&v, MTB_OVER_BUDGET);
    if (one_in(2)) {
        CALL(&v, mtb_transfer_run, HANDLE(transfer));
        return;
    }
    mtb_command_buffer *committed =
        one_in(2) ? MAKE(&v, mtb_transfer_commit, HANDLE(transfer), note_completion, new_context(), destroy_context)
                  : MAKE(&v, mtb_transfer_commit_timeout, HANDLE(transfer), MTB_SLOT_TIMEOUT, note_completion,
                         new_context(), destroy_context);
    add_committed(committed, transfer ? transfer->device : 0);
}

static void release_transfer(void) {
    transfer_model *transfer = PICK(kept.transfers);
    mtb_transfer_release(HANDLE(transfer));
    if (transfer) REMOVE(kept.transfers, transfer);
}

static void host_function(void *context) { (void)context; }

static void call_host_function(void) {
    queue_model *queue = PICK(all.queues);
    bool has_function = !one_in(8);
    if (queue && !queue->is_calm) return;
    verdict v = {0};
    refuse_if(&v, !queue || !has_function, MTB_INVALID_ARGUMENT);
    mtb_command_buffer *committed =
        MAKE(&v, mtb_command_queue_call_host_function, HANDLE(queue), has_function ? host_function : NULL,
             note_completion, new_context(), destroy_context);
    add_committed(committed, queue ? queue->device : 0);
}

static void make_set(void) {
    int number;
    device_model *device = pick_device(&number);
    if (IS_FULL(kept.sets)) return;
    verdict v = {0};
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    mtb_residency_set *set = MAKE(&v, mtb_residency_set_create, HANDLE(device));
    if (set) ADD(kept.sets, (set_model){set, number});
}

static void use_set(void) {
    set_model *set = PICK(kept.sets);
    mtb_residency_set *handle = HANDLE(set);
    buffer_model *buffer = PICK(all.buffers);
    queue_model *queue = PICK(all.queues);
    verdict given = {0};
    refuse_if(&given, !set, MTB_INVALID_ARGUMENT);
    verdict v = given;
    refuse_if(&v, !buffer, MTB_INVALID_ARGUMENT);
    verdict removal = v;
    possibly(&removal, MTB_NOT_FOUND);
    refuse_if(&v, set && buffer && set->device != buffer->device, MTB_WRONG_DEVICE);
    CALL(&v, mtb_residency_set_add_buffer, handle, HANDLE(buffer));
    CALL(&given, mtb_residency_set_commit, handle);
    if (one_in(2)) CALL(&removal, mtb_residency_set_remove_buffer, handle, HANDLE(buffer));
    if (one_in(4)) CALL(&given, mtb_residency_set_request, handle, any_size());
    if (one_in(4)) CALL(&given, mtb_residency_set_end, handle);
    v = given;
    refuse_if(&v, !queue, MTB_INVALID_ARGUMENT);
    refuse_if(&v, set && queue && set->device != queue->device, MTB_WRONG_DEVICE);
    verdict addition = v;
    possibly(&addition, MTB_OUT_OF_RANGE);
    CALL(&addition, mtb_command_queue_add_residency_set, HANDLE(queue), handle);
    if (one_in(2)) CALL(&v, mtb_command_queue_remove_residency_set, HANDLE(queue), handle);
    mtb_residency_set_allocated_size(handle);
    mtb_residency_set_release(mtb_residency_set_retain(handle));
}

static void release_set(void) {
    set_model *set = PICK(kept.sets);
    mtb_residency_set_release(HANDLE(set));
    if (set) REMOVE(kept.sets, set);
}

void end_memory(void) {
    for (int i = 0; i < kept.transfers.count; i++) mtb_transfer_release(kept.transfers.items[i].handle);
    for (int i = 0; i < kept.arenas.count; i++) mtb_arena_release(kept.arenas.items[i].handle);
    for (int i = 0; i < kept.sets.count; i++) mtb_residency_set_release(kept.sets.items[i].handle);
    for (int i = 0; i < kept.memories.count; i++) mtb_memory_release(kept.memories.items[i].handle);
    kept.transfers.count = kept.arenas.count = kept.sets.count = kept.memories.count = 0;
}

const action memory_actions[] = {
    make_memory,      make_memory,        use_memory,   release_memory, allocate,      allocate,
    make_arena,       use_arena,          use_arena,    release_arena,  make_transfer, make_transfer,
    add_transfer,     add_transfer,       add_transfer, add_fill,       do_transfer,   do_transfer,
    release_transfer, call_host_function, make_set,     use_set,        release_set,
};
const uint32_t memory_action_count = sizeof memory_actions / sizeof *memory_actions;
