/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"

enum { MAX_RULES = 32, MAX_TOPIC = 24, MAX_LINE = 2048 };

typedef struct {
    char topic[MAX_TOPIC]; /* "" = all topics */
    tn_log_level level;
} rule;

static const char *const level_names[] = {
#define X(NAME, name) name,
    TN_LOG_LEVELS(X)
#undef X
};
enum { N_LEVELS = sizeof level_names / sizeof level_names[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the rules */
static rule rules[MAX_RULES];
static int n_rules;
static atomic_int loudest = -1; /* highest level of any rule; -1: TN_LOG not read yet */

static int level_of(const char *word, size_t size)
{
    for (int i = 0; i < N_LEVELS; i++)
        if (strlen(level_names[i]) == size && !memcmp(level_names[i], word, size)) return i;
    return -1;
}

static void add_rule(const char *text, size_t size)
{
    const char *colon = memchr(text, ':', size);
    size_t topic_size = colon ? (size_t)(colon - text) : size;
    int level = colon ? level_of(colon + 1, size - topic_size - 1) : level_of(text, size);
    if (!colon && level >= 0) topic_size = 0;
    else if (!colon) level = TN_LOG_DEBUG;
    if (level < 0 || size == 0 || topic_size >= MAX_TOPIC || n_rules == MAX_RULES) return;
    rule *r = &rules[n_rules++];
    memcpy(r->topic, text, topic_size);
    r->topic[topic_size] = 0;
    r->level = (tn_log_level)level;
}

void tn_log_configure(const char *text)
{
    pthread_mutex_lock(&lock);
    n_rules = 0;
    while (*text) {
        size_t size = strcspn(text, ",");
        add_rule(text, size);
        text += size + (text[size] == ',');
    }
    int most = TN_LOG_OFF;
    for (int i = 0; i < n_rules; i++)
        if ((int)rules[i].level > most) most = rules[i].level;
    atomic_store(&loudest, most);
    pthread_mutex_unlock(&lock);
}

bool tn_log_enabled(tn_log_level level, const char *topic)
{
    int most = atomic_load_explicit(&loudest, memory_order_relaxed);
    if (most < 0) {
        tn_log_configure(tn_options_get()->log);
        most = atomic_load(&loudest);
    }
    if (level == TN_LOG_OFF || (int)level > most) return false;

    tn_log_level all = TN_LOG_OFF, own = TN_LOG_OFF;
    bool has_own = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_rules; i++) {
        if (!rules[i].topic[0]) {
            all = rules[i].level;
        } else if (!strcmp(rules[i].topic, topic)) {
            own = rules[i].level;
            has_own = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return level <= (has_own ? own : all);
}

void tn_log(tn_log_level level, const char *topic, const char *fmt, ...)
{
    if (!tn_log_enabled(level, topic)) return;
    char line[MAX_LINE];
    int head = snprintf(line, sizeof line, "tenon %s %s: ", topic, level_names[level]);
    if (head < 0 || head > MAX_LINE / 2) return;
    va_list args;
    va_start(args, fmt);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, fmt, args);
    va_end(args);
    if (body < 0) return;
    size_t size = (size_t)head + (size_t)body;
    if (size > sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written; /* nowhere left to report it */
}
