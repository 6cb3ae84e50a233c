/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/ref.h"

/* Offers of so many bytes are copied even where they could be read: nobody then has to wait until
 * the others have read them. */
enum { COPIED_AT_MOST = 4096 };
#define WARN_AFTER_NS 20000000000u

/* ---- What there is ---- */

typedef struct round {
    tn_round open; /* first: what members see */
    struct round *next;
    const tn_op *op;
    uint32_t n, arrived, left, gone;
    bool copied;
    pthread_cond_t all_left;
    const uint32_t *members; /* [n] */
    tn_offer **offers;       /* [n], NULL: has not come */
} round;

/* Something sent over a channel that nobody has taken yet. */
typedef struct mail {
    struct mail *next;
    int64_t channel;
    uint32_t from, to, n;
    tn_offer offers[];
} mail;

/* What a part waits for: a round, or mail from one other part. */
typedef struct {
    const tn_op *op;
    const round *round;
    uint32_t from;
} need;

typedef struct {
    pthread_cond_t cond;
    const need *waits; /* NULL: it doesn't */
    bool ended;
    tn_status *error; /* why, if it failed */
} part;

typedef struct {
    tn_meeting base; /* first */
    tn_ref ref;
    uint32_t n, n_partitions;
    bool host_reads;
    uint64_t timeout_ns;
    pthread_mutex_t lock; /* all that follows */
    round *rounds;        /* to which some have not come yet */
    mail *mails, **last_mail;
    tn_status *deadlock;
    part parts[];
} collective;

static collective *of(tn_meeting *m)
{
    return (collective *)m;
}

static void init_cond(pthread_cond_t *c)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* ---- Texts ---- */

typedef struct {
    char text[400];
    size_t n;
} list;

static void add(list *l, const char *text)
{
    size_t room = sizeof l->text - l->n;
    int n = snprintf(l->text + l->n, room, "%s%s", l->n ? ", " : "", text);
    l->n += (size_t)n < room ? (size_t)n : room - 1;
}

static const char *name_of(const collective *c, uint32_t i, char *buf, size_t size)
{
    snprintf(buf, size, "device %" PRIu32 " (replica %" PRIu32 ", partition %" PRIu32 ")", i,
             i / c->n_partitions, i % c->n_partitions);
    return buf;
}
#define NAME(c, i) name_of(c, i, (char[80]){0}, 80)

static const char *name_of_op(const tn_op *op, char *buf, size_t size)
{
    const char *where = tn_op_location(op);
    snprintf(buf, size, "%s%s%s%s", tn_op_text(op), *where ? " (at " : "", where,
             *where ? ")" : "");
    return buf;
}
#define OP_NAME(op) name_of_op(op, (char[200]){0}, 200)

/* Those for whom a part waits. */
static bool is_missing(const need *w, uint32_t member)
{
    return !w->round || !w->round->offers[member];
}
static uint32_t waited_for(const need *w, uint32_t member)
{
    return w->round ? w->round->members[member] : w->from;
}
static uint32_t n_waited_for(const need *w)
{
    return w->round ? w->round->n : 1;
}

static list missing(const collective *c, const need *w)
{
    list l = {.n = 0};
    for (uint32_t i = 0; i < n_waited_for(w); i++)
        if (is_missing(w, i)) add(&l, NAME(c, waited_for(w, i)));
    return l;
}

/* ---- Who can't come ---- */

/* The error of a part that waits for one that has ended, or NULL. */
static tn_status *absence(const collective *c, const need *w)
{
    for (uint32_t i = 0; i < n_waited_for(w); i++) {
        uint32_t other = waited_for(w, i);
        if (!is_missing(w, i) || !c->parts[other].ended) continue;
        const tn_status *why = c->parts[other].error;
        if (why)
            return tn_status_make(tn_status_code(why), __FILE__, __LINE__,
                                  "%s waited for %s, which failed: %s", OP_NAME(w->op),
                                  NAME(c, other), tn_status_message(why));
        return TN_ERROR(FAILED_PRECONDITION, "%s waited for %s, which ended without coming to it",
                        OP_NAME(w->op), NAME(c, other));
    }
    return NULL;
}

