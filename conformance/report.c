/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/run.h"

static tn_status *open_for(const char *path, const char *mode, FILE **out)
{
    *out = !strcmp(path, "-") && *mode == 'w' ? stdout : fopen(path, mode);
    return *out ? NULL : TN_ERROR(NOT_FOUND, "%s can't be opened", path);
}

static void close_file(FILE *f)
{
    if (f != stdout) fclose(f);
}

/* --- known failures --- */

tn_status *apply_known(results *r, const char *path)
{
    FILE *f;
    TN_TRY(open_for(path, "r", &f));
    char line[1024];
    tn_status *s = NULL;
    while (!s && fgets(line, sizeof line, f)) {
        char *id = line + strspn(line, " \t");
        id[strcspn(id, " \t\n#")] = 0;
        if (!*id) continue;
        for (size_t i = 0; i < r->n; i++) {
            result *x = &r->at[i];
            if (strcmp(x->id, id)) continue;
            x->known = true;
            x->unexpected = x->outcome == RESULT_PASSED;
        }
    }
    fclose(f);
    return s;
}

tn_status *write_known(const results *r, const char *path)
{
    FILE *f;
    TN_TRY(open_for(path, "w", &f));
    fprintf(f, "# Checks that are known to fail: id, then why. One that passes is a failure until "
               "its line goes.\n");
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].outcome != RESULT_PASSED && r->at[i].outcome != RESULT_SKIPPED)
            fprintf(f, "%-16s %s\n", r->at[i].id, r->at[i].text);
    close_file(f);
    return NULL;
}

/* --- counts --- */

typedef struct {
    size_t passed, failed, skipped, known, unexpected;
} counts;

static void count_one(counts *c, const result *x)
{
    if (x->unexpected) c->unexpected++;
    else if (x->known && x->outcome != RESULT_SKIPPED) c->known++;
    else if (x->outcome == RESULT_PASSED) c->passed++;
    else if (x->outcome == RESULT_SKIPPED) c->skipped++;
    else c->failed++;
}

static counts count(const results *r)
{
    counts c = {0};
    for (size_t i = 0; i < r->n; i++) count_one(&c, &r->at[i]);
    return c;
}

/* --- table --- */

void print_table(const results *r, const subject *s, bool all)
{
    const char *last = "";
    for (size_t i = 0; i < r->n; i++) {
        const result *x = &r->at[i];
        bool quiet = (x->outcome == RESULT_PASSED && !x->unexpected && !*x->text) ||
                     x->outcome == RESULT_SKIPPED || (x->known && !x->unexpected);
        if (quiet && !all) continue;
        if (strcmp(last, x->chapter)) printf("\n%s\n", last = x->chapter);
        printf("  %-8s %-14s %s%s%s\n", x->unexpected ? "PASSES" : outcome_name(x->outcome), x->id,
               x->rule, *x->variant ? ": " : "", x->variant);
        if (*x->text) printf("           %s\n", x->text);
        if (is_failure(x) && *x->needs) printf("           matters to: %s\n", x->needs);
    }
    printf("\n%-24s %7s %7s %8s %6s\n", "chapter", "passed", "failed", "skipped", "known");
    for (size_t i = 0; i < r->n;) {
        counts c = {0};
        const char *title = r->at[i].chapter;
        for (; i < r->n && !strcmp(r->at[i].chapter, title); i++) count_one(&c, &r->at[i]);
        printf("%-24s %7zu %7zu %8zu %6zu\n", title, c.passed, c.failed + c.unexpected, c.skipped,
               c.known);
    }
    counts c = count(r);
    if (c.unexpected)
        printf("%zu known failures pass: take their lines (PASSES above) off the list\n",
               c.unexpected);
    printf("%s: %s, %s; %.1f s\n", s->plugin, s->platform, s->version, s->seconds);
    printf("%zu passed, %zu failed, %zu skipped\n", c.passed, c.failed + c.unexpected,
           c.skipped + c.known);
}

/* --- JSON: a check a line, so that a diff of files reads well too --- */

static void json_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch == '"' || ch == '\\') fprintf(f, "\\%c", ch);
        else if (ch < 32 || ch > 126) fprintf(f, "\\u%04x", ch);
        else fputc(ch, f);
    }
    fputc('"', f);
}

