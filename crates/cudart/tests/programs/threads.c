/* Threads with a default stream each (this file is compiled so that the stream 0 is the thread's own), which hand what
 * they have computed to a host function and from there back to the thread. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "check.h"

#include <cuda_runtime.h>
#include <pthread.h>
#include <string.h>

enum {
    THREADS = 8,
    ROUNDS = 40,
    LENGTH = 8192
};

typedef struct work {
    unsigned char *pinned;
    unsigned char *device;
    int calls;
} work;

static void increment(void *data) {
    work *mine = data;
    for (int i = 0; i < LENGTH; i++) mine->pinned[i]++;
    mine->calls++;
}

static void *run(void *argument) {
    int number = *(int *)argument;
    work mine = {0};
    OK(cudaMallocHost((void **)&mine.pinned, LENGTH));
    OK(cudaMalloc((void **)&mine.device, LENGTH));
    memset(mine.pinned, number, LENGTH);
    for (int round = 0; round < ROUNDS; round++) {
        OK(cudaMemcpyAsync(mine.device, mine.pinned, LENGTH, cudaMemcpyHostToDevice, 0));
        OK(cudaMemsetAsync(mine.pinned, 0, LENGTH, 0));
        OK(cudaMemcpyAsync(mine.pinned, mine.device, LENGTH, cudaMemcpyDeviceToHost, 0));
        OK(cudaLaunchHostFunc(0, increment, &mine));
        if (round % 8 == 7) OK(cudaStreamSynchronize(0));
    }
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(mine.calls == ROUNDS);
    unsigned char result[LENGTH];
    OK(cudaMemcpy(result, mine.pinned, LENGTH, cudaMemcpyDefault));
    for (int i = 0; i < LENGTH; i++) CHECK(result[i] == (unsigned char)(number + ROUNDS));
    /* An error is the thread's own. */
    if (number % 2) CHECK(cudaMemcpy(mine.device, result, LENGTH + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == (number % 2 ? cudaErrorInvalidValue : cudaSuccess));
    OK(cudaFree(mine.device));
    OK(cudaFreeHost(mine.pinned));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    OK(cudaDeviceSynchronize());
    return EXIT_SUCCESS;
}
