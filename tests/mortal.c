/* Ends a process, as signal 9 does, at its k-th change of a file under one folder.
 *
 * Loaded before other libraries (LD_PRELOAD), so that it sees what SQLite, torch and safetensors
 * write as well as what Python does. A change is a call of write, pwrite, writev, ftruncate, rename,
 * unlink, mkdir or rmdir, or an open that creates or empties a file; write and pwrite have a second
 * boundary in their middle. Python arms it with mortal_arm and reads mortal_count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static long last, count;

void mortal_arm(const char *folder, long at) {
    snprintf(root, sizeof root, "%s/", folder);
    last = at;
    count = 0;
}

long mortal_count(void) { return count; }

static int is_under(const char *path) {
    return root[0] && path && strncmp(path, root, strlen(root)) == 0;
}

static int is_ours(int fd) {
    char link[64], path[PATH_MAX];
    if (!root[0] || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_under(path);
}

/* Whether this is where the process ends. */
static int is_last(void) { return __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == last; }

static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    if (is_ours(fd)) {
        if (is_last()) end();
        if (is_last()) { REAL(write)(fd, data, size / 2); end(); }
    }
    return REAL(write)(fd, data, size);
}

#define PWRITE(name, offset_type)                                            \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
        if (is_ours(fd)) {                                                   \
            if (is_last()) end();                                            \
            if (is_last()) { REAL(name)(fd, data, size / 2, offset); end(); } \
        }                                                                    \
        return REAL(name)(fd, data, size, offset);                           \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int number) {
    if (is_ours(fd) && is_last()) end();
    return REAL(writev)(fd, parts, number);
}

int ftruncate(int fd, off_t size) {
    if (is_ours(fd) && is_last()) end();
    return REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    if (is_ours(fd) && is_last()) end();
    return REAL(ftruncate64)(fd, size);
}

int rename(const char *from, const char *to) {
    if (is_under(to) && is_last()) end();
    return REAL(rename)(from, to);
}

int unlink(const char *path) {
    if (is_under(path) && is_last()) end();
    return REAL(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags) {
    if ((is_under(path) || is_ours(folder)) && is_last()) end();
    return REAL(unlinkat)(folder, path, flags);
}

int mkdir(const char *path, mode_t mode) {
    if (is_under(path) && is_last()) end();
    return REAL(mkdir)(path, mode);
}

int rmdir(const char *path) {
    if (is_under(path) && is_last()) end();
    return REAL(rmdir)(path);
}

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...) {                             \
        va_list rest;                                                        \
        va_start(rest, flags);                                               \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                        \
        if (flags & (O_CREAT | O_TRUNC) && is_under(path) && is_last()) end(); \
        return REAL(name)(path, flags, mode);                                \
    }
OPEN(open)
OPEN(open64)
