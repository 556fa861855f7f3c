/* A process beside the ranks of a machine that names the one that dies.
 *
 * The launcher of MPICH kills the other ranks before they can speak, and names a process, not a rank. So a child
 * is made before MPI begins, in a session of its own that the launcher does not know, with nothing open but
 * standard error and a socket. The first rank of each machine tells it the processes of all ranks there; it waits
 * on their pidfds, says which one ended first, and ends with them. Children of the other ranks end at once. */
#include "herald.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int to_herald = -1; /* of this process: there is one herald */

#ifdef SYS_pidfd_open
extern long syscall(long number, ...);

static int read_all(int file, void *to, size_t n) {
    char *at = to;
    while (n) {
        ssize_t got = read(file, at, n);
        if (got <= 0) return 0;
        at += got;
        n -= (size_t)got;
    }
    return 1;
}

static void name_the_dead(const herald_rank *who, const char *host) {
    char line[256];
    int n = snprintf(
        line, sizeof line,
        "clausius-mpi: rank %d (process %d on %.100s) died; the job ends, --resume goes on from "
        "its last checkpoint\n",
        who->rank, who->pid, host);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
}

/* Has it ended, or begun to? A process closes its files, by which the launcher knows, before its pidfd tells. */
static int is_ending(int pid) {
    enum { EXITING = 4 }; /* PF_EXITING of the kernel, in the ninth field of stat */
    char name[64], line[512];
    unsigned flags = EXITING;
    (void)snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *file = fopen(name, "r");
    if (!file) return 1;
    const char *at = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return !at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 || flags & EXITING;
}

/* Until a rank ends, or the socket says that they may. */
static void wait_for(int file, int n, const herald_rank *who, const char *host) {
    struct pollfd *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) return;
    list[n] = (struct pollfd){.fd = file, .events = POLLIN};
    for (int k = 0; k < n; k++)
        list[k] =
            (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, who[k].pid, 0), .events = POLLIN};
    char may;
    while (poll(list, (nfds_t)n + 1, -1) < 0) continue;
    /* an end of the socket without a word: its rank died */
    if (!(list[n].revents & POLLIN) || read(file, &may, 1) != 1) {
        while (poll(list, (nfds_t)n, 1000) < 0) continue;
        for (int k = 0; k < n; k++) /* several where this process or the dead one was slower than the launcher */
            if (list[k].revents || is_ending(who[k].pid)) name_the_dead(&who[k], host);
    }
    free(list);
}

static void announce(int file) {
    char host[HERALD_HOST];
    int n;
    if (!read_all(file, host, sizeof host) || !read_all(file, &n, sizeof n) || n < 1) return;
    herald_rank *who = calloc((size_t)n, sizeof *who);
    if (who && read_all(file, who, (size_t)n * sizeof *who)) wait_for(file, n, who, host);
    free(who);
}

void herald_prepare(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return;
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return;
    }
    if (child) {
        close(ends[0]);
        to_herald = ends[1];
        return;
    }
    (void)setsid();
    (void)prctl(PR_SET_NAME, "clausius-herald"); /* for who looks for ranks by name */
    (void)signal(SIGINT, SIG_IGN);               /* it ends when its ranks do */
    (void)signal(SIGTERM, SIG_IGN);
    for (int file = 0; file < 1024; file++) /* the launcher waits for these to be closed */
        if (file != STDERR_FILENO && file != ends[0]) close(file);
    announce(ends[0]);
    _exit(0);
}

static void tell(const void *from, size_t n) {
    if (to_herald >= 0 && send(to_herald, from, n, MSG_NOSIGNAL) != (ssize_t)n) {
        close(to_herald);
        to_herald = -1;
    }
}

void herald_begin(const char *host, int n, const herald_rank *who) {
    char name[HERALD_HOST] = {0};
    (void)snprintf(name, sizeof name, "%s", host);
    if (n > 0) {
        tell(name, sizeof name);
        tell(&n, sizeof n);
        tell(who, (size_t)n * sizeof *who);
    } else if (to_herald >= 0) {
        close(to_herald);
        to_herald = -1;
    }
}

void herald_end(void) {
    tell("", 1);
}
#else
void herald_prepare(void) {
}
void herald_begin(const char *host, int n, const herald_rank *who) {
    (void)host, (void)n, (void)who;
}
void herald_end(void) {
}
#endif