/* All that still run wait, and for none that has ended: nobody will ever go on. */
static void find_deadlock(collective *c)
{
    list l = {.n = 0};
    bool waits = false;
    for (uint32_t i = 0; i < c->n; i++) {
        const part *p = &c->parts[i];
        if (p->ended) continue;
        if (!p->waits) return;
        tn_status *s = absence(c, p->waits);
        if (s) {
            tn_status_free(s);
            return;
        }
        waits = true;
        char text[800];
        snprintf(text, sizeof text, "%s waits in %s for %s", NAME(c, i), OP_NAME(p->waits->op),
                 missing(c, p->waits).text);
        add(&l, text);
    }
    if (!waits || c->deadlock) return;
    c->deadlock = TN_ERROR(FAILED_PRECONDITION, "devices wait for each other: %s", l.text);
    for (uint32_t i = 0; i < c->n; i++) pthread_cond_signal(&c->parts[i].cond);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits for the part's signal or `until`. */
static void wait_until(collective *c, part *p, uint64_t until)
{
    struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    (void)pthread_cond_timedwait(&p->cond, &c->lock, &t);
}

/* Waits until somebody clears what the part waits for. The caller holds the lock. */
static tn_status *wait_for(collective *c, uint32_t self, const need *w)
{
    part *p = &c->parts[self];
    uint64_t begin = now_ns(), warn = begin + WARN_AFTER_NS;
    uint64_t end = c->timeout_ns ? begin + c->timeout_ns : UINT64_MAX;
    p->waits = w;
    find_deadlock(c);
    tn_status *s = NULL;
    while (p->waits && !s) {
        if (p->ended) s = p->error ? tn_status_ref(p->error) : TN_ERROR(CANCELLED, "poisoned");
        if (!s) s = absence(c, w);
        if (!s) s = tn_status_ref(c->deadlock);
        if (s) break;
        uint64_t now = now_ns();
        if (now >= end) {
            s = TN_ERROR(DEADLINE_EXCEEDED, "%s waited %.0f s in %s for %s", NAME(c, self),
                         (double)(now - begin) * 1e-9, OP_NAME(w->op), missing(c, w).text);
            break;
        }
        if (now >= warn) {
            tn_log(TN_LOG_WARNING, "runtime", "%s waits since %.0f s in %s for %s", NAME(c, self),
                   (double)(now - begin) * 1e-9, OP_NAME(w->op), missing(c, w).text);
            warn = now + WARN_AFTER_NS;
        }
        wait_until(c, p, warn < end ? warn : end);
    }
    p->waits = NULL;
    return s;
}

/* ---- Rounds ---- */

static tn_offer *copy_offers(const tn_offer *offers, uint32_t n, bool with_data)
{
    size_t head = ((size_t)n * sizeof *offers + 63) & ~(size_t)63, size = head + 64;
    for (uint32_t i = 0; with_data && i < n; i++) size += (offers[i].bytes + 63) & ~(size_t)63;
    tn_offer *copy = aligned_alloc(64, size & ~(size_t)63);
    if (!copy) return NULL;
    char *at = (char *)copy + head;
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = offers[i];
        if (!with_data || !offers[i].bytes) continue;
        memcpy(at, offers[i].data, offers[i].bytes);
        copy[i].data = at;
        at += (offers[i].bytes + 63) & ~(size_t)63;
    }
    return copy;
}

static void free_round(round *r)
{
    for (uint32_t i = 0; i < r->n; i++) free(r->offers[i]);
    pthread_cond_destroy(&r->all_left);
    free(r);
}

static round *new_round(const tn_op *op, const uint32_t *members, uint32_t n, bool copied)
{
    round *r = calloc(1, sizeof *r + n * (sizeof(tn_offer *) + sizeof *members));
    if (!r) return NULL;
    uint32_t *copy = (uint32_t *)(r->offers = (tn_offer **)(r + 1));
    copy += n * (sizeof(tn_offer *) / sizeof *copy);
    memcpy(copy, members, n * sizeof *members);
    r->members = copy;
    r->op = op;
    r->n = n;
    r->copied = copied;
    r->open.offers = (const tn_offer *const *)r->offers;
    pthread_cond_init(&r->all_left, NULL);
    return r;
}

