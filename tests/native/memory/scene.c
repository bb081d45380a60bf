#include "scene.h"

#include <stdlib.h>

bool is_far(const scene *all, const area *where) {
    return where->buffer && mtb_buffer_device_id(where->buffer) != mtb_buffer_device_id(all->areas[0].buffer);
}

static void read_area(scene *all, const area *where, uint8_t *found) {
    if (!where->buffer)
        memcpy(found, where->host, LENGTH);
    else if (is_far(all, where))
        copy(all->far_memory, all->far_queue, in_buffer(where->buffer, 0), in_host(found), LENGTH);
    else
        copy(all->memory, all->queue, in_buffer(where->buffer, 0), in_host(found), LENGTH);
}

static void add_area(scene *all, const char *name, mtb_device *device, mtb_storage_mode mode) {
    area *where = &all->areas[all->count++];
    where->name = name;
    for (size_t i = 0; i < LENGTH; i++) where->model[i] = (uint8_t)(all->count * 31 + i);
    if (!device) {
        where->host = malloc(LENGTH);
        memcpy(where->host, where->model, LENGTH);
        return;
    }
    MAKE(where->buffer, mtb_buffer_create(device, LENGTH, mode, &error));
    bool is_near = device == shared.device;
    copy(is_near ? all->memory : all->far_memory, is_near ? all->queue : all->far_queue, in_host(where->model),
         in_buffer(where->buffer, 0), LENGTH);
}

void make_scene(scene *all) {
    *all = (scene){.memory = make_memory()};
    MAKE(all->queue, mtb_command_queue_create(shared.device, 0, &error));
    all->transfer = make_transfer(all->memory, all->queue);
    if (mtb_device_count() > 1) {
        MAKE(all->far, mtb_device_create_at(1, &error));
        MAKE(all->far_memory, mtb_memory_create(all->far, NULL, &error));
        MAKE(all->far_queue, mtb_command_queue_create(all->far, 0, &error));
    }
    add_area(all, "shared", shared.device, MTB_STORAGE_SHARED);
    add_area(all, "managed", shared.device, MTB_STORAGE_MANAGED);
    add_area(all, "private", shared.device, MTB_STORAGE_PRIVATE);
    add_area(all, "host", NULL, MTB_STORAGE_SHARED);
    add_area(all, "other host", NULL, MTB_STORAGE_SHARED);
    if (all->far) {
        add_area(all, "foreign shared", all->far, MTB_STORAGE_SHARED);
        add_area(all, "foreign private", all->far, MTB_STORAGE_PRIVATE);
    }
}

bool is_as_modelled(scene *all) {
    uint8_t found[LENGTH];
    bool is_equal = true;
    CHECK_OK(mtb_transfer_run(all->transfer, &error));
    for (size_t i = 0; i < all->count; i++) {
        read_area(all, &all->areas[i], found);
        is_equal = is_equal && memcmp(found, all->areas[i].model, LENGTH) == 0;
    }
    return is_equal;
}

void free_scene(scene *all) {
    for (size_t i = 0; i < all->count; i++) {
        mtb_buffer_release(all->areas[i].buffer);
        free(all->areas[i].host);
    }
    mtb_transfer_release(all->transfer);
    mtb_command_queue_release(all->queue);
    mtb_command_queue_release(all->far_queue);
    mtb_memory_release(all->memory);
    mtb_memory_release(all->far_memory);
    mtb_device_release(all->far);
}

mtb_place place_of(const area *where, size_t offset, size_t pitch) {
    void *bytes = where->host ? (void *)((uintptr_t)where->host + offset) : NULL;
    return (mtb_place){where->buffer, where->buffer ? offset : 0, bytes, pitch};
}
