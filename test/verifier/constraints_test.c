/* SPDX-License-Identifier: Apache-2.0 */
/* constraints_test FILE [--write]: programs that break one rule each are refused, by a message that
 * says where and what.
 *
 * FILE holds blocks. A line `op NAME` begins one; `X = text` gives a variable its value; `args ...`
 * are the arguments of main; the other lines are its body, in which {X} stands for the variable.
 * With these values the program must verify, unless the name says "of nothing". Each line
 * `C3: X = text; Y = text ~ message` is a case: C and the number name the constraint of the
 * specification (I: of an input's type, Q: quantized types, S: structure and syntax, O: others);
 * with the values that it changes, compiling must fail with INVALID_ARGUMENT, or the code before a
 * colon, and a message that holds the text after ~ and names the op and a line. --write fills in
 * the messages that come, for reading. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executable/executable.h"
#include "ops/ops.h"
#include "reader/reader.h"

typedef struct {
    char name[128];
    char values[26][512];
    char args[1024];
    char body[8192];
    bool has_case;
} block;

static int passed, failed;

static bool is_case(const char *line)
{
    const char *c = line;
    while (isupper((unsigned char)*c)) c++;
    if (c == line || !isdigit((unsigned char)*c)) return false;
    while (isdigit((unsigned char)*c)) c++;
    return *c == ':';
}

static const char *trim(char *s)
{
    while (*s == ' ') s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\n')) s[--n] = 0;
    return s;
}

/* Appends `text` with variables put in. */
static void expand(const block *b, const char *text, char *out, size_t room)
{
    size_t n = strlen(out);
    for (const char *c = text; *c && n + 1 < room; c++) {
        bool variable = c[0] == '{' && isupper((unsigned char)c[1]) && c[2] == '}';
        if (!variable) {
            out[n++] = *c;
            continue;
        }
        const char *value = b->values[c[1] - 'A'];
        size_t size = strlen(value);
        if (n + size + 1 < room) memcpy(out + n, value, size);
        n += size;
        c += 2;
    }
    out[n] = 0;
}

static void make_program(const block *b, char *out, size_t room)
{
    strcpy(out, "module attributes {mhlo.num_replicas = 2 : i32} {\nfunc.func private @g(%p: "
                "tensor<f32>) -> tensor<f32> {\n"
                "return %p : tensor<f32>\n}\nfunc.func public @main(");
    expand(b, b->args, out, room);
    strcat(out, ") {\n");
    expand(b, b->body, out, room);
    strcat(out, "return\n}\n}\n");
}

typedef struct {
    const char *text;
    tn_arena *arena;
} verification;

static tn_status *verify(void *ctx)
{
    verification *v = ctx;
    tn_module *m;
    TN_TRY(tn_read_text(v->text, strlen(v->text), v->arena, &m));
    return tn_module_verify(m);
}

static void check_block(const block *b)
{
    static char text[1 << 16];
    if (!b->has_case || strstr(b->name, "of nothing")) return;
    make_program(b, text, sizeof text);
    verification v = {text, tn_arena_new()};
    tn_status *s = tn_arena_run(v.arena, verify, &v);
    if (s) {
        failed++;
        printf("%s: the unbroken program is refused: %s\n%s\n", b->name, tn_status_message(s),
               text);
    }
    tn_status_free(s);
    tn_arena_free(v.arena);
}

/* Splits "X = a; Y = b" and sets the variables; values may hold what they like but "; X = ". */
static void assign(block *b, char *text)
{
    for (char *at = text; at && *at;) {
        char *next = at;
        do next = strstr(next + 1, "; ");
        while (next && !(isupper((unsigned char)next[2]) && next[3] == ' ' && next[4] == '='));
        if (next) *next = 0;
        while (*at == ' ') at++;
        if (isupper((unsigned char)*at) && at[1] == ' ' && at[2] == '=')
            snprintf(b->values[*at - 'A'], sizeof b->values[0], "%s", trim(at + 3));
        at = next ? next + 2 : NULL;
    }
}

/* What of a message says more than where: what follows the last place. */
static const char *essence(const char *message)
{
    const char *best = message, *c = message;
    while ((c = strstr(c, "): "))) best = c += 3;
    if (best != message) return best;
    for (c = message; *c && (isdigit((unsigned char)*c) || *c == ':'); c++) {}
    return *c == ' ' ? c + 1 : message;
}

static bool names_a_line(const char *message)
{
    if (strstr(message, "(at ") || strstr(message, "@")) return true;
    for (const char *c = message; *c; c++)
        if (isdigit((unsigned char)c[0]) && c[1] == ':' && isdigit((unsigned char)c[2]))
            return true;
    return false;
}

static void check_case(const block *from, const char *line, FILE *write)
{
    static char text[1 << 16];
    static block b;
    b = *from;
    char copy[2048];
    snprintf(copy, sizeof copy, "%s", line);
    char *expected = strstr(copy, " ~ ");
    if (expected) {
        *expected = 0;
        expected = (char *)trim(expected + 3);
    }
    const char *kept = line;
    size_t head = strlen(copy);
    while (head && (copy[head - 1] == '\n')) head--;
    char *colon = strchr(copy, ':');
    assign(&b, colon + 1);
    make_program(&b, text, sizeof text);
    tn_executable *e = NULL;
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, NULL, &e);
    const char *message = s ? tn_status_message(s) : "";
    const char *code = s ? tn_code_name(tn_status_code(s)) : "OK";
    bool usual = s && tn_status_code(s) == TN_INVALID_ARGUMENT;
    if (write)
        fprintf(write, "%.*s ~ %s%s%s\n", (int)head, kept, usual ? "" : code, usual ? "" : ": ",
                essence(message));
    const char *want = expected ? expected : "";
    char other[64];
    snprintf(other, sizeof other, "%s: ", code);
    bool is_other = s && !usual && !strncmp(want, other, strlen(other));
    if (is_other) want += strlen(other);
    bool good = s && (usual || is_other) && names_a_line(message) && strstr(message, want) &&
                (*want || write);
    if (good) passed++;
    else {
        failed++;
        printf("%s %s", b.name, line);
        printf("    gives %s: %s\n", code, message);
    }
    tn_status_free(s);
    tn_executable_release(e);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    FILE *f = fopen(argv[1], "r"), *write = NULL;
    if (!f) {
        perror(argv[1]);
        return 2;
    }
    if (argc > 2 && !strcmp(argv[2], "--write")) write = fopen(argv[argc - 1], "w");
    static block b;
    char line[2048];
    while (fgets(line, sizeof line, f)) {
        bool empty = line[0] == '\n' || line[0] == '#';
        if (is_case(line)) {
            if (!b.has_case) {
                b.has_case = true;
                check_block(&b);
            }
            check_case(&b, line, write);
            continue;
        }
        if (write) fputs(line, write);
        if (empty) continue;
        if (!strncmp(line, "op ", 3)) {
            memset(&b, 0, sizeof b);
            snprintf(b.name, sizeof b.name, "%s", trim(line + 3));
        } else if (!strncmp(line, "args", 4)) {
            snprintf(b.args, sizeof b.args, "%s", trim(line + 4));
        } else if (isupper((unsigned char)line[0]) && line[1] == ' ' && line[2] == '=') {
            snprintf(b.values[line[0] - 'A'], sizeof b.values[0], "%s", trim(line + 3));
        } else if (strlen(b.body) + strlen(line) + 1 < sizeof b.body) {
            strcat(b.body, line);
        }
    }
    fclose(f);
    if (write) fclose(write);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