static void json_pair(FILE *f, const char *key, const char *value, const char *after)
{
    fprintf(f, "\"%s\": ", key);
    json_string(f, value);
    fputs(after, f);
}

tn_status *write_json(const results *r, const subject *s, const char *path)
{
    FILE *f;
    TN_TRY(open_for(path, "w", &f));
    counts c = count(r);
    fprintf(f, "{\n");
    json_pair(f, "plugin", s->plugin, ",\n");
    json_pair(f, "platform", s->platform, ",\n");
    json_pair(f, "api", s->version, ",\n");
    fprintf(
        f,
        "\"seconds\": %.2f, \"passed\": %zu, \"failed\": %zu, \"skipped\": %zu, \"known\": %zu,\n"
        "\"checks\": [\n",
        s->seconds, c.passed, c.failed + c.unexpected, c.skipped, c.known);
    for (size_t i = 0; i < r->n; i++) {
        const result *x = &r->at[i];
        fprintf(f, "{");
        json_pair(f, "id", x->id, ", ");
        json_pair(f, "outcome", outcome_name(x->outcome), ", ");
        json_pair(f, "chapter", x->chapter, ", ");
        json_pair(f, "rule", x->rule, ", ");
        json_pair(f, "variant", x->variant, ", ");
        json_pair(f, "did", x->text, ", ");
        json_pair(f, "matters_to", x->needs, ", ");
        fprintf(f, "\"known\": %s, \"seconds\": %.4f}%s\n", x->known ? "true" : "false", x->seconds,
                i + 1 < r->n ? "," : "");
    }
    fprintf(f, "]\n}\n");
    close_file(f);
    return NULL;
}

/* --- JUnit, HTML --- */

static void xml(FILE *f, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        case '"': fputs("&quot;", f); break;
        default: fputc((unsigned char)*text < 32 ? ' ' : *text, f);
        }
    }
}

tn_status *write_junit(const results *r, const subject *s, const char *path)
{
    FILE *f;
    TN_TRY(open_for(path, "w", &f));
    counts c = count(r);
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tenon check\" "
            "tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" time=\"%.2f\">\n",
            r->n, c.failed + c.unexpected, c.skipped + c.known, s->seconds);
    for (size_t i = 0; i < r->n; i++) {
        const result *x = &r->at[i];
        fprintf(f, "<testcase classname=\"");
        xml(f, x->chapter);
        fprintf(f, "\" name=\"");
        xml(f, x->id);
        fputc(' ', f);
        xml(f, x->rule);
        fprintf(f, "\" time=\"%.4f\">", x->seconds);
        if (is_failure(x)) fprintf(f, "<failure message=\"");
        else if (x->outcome != RESULT_PASSED) fprintf(f, "<skipped message=\"");
        if (is_failure(x) || x->outcome != RESULT_PASSED) {
            xml(f, x->unexpected ? "a known failure passes" : x->text);
            fprintf(f, "\"/>");
        }
        fprintf(f, "</testcase>\n");
    }
    fprintf(f, "</testsuite>\n");
    close_file(f);
    return NULL;
}

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;"
    "color:#1b1b1b;background:#fff}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.25em .5em;text-align:left;"
    "vertical-align:top;border-bottom:1px solid #ddd}td:first-child{white-space:nowrap}"
    ".passed{color:#1a6e2e}.failed,.crashed,.hung{color:#b00020;font-weight:600}"
    ".skipped{color:#777}.did{font:13px ui-monospace,monospace;white-space:pre-wrap;color:#444}"
    ".needs{color:#666;font-size:13px}label{margin-right:1em}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}td,th{border-color:#333}"
    ".did{color:#bbb}.passed{color:#6fd08a}.failed,.crashed,.hung{color:#ff7a85}}"
    "#bad:checked~section .passed-row,#bad:checked~section .skipped-row{display:none}";

