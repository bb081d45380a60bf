/* A fork server of clang. Loading its libraries takes longer than compiling a small kernel, so clang is loaded once,
 * stops before its main function, and each compilation is a fork of it. A compilation ends as it would in a process of
 * its own: nothing that it does reaches the server or another compilation.
 *
 * The library is preloaded: it wraps the function of libc that calls main. */
#define _GNU_SOURCE
#include "fork_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A server that nobody asks for so long ends, and the next request starts another one. */
enum {
    idle_seconds = 2
};

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_function *compile;

/* Ends the server with what still works for it, and leaves no process behind that somebody would have to wait for. */
static _Noreturn void end_server(void) {
    (void)signal(SIGTERM, SIG_IGN);
    (void)kill(0, SIGTERM);
    while (wait(NULL) > 0 || errno == EINTR) continue;
    _exit(0);
}

/* `count` words of the text at `*at`, which they leave behind. */
static char **split(char **at, uint32_t count) {
    char **words = calloc((size_t)count + 1, sizeof *words);
    for (uint32_t i = 0; words && i < count; ++i) {
        words[i] = *at;
        *at += strlen(*at) + 1;
    }
    return words;
}

static union {
    smtl_run_request request;
    char bytes[SMTL_RUN_MAX_REQUEST + 1]; /* the last byte stays zero */
} packet;

/* The compilation itself. */
static _Noreturn void run(const int *descriptors) {
    const smtl_run_request *request = &packet.request;
    char *text = packet.bytes + sizeof *request;
    char **arguments = split(&text, request->arguments);
    environ = split(&text, request->variables);
    if (!arguments || !environ || fchdir(descriptors[SMTL_RUN_FOLDER]) != 0) _exit(127);
    for (int i = 0; i < 3; ++i) (void)dup2(descriptors[SMTL_RUN_INPUT + i], i);
    (void)close_range(3, ~0u, 0);
    (void)sched_setaffinity(0, sizeof request->processors, &request->processors);
    (void)setpriority(PRIO_PROCESS, 0, request->nice);
    (void)setrlimit(RLIMIT_CPU, &request->processor);
    (void)setrlimit(RLIMIT_AS, &request->memory);
    (void)setrlimit(RLIMIT_FSIZE, &request->file);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    /* Clang has closed its files. What else a process does at its end frees memory, for 2 ms. */
    _exit(compile((int)request->arguments, arguments, environ));
}

/* Compilations that run. */
typedef struct job {
    struct job *next;
    pid_t process;
    int reply;
    time_t end; /* by the clock */
    uint32_t too_slow;
} job;
static job *jobs;

static time_t seconds_now(void) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Starts a compilation. Returns true in its process, which is a child of this one: a process between them takes 2 ms to
 * make and to end. */
static int begin(const int *descriptors) {
    job *made = malloc(sizeof *made);
    const pid_t process = made ? fork() : -1;
    if (process == 0) return 1;
    for (int i = 0; i < SMTL_RUN_DESCRIPTORS; ++i)
        if (i != SMTL_RUN_REPLY || process < 0) (void)close(descriptors[i]);
    if (process < 0) {
        free(made);
        return 0;
    }
    *made = (job){jobs, process, descriptors[SMTL_RUN_REPLY], seconds_now() + 1 + (time_t)packet.request.seconds, 0};
    jobs = made;
    return 0;
}

/* Replies for compilations that have ended. Returns whether a child is left: it would end with this process. */
static int collect(void) {
    struct rusage used;
    int status;
    pid_t ended;
    while ((ended = wait4(-1, &status, WNOHANG, &used)) > 0) {
        job **at = &jobs;
        while (*at && (*at)->process != ended) at = &(*at)->next;
        job *const found = *at;
        if (!found) continue;
        const smtl_run_reply reply = {status, found->too_slow,
                                      (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                                          (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000};
        (void)!write(found->reply, &reply, sizeof reply);
        (void)close(found->reply);
        *at = found->next;
        free(found);
    }
    return ended == 0;
}

/* Ends compilations whose time is over. */
static void end_late(void) {
    for (job *each = jobs; each; each = each->next) {
        if (each->too_slow || seconds_now() < each->end) continue;
        each->too_slow = 1;
        (void)kill(each->process, SIGKILL);
    }
}

/* So that the end of a child ends a wait. */
static void interrupt(int signal) { (void)signal; }

/* Serves until the host is gone or silent. */
static _Noreturn void serve(void) {
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, &before);
    (void)signal(SIGCHLD, interrupt);
    (void)signal(SIGPIPE, SIG_IGN);
    for (;;) {
        struct pollfd asked = {SMTL_FORK_SERVER_SOCKET, POLLIN, 0};
        const struct timespec wait = {jobs ? 1 : idle_seconds, 0};
        const int ready = ppoll(&asked, 1, &wait, &before);
        const int interrupted = ready < 0 && errno == EINTR;
        const int works = collect();
        end_late();
        if (interrupted) continue;
        if (ready == 0 && works) continue;
        if (ready <= 0) end_server();
        int descriptors[SMTL_RUN_DESCRIPTORS];
        union {
            char bytes[CMSG_SPACE(sizeof descriptors)];
            struct cmsghdr alignment;
        } control;
        struct iovec part = {packet.bytes, SMTL_RUN_MAX_REQUEST};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        const ssize_t size = recvmsg(SMTL_FORK_SERVER_SOCKET, &message, MSG_CMSG_CLOEXEC);
        const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (size < (ssize_t)sizeof packet.request || !header || header->cmsg_len != CMSG_LEN(sizeof descriptors))
            end_server();
        packet.bytes[size] = 0;
        memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
        (void)!write(descriptors[SMTL_RUN_REPLY], "", 1);
        if (!begin(descriptors)) continue;
        (void)signal(SIGCHLD, SIG_DFL);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        /* Whoever has asked asks another server. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(descriptors);
    }
}

static int start(int count, char **arguments, char **environment) {
    const char *wanted = getenv(SMTL_FORK_SERVER_PROGRAM);
    char program[PATH_MAX] = "";
    (void)!readlink("/proc/self/exe", program, sizeof program - 1);
    /* A script's interpreter, or what a script starts. */
    if (!wanted || strcmp(wanted, program) != 0) return compile(count, arguments, environment);
    /* The server is not a child of the host's, which may wait for any of its children. */
    const pid_t server = fork();
    if (server != 0) {
        (void)!write(SMTL_FORK_SERVER_SOCKET, &server, sizeof server);
        _exit(0);
    }
    /* A terminal's signals to the host are not for the server. Compilations that lose their process become its own. */
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)!chdir("/");
    serve();
}

int __libc_start_main(main_function *main, int count, char **arguments, void (*begin)(void), void (*end)(void),
                      void (*loader_end)(void), void *stack) {
    compile = main;
    start_function *libc = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    return libc(start, count, arguments, begin, end, loader_end, stack);
}
