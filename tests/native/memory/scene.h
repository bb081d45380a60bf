/* Places of every kind, filled with bytes that a test knows and may try to overwrite. */
#ifndef MEMORY_SCENE_H
#define MEMORY_SCENE_H

#include "support.h"

enum {
    LENGTH = 240,
    PLACES = 7
};

/* Memory of each kind, and of another device if there is one, and what should be in it. */
typedef struct {
    const char *name;
    mtb_buffer *buffer;
    uint8_t *host;
    uint8_t model[LENGTH];
} area;

typedef struct {
    mtb_memory *memory;
    mtb_command_queue *queue;
    mtb_transfer *transfer;
    mtb_device *far;
    mtb_memory *far_memory;
    mtb_command_queue *far_queue;
    /* Shared, managed and private buffers, two areas of the host and, if there is a second device, its shared and
     * private buffers. */
    area areas[PLACES];
    size_t count;
} scene;

void make_scene(scene *all);
void free_scene(scene *all);
/* Whether the area is on the second device. */
bool is_far(const scene *all, const area *where);
/* A place with any offset, inside the area or not. */
mtb_place place_of(const area *where, size_t offset, size_t pitch);
/* Runs what is recorded. Whether every area then holds what its model does. */
bool is_as_modelled(scene *all);

#endif