static round *find_round(const collective *c, const tn_op *op, const uint32_t *members, uint32_t n)
{
    for (round *r = c->rounds; r; r = r->next)
        if (r->op == op && r->n == n && !memcmp(r->members, members, n * sizeof *members)) return r;
    return NULL;
}

static void close_round(collective *c, round *r)
{
    round **link = &c->rounds;
    while (*link != r) link = &(*link)->next;
    *link = r->next;
}

/* The caller holds the lock. */
static tn_status *arrive(collective *c, round *r, uint32_t me, tn_offer *offers)
{
    r->offers[me] = offers;
    if (++r->arrived == r->n) {
        close_round(c, r);
        for (uint32_t i = 0; i < r->n; i++) {
            part *p = &c->parts[r->members[i]];
            if (i == me) continue;
            p->waits = NULL;
            pthread_cond_signal(&p->cond);
        }
        return NULL;
    }
    tn_status *s = wait_for(c, r->members[me], &(need){.op = r->op, .round = r});
    if (!s) return NULL;
    /* Nobody has read it, since not all have come. */
    free(r->offers[me]);
    r->offers[me] = NULL;
    if (--r->arrived == 0) {
        close_round(c, r);
        free_round(r);
    }
    return s;
}

static tn_status *join(tn_meeting *m, const tn_op *op, const uint32_t *members, uint32_t n,
                       uint32_t me, const tn_offer *offers, uint32_t n_offers, const tn_round **out)
{
    collective *c = of(m);
    size_t bytes = 0;
    for (uint32_t i = 0; i < n_offers; i++) bytes += offers[i].bytes;
    bool copied = !c->host_reads || bytes <= COPIED_AT_MOST;
    for (uint32_t i = 0; i < n; i++)
        if (members[i] >= c->n)
            return TN_OP_ERROR(FAILED_PRECONDITION, op, "meets %s, but runs on %" PRIu32 " devices",
                               NAME(c, members[i]), c->n);
    tn_offer *copy = copy_offers(offers, n_offers, copied);
    tn_status *s = copy ? NULL : TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for a meeting");
    if (s) return s;
    pthread_mutex_lock(&c->lock);
    round *r = find_round(c, op, members, n);
    if (!r && (r = new_round(op, members, n, copied))) {
        r->next = c->rounds;
        c->rounds = r;
    }
    if (!r) {
        free(copy);
        s = TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for a meeting");
    } else {
        s = arrive(c, r, me, copy);
    }
    pthread_mutex_unlock(&c->lock);
    if (!s) *out = &r->open;
    return s;
}

static void leave(tn_meeting *m, const tn_round *open)
{
    collective *c = of(m);
    round *r = (round *)open;
    pthread_mutex_lock(&c->lock);
    if (++r->left == r->n) pthread_cond_broadcast(&r->all_left);
    else
        while (!r->copied && r->left < r->n) pthread_cond_wait(&r->all_left, &c->lock);
    bool last = ++r->gone == r->n;
    pthread_mutex_unlock(&c->lock);
    if (last) free_round(r);
}

/* ---- Channels ---- */