tn_status *write_html(const results *r, const subject *s, const char *path)
{
    FILE *f;
    TN_TRY(open_for(path, "w", &f));
    counts c = count(r);
    fprintf(f, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width\"><title>tenon check: ");
    xml(f, s->plugin);
    fprintf(f, "</title><style>%s</style><h1>", style);
    xml(f, s->plugin);
    fprintf(f, "</h1><p>");
    xml(f, s->platform);
    fprintf(f, ", PJRT API ");
    xml(f, s->version);
    fprintf(f,
            ": <b class=\"passed\">%zu passed</b>, <b class=\"failed\">%zu failed</b>, "
            "<span class=\"skipped\">%zu skipped, %zu known</span>, %.1f s</p>\n"
            "<input type=\"checkbox\" id=\"bad\"><label for=\"bad\">failures only</label>\n",
            c.passed, c.failed + c.unexpected, c.skipped, c.known, s->seconds);
    const char *last = "";
    for (size_t i = 0; i < r->n; i++) {
        const result *x = &r->at[i];
        if (strcmp(last, x->chapter)) {
            if (*last) fprintf(f, "</table></section>\n");
            fprintf(f, "<section><h2>");
            xml(f, last = x->chapter);
            fprintf(f, "</h2><table>\n");
        }
        const char *name = outcome_name(x->outcome);
        fprintf(f, "<tr class=\"%s-row\"><td class=\"%s\">%s%s</td><td>", name, name, name,
                x->known ? " (known)" : "");
        xml(f, x->id);
        fprintf(f, "</td><td>");
        xml(f, x->rule);
        if (*x->variant) fputs(": ", f), xml(f, x->variant);
        if (*x->text) {
            fprintf(f, "<div class=\"did\">");
            xml(f, x->text);
            fprintf(f, "</div>");
        }
        if (*x->needs) {
            fprintf(f, "<div class=\"needs\">matters to: ");
            xml(f, x->needs);
            fprintf(f, "</div>");
        }
        fprintf(f, "</td></tr>\n");
    }
    fprintf(f, "</table></section></html>\n");
    close_file(f);
    return NULL;
}

/* --- diff --- */

typedef struct {
    char id[32], outcome[16], did[400];
} line;

static bool take_string(const char *text, const char *key, char *out, size_t size)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, "\"%s\": \"", key);
    const char *at = strstr(text, pattern);
    if (!at) return false;
    at += strlen(pattern);
    size_t n = 0;
    for (; *at && *at != '"' && n + 1 < size; at++) {
        if (*at == '\\' && at[1] && at[1] != 'u') at++;
        out[n++] = *at;
    }
    out[n] = 0;
    return true;
}

static line *read_lines(const char *path, size_t *n)
{
    FILE *f = fopen(path, "r");
    line *at = NULL;
    char text[8192];
    *n = 0;
    if (!f) return NULL;
    while (fgets(text, sizeof text, f)) {
        line l;
        if (!take_string(text, "id", l.id, sizeof l.id) ||
            !take_string(text, "outcome", l.outcome, sizeof l.outcome) ||
            !take_string(text, "did", l.did, sizeof l.did))
            continue;
        line *more = realloc(at, (*n + 1) * sizeof *at);
        if (!more) break;
        at = more;
        at[(*n)++] = l;
    }
    fclose(f);
    return at;
}

static const line *find(const line *at, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(at[i].id, id)) return &at[i];
    return NULL;
}

int print_diff(const char *path_a, const char *path_b)
{
    size_t na, nb, differ = 0;
    line *a = read_lines(path_a, &na), *b = read_lines(path_b, &nb);
    if (!na || !nb) {
        fprintf(stderr, "tenon check: %s is no report in JSON\n", na ? path_b : path_a);
        free(a);
        free(b);
        return 2;
    }
    for (size_t i = 0; i < na; i++) {
        const line *other = find(b, nb, a[i].id);
        if (other && !strcmp(other->outcome, a[i].outcome)) continue;
        differ++;
        printf("%-16s %s -> %s\n", a[i].id, a[i].outcome, other ? other->outcome : "not run");
        const char *did = other && *other->did ? other->did : a[i].did;
        if (*did) printf("                 %s\n", did);
    }
    for (size_t i = 0; i < nb; i++) {
        if (find(a, na, b[i].id)) continue;
        differ++;
        printf("%-16s not run -> %s\n", b[i].id, b[i].outcome);
    }
    printf("%zu of %zu checks differ\n", differ, na > nb ? na : nb);
    free(a);
    free(b);
    return differ != 0;
}
