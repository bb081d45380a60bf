/* Loads the library at the path that it is given, uses it, unloads it while Metal's threads exist, and loads it again.
 */
#include "metal_bridge_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define GET(name) __typeof__(&mtb_##name) name = (__typeof__(&mtb_##name))dlsym(library, "mtb_" #name)

static int use(void *library) {
    GET(device_create_default);
    GET(device_release);
    GET(command_queue_create);
    GET(command_queue_release);
    GET(memory_create);
    GET(memory_release);
    GET(memory_allocate);
    GET(buffer_release);
    GET(transfer_create);
    GET(transfer_fill);
    GET(transfer_commit);
    GET(transfer_release);
    GET(command_buffer_release);
    mtb_device *device = device_create_default(NULL);
    mtb_command_queue *queue = command_queue_create(device, 0, NULL);
    mtb_memory *memory = memory_create(device, NULL, NULL);
    mtb_buffer *buffer = memory_allocate(memory, 64, MTB_STORAGE_SHARED, NULL);
    mtb_transfer *transfer = transfer_create(memory, queue, NULL);
    mtb_place place = {buffer, 0, NULL, 0};
    transfer_fill(transfer, place, 64, 1, "x", 1, NULL);
    mtb_command_buffer *committed = transfer_commit(transfer, NULL, NULL, NULL, NULL);
    int is_bad = committed == NULL;
    command_buffer_release(committed);
    transfer_release(transfer);
    buffer_release(buffer);
    memory_release(memory);
    command_queue_release(queue);
    device_release(device);
    return is_bad;
}

int main(int count, char **arguments) {
    for (int round = 0; round < 3; round++) {
        void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
        if (!library) {
            printf("%s\n", dlerror());
            return 1;
        }
        if (use(library) || dlclose(library)) return 1;
        /* What the threads do next, they do in code that is still there. */
        usleep(200000);
    }
    return 0;
}