static tn_status *post(tn_meeting *m, const tn_op *op, int64_t channel, uint32_t from, uint32_t to,
                       const tn_offer *offers, uint32_t n)
{
    collective *c = of(m);
    if (to >= c->n)
        return TN_OP_ERROR(FAILED_PRECONDITION, op, "sends to %s, but runs on %" PRIu32 " devices",
                           NAME(c, to), c->n);
    size_t size = sizeof(mail) + n * sizeof(tn_offer);
    for (uint32_t i = 0; i < n; i++) size += offers[i].bytes;
    mail *x = malloc(size);
    if (!x) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory to send %zu bytes", size);
    *x = (mail){.channel = channel, .from = from, .to = to, .n = n};
    char *at = (char *)(x->offers + n);
    for (uint32_t i = 0; i < n; i++) {
        if (offers[i].bytes) memcpy(at, offers[i].data, offers[i].bytes);
        x->offers[i] = (tn_offer){at, offers[i].bytes};
        at += offers[i].bytes;
    }
    pthread_mutex_lock(&c->lock);
    *c->last_mail = x;
    c->last_mail = &x->next;
    const need *w = c->parts[to].waits;
    if (w && !w->round && w->from == from) {
        c->parts[to].waits = NULL;
        pthread_cond_signal(&c->parts[to].cond);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Takes the first mail out of the list, or gives NULL. */
static mail *find_mail(collective *c, int64_t channel, uint32_t from, uint32_t to)
{
    for (mail **link = &c->mails, *x; (x = *link); link = &x->next) {
        if (x->channel != channel || x->from != from || x->to != to) continue;
        *link = x->next;
        if (!*link) c->last_mail = link;
        return x;
    }
    return NULL;
}

static tn_status *open_mail(const tn_op *op, const mail *x, const tn_offer *into, uint32_t n)
{
    if (x->n != n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "receives %" PRIu32 " values, but %" PRIu32 " were sent", n, x->n);
    for (uint32_t i = 0; i < n; i++) {
        if (x->offers[i].bytes != into[i].bytes)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "receives %zu bytes as value %" PRIu32 ", but %zu were sent",
                               into[i].bytes, i, x->offers[i].bytes);
        if (into[i].bytes) memcpy((void *)into[i].data, x->offers[i].data, into[i].bytes);
    }
    return NULL;
}

static tn_status *take(tn_meeting *m, const tn_op *op, int64_t channel, uint32_t from, uint32_t to,
                       const tn_offer *into, uint32_t n)
{
    collective *c = of(m);
    if (from >= c->n)
        return TN_OP_ERROR(FAILED_PRECONDITION, op,
                           "receives from %s, but runs on %" PRIu32 " devices", NAME(c, from),
                           c->n);
    tn_status *s = NULL;
    mail *x;
    pthread_mutex_lock(&c->lock);
    while (!(x = find_mail(c, channel, from, to)) && !s)
        s = wait_for(c, to, &(need){.op = op, .from = from});
    pthread_mutex_unlock(&c->lock);
    if (x) {
        tn_status_free(s);
        s = open_mail(op, x, into, n);
    }
    free(x);
    return s;
}

/* ---- Life ---- */

tn_status *tn_collective_create(uint32_t n, uint32_t n_partitions, bool host_reads,
                                uint64_t timeout_ns, tn_meeting **out)
{
    collective *c = calloc(1, sizeof *c + n * sizeof(part));
    if (!c) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a run on %" PRIu32 " devices", n);
    c->base = (tn_meeting){.join = join, .leave = leave, .post = post, .take = take};
    tn_ref_init(&c->ref);
    c->n = n;
    c->n_partitions = n_partitions;
    c->host_reads = host_reads;
    c->timeout_ns = timeout_ns;
    c->last_mail = &c->mails;
    pthread_mutex_init(&c->lock, NULL);
    for (uint32_t i = 0; i < n; i++) init_cond(&c->parts[i].cond);
    *out = &c->base;
    return NULL;
}

tn_meeting *tn_collective_retain(tn_meeting *m)
{
    tn_ref_retain(&of(m)->ref);
    return m;
}

void tn_collective_release(tn_meeting *m)
{
    collective *c = m ? of(m) : NULL;
    if (!c || !tn_ref_release(&c->ref)) return;
    for (mail *x = c->mails, *next; x; x = next) {
        next = x->next;
        free(x);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        pthread_cond_destroy(&c->parts[i].cond);
        tn_status_free(c->parts[i].error);
    }
    tn_status_free(c->deadlock);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void tn_collective_end(tn_meeting *m, uint32_t part_index, const tn_status *s)
{
    collective *c = of(m);
    part *p = &c->parts[part_index];
    pthread_mutex_lock(&c->lock);
    if (!p->ended) {
        p->ended = true;
        p->error = s ? tn_status_ref((tn_status *)s) : NULL;
        find_deadlock(c);
        for (uint32_t i = 0; i < c->n; i++) pthread_cond_signal(&c->parts[i].cond);
    }
    pthread_mutex_unlock(&c->lock);
}
