/* SPDX-License-Identifier: Apache-2.0 */
/* conv_bench - times tn_conv on shapes of networks: conv_bench [threads] [name]
 * The shapes are those of the project's benchmark against XLA; f32, channels last unless the name
 * says otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/conv.h"

/* One thread is timed by its own clock, which other programs on the machine disturb less. */
static clockid_t watch = CLOCK_THREAD_CPUTIME_ID;

static double now(void)
{
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct {
    const char *name;
    int64_t n, size, ci, co, k, stride, groups;
    enum { FORWARD, DILATED, NCHW, GRAD_KERNEL, GRAD_INPUT, TRANSPOSED, LINE, CUBE } how;
} shape;

static const shape shapes[] = {
    {"resnet_3x3_s", 1, 14, 64, 64, 3, 1, 1, FORWARD},
    {"resnet_3x3", 1, 56, 64, 64, 3, 1, 1, FORWARD},
    {"resnet_3x3_l", 8, 28, 128, 128, 3, 1, 1, FORWARD},
    {"resnet_3x3_late", 4, 7, 512, 512, 3, 1, 1, FORWARD},
    {"resnet_1x1", 4, 28, 256, 128, 1, 1, 1, FORWARD},
    {"stem_7x7s2", 4, 224, 3, 64, 7, 2, 1, FORWARD},
    {"resnet_3x3s2", 4, 56, 128, 128, 3, 2, 1, FORWARD},
    {"depthwise_3x3", 4, 56, 128, 128, 3, 1, 128, FORWARD},
    {"depthwise_112", 1, 112, 64, 64, 3, 1, 64, FORWARD},
    {"depthwise_112s2", 1, 112, 64, 64, 3, 2, 64, FORWARD},
    {"depthwise_14", 1, 14, 512, 512, 3, 1, 512, FORWARD},
    {"grouped_3x3", 4, 28, 128, 128, 3, 1, 32, FORWARD},
    {"dilated_3x3", 2, 28, 64, 64, 3, 1, 1, DILATED},
    {"nchw_3x3", 4, 56, 64, 64, 3, 1, 1, NCHW},
    {"conv1d_k9", 8, 1024, 64, 64, 9, 1, 1, LINE},
    {"conv3d_k3", 1, 24, 32, 32, 3, 1, 1, CUBE},
    {"transposed_4x4s2", 4, 28, 64, 32, 4, 2, 1, TRANSPOSED},
    {"stencil_1ch", 1, 1024, 1, 1, 3, 1, 1, FORWARD},
    {"grad_kernel_3x3", 8, 28, 64, 64, 3, 1, 1, GRAD_KERNEL},
    {"grad_input_3x3", 8, 28, 64, 64, 3, 1, 1, GRAD_INPUT},
    {"grad_kernel_3x3s2", 4, 28, 64, 128, 3, 2, 1, GRAD_KERNEL},
    {"grad_input_3x3s2", 4, 28, 64, 128, 3, 2, 1, GRAD_INPUT},
    {"grad_kernel_dw", 4, 28, 64, 64, 3, 1, 64, GRAD_KERNEL},
};

static tn_conv make(const shape *s, double *products)
{
    int rank = s->how == LINE ? 1 : s->how == CUBE ? 3 : 2;
    int64_t out = (s->size + s->stride - 1) / s->stride,
            span = (s->k - 1) * (s->how == DILATED ? 2 : 1) + 1;
    int64_t pad = (out - 1) * s->stride + span - s->size, low = pad > 0 ? pad / 2 : 0;
    tn_conv c = {.type = TN_F32,
                 .groups = s->groups,
                 .batch = s->n,
                 .in_features = s->ci / s->groups,
                 .out_features = s->co / s->groups,
                 .rank = rank};
    *products = (double)s->n * (double)s->ci / (double)s->groups * (double)s->co;
    int64_t in_step = s->ci, k_step = s->ci / s->groups * s->co, out_step = s->co;
    for (int d = rank - 1; d >= 0; d--) {
        c.axes[d] =
            (tn_conv_axis){s->size, s->k,    out,    s->stride, low, 1, s->how == DILATED ? 2 : 1,
                           false,   in_step, k_step, out_step};
        in_step *= s->size, k_step *= s->k, out_step *= out;
        *products *= (double)out * (double)s->k;
    }
    c.in_group = c.in_features, c.in_batch = in_step, c.in_feature = 1;
    c.kernel_group = c.out_features, c.kernel_in_feature = s->co, c.kernel_out_feature = 1;
    c.out_group = c.out_features, c.out_batch = out_step, c.out_feature = 1;
    if (s->how == NCHW) {
        c.in_feature = s->size * s->size, c.out_feature = out * out;
        c.kernel_in_feature = s->k * s->k, c.kernel_out_feature = s->ci * s->k * s->k;
        for (int d = 0; d < 2; d++) {
            c.axes[d].in_stride = d ? 1 : s->size, c.axes[d].out_stride = d ? 1 : out;
            c.axes[d].kernel_stride = d ? 1 : s->k;
        }
    } else if (s->how ==
               GRAD_KERNEL) { /* images and features change places; the window is the gradient */
        tn_conv f = c;
        c.batch = s->ci / s->groups, c.in_features = s->n;
        c.in_batch = 1, c.in_feature = f.in_batch;
        c.kernel_in_feature = f.out_batch;
        c.kernel_group = f.out_group;
        c.out_batch = s->co, c.out_group = f.kernel_group;
        for (int d = 0; d < 2; d++) {
            c.axes[d].kernel_size = out, c.axes[d].kernel_stride = f.axes[d].out_stride;
            c.axes[d].out_size = s->k, c.axes[d].out_stride = f.axes[d].kernel_stride;
            c.axes[d].kernel_dilation = s->stride, c.axes[d].stride = 1;
        }
    } else if (s->how == GRAD_INPUT || s->how == TRANSPOSED) {
        tn_conv f = c;
        bool grad = s->how == GRAD_INPUT;
        if (grad) {
            c.in_features = s->co, c.out_features = s->ci;
            c.in_batch = f.out_batch, c.out_batch = f.in_batch;
            c.kernel_in_feature = 1, c.kernel_out_feature = s->co;
        }
        for (int d = 0; d < 2; d++) {
            c.axes[d].in_size = grad ? out : s->size;
            c.axes[d].out_size = grad ? s->size : s->size * s->stride;
            c.axes[d].in_dilation = s->stride, c.axes[d].stride = 1, c.axes[d].reversed = grad;
            c.axes[d].pad_low = s->k - 1 - (grad ? low : 1);
            if (grad)
                c.axes[d].in_stride = f.axes[d].out_stride,
                c.axes[d].out_stride = f.axes[d].in_stride;
        }
        if (!grad) {
            *products = (double)s->n * (double)s->ci * (double)s->co *
                        (double)(s->size * s->size * s->k * s->k);
            c.axes[0].out_stride = s->size * s->stride * s->co;
            c.out_batch = s->size * s->stride * c.axes[0].out_stride;
        }
    }
    return c;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    tn_thread_pool *pool = NULL;
    if (threads > 1) watch = CLOCK_MONOTONIC;
    if (threads > 1) tn_status_free(tn_thread_pool_create(threads, &pool));
    size_t room = (size_t)64 << 20;
    float *in = aligned_alloc(64, room), *kernel = aligned_alloc(64, room),
          *out = aligned_alloc(64, room);
    for (size_t i = 0; i < room / 4; i++) in[i] = 1, kernel[i] = 0.5f, out[i] = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (argc > 2 && !strstr(shapes[i].name, argv[2])) continue;
        double products, times[1000], start = now();
        tn_conv c = make(&shapes[i], &products);
        void *workspace = aligned_alloc(64, (tn_conv_workspace(&c, pool) + 64) / 64 * 64);
        int runs = 0;
        while (runs < 1000 && (runs < 3 || now() - start < 0.3)) {
            double t = now();
            tn_conv_run(&c, in, kernel, out, pool, workspace);
            times[runs++] = now() - t;
        }
        qsort(times, (size_t)runs, sizeof times[0], compare);
        printf("%-18s best %8.3f median %8.3f ms  %6.1f GF/s\n", shapes[i].name, times[0] * 1e3,
               times[runs / 2] * 1e3, 2 * products / times[0] * 1e-9);
        free(workspace);
    }
    tn_thread_pool_destroy(pool);
    free(in), free(kernel), free(out);
    return 0;
}
