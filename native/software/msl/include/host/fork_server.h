/* What the process that compiles asks of the compiler's fork server (fork_server.c), and what it hears. */
#ifndef SMTL_FORK_SERVER_H
#define SMTL_FORK_SERVER_H

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>

/* The server has its socket, of packets, under this number. Its first packet is a pid_t: the server's. */
#define SMTL_FORK_SERVER_SOCKET 3
/* The environment names the program that is to be a server, with no link in its path. */
#define SMTL_FORK_SERVER_PROGRAM "SMTL_FORK_SERVER_PROGRAM"

/* The descriptors that come with a request, in this order. */
enum {
    SMTL_RUN_INPUT,
    SMTL_RUN_OUTPUT,
    SMTL_RUN_ERRORS,
    SMTL_RUN_FOLDER, /* to work in */
    SMTL_RUN_REPLY, /* a pipe for a byte when the request has come, and for the reply */
    SMTL_RUN_DESCRIPTORS
};

/* Behind it in the same packet: the arguments, then the environment, each word with its terminator. */
typedef struct {
    uint32_t arguments, variables; /* counts of words */
    uint64_t seconds; /* of the clock */
    struct rlimit processor, memory, file;
    cpu_set_t processors; /* that the thread which asks may run on */
    int32_t nice; /* of that thread */
} smtl_run_request;

/* Larger requests are for no server. */
enum {
    SMTL_RUN_MAX_REQUEST = 160 << 10
};

typedef struct {
    int32_t status; /* as wait4 gives it */
    uint32_t too_slow;
    uint64_t processor_milliseconds;
} smtl_run_reply;

#endif
