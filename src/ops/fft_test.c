/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

static tn_op *fft_op(const char *from, const char *to, int kind, uint32_t n, const int64_t *length)
{
    tn_op *op = make_op(TN_OP_fft, from, to);
    SET_INT(op, fft_type, kind);
    tn_op_set_attr(module, op, TN_ATTR_fft_length, tn_attr_ints(arena, length, n));
    return op;
}

TEST(an_impulse_is_flat)
{
    float x[8] = {1}, out[8];
    RUN(fft_op("4xcomplex<f32>", "4xcomplex<f32>", TN_fft_type_FFT, 1, (int64_t[]){4}), IN(x),
        OUT(out));
    EXPECT(float, out, 1, 0, 1, 0, 1, 0, 1, 0);
}

/* Along the last dimension, by the definition, in long double. */
static void check_lines(int64_t lines, int64_t n)
{
    size_t size = (size_t)(2 * n * lines);
    double *x = malloc(size * sizeof *x), *y = malloc(size * sizeof *y);
    double *back = malloc(size * sizeof *back);
    for (size_t i = 0; i < size; i++) x[i] = (double)random_below(2001) / 1000 - 1;
    char type[64];
    snprintf(type, sizeof type, "%dx%" PRId64 "xcomplex<f64>", (int)lines, n);
    RUN(fft_op(type, type, TN_fft_type_FFT, 1, &n), IN(x), OUT(y));
    long double worst = 0;
    for (int64_t j = 0; j < n; j++) {
        long double re = 0, im = 0;
        const double *line = x + 2 * n * (lines - 1);
        for (int64_t k = 0; k < n; k++) {
            long double angle = -2 * 3.141592653589793238462643L * (long double)(j * k % n) / n;
            re += line[2 * k] * cosl(angle) - line[2 * k + 1] * sinl(angle);
            im += line[2 * k] * sinl(angle) + line[2 * k + 1] * cosl(angle);
        }
        long double d = fabsl(re - y[2 * ((lines - 1) * n + j)]),
                    e = fabsl(im - y[2 * ((lines - 1) * n + j) + 1]);
        worst = d > worst ? d : worst;
        worst = e > worst ? e : worst;
    }
    if (worst > 1e-14L * sqrtl(n) * 4) fail_msg("length %d: error %g", (int)n, (double)worst);
    RUN(fft_op(type, type, TN_fft_type_IFFT, 1, &n), IN(y), OUT(back));
    for (size_t i = 0; i < size; i++)
        if (fabs(back[i] - x[i]) > 1e-14) fail_msg("length %d doesn't come back", (int)n);
    free(x);
    free(y);
    free(back);
}

static void check_length(int64_t n)
{
    check_lines(11, n);
}

TEST(every_length_is_right)
{
    for (int64_t n = 1; n <= 70; n++) check_length(n);
    static const int64_t alone[] = {256, 1000, 1024, 257, 2 * 509};
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) check_lines(2, alone[i]);
    static const int64_t more[] = {97, 128, 210, 243, 251, 256, 625, 1009, 1024, 961, 2 * 37};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) check_length(more[i]);
}

/* In f32 as in f64, along a dimension with others inside it; RFFT is FFT cut off, and IRFFT brings
 * it back. */
static void check_narrow(int64_t lines, int64_t n, int64_t inner)
{
    size_t size = (size_t)(2 * lines * n * inner);
    float *x = calloc(size, 4), *y = malloc(size * 4), *z = malloc(size * 4 + 64);
    double *wide = malloc(size * 8), *out = malloc(size * 8);
    for (size_t i = 0; i < size / 2; i++)
        wide[2 * i] = x[2 * i] = (float)random_below(2001) / 1000 - 1, wide[2 * i + 1] = 0;
    char type[80], dims[64];
    int64_t length[2] = {n, inner};
    snprintf(dims, sizeof dims, "%dx%dx%dx", (int)lines, (int)n, (int)inner);
    snprintf(type, sizeof type, "%scomplex<f64>", dims);
    RUN(fft_op(type, type, TN_fft_type_FFT, 2, length), IN(wide), OUT(out));
    snprintf(type, sizeof type, "%scomplex<f32>", dims);
    RUN(fft_op(type, type, TN_fft_type_FFT, 2, length), IN(x), OUT(y));
    double worst = 0, most = 1e-7 * sqrt((double)(n * inner)) * (4 + log2((double)(n * inner)));
    for (size_t i = 0; i < size; i++) worst = fmax(worst, fabs(out[i] - y[i]));
    if (worst > most) fail_msg("%s: error %g, more than %g", dims, worst, most);
    RUN(fft_op(type, type, TN_fft_type_IFFT, 2, length), IN(y), OUT(z));
    for (size_t i = 0; i < size; i++) assert_true(fabsf(x[i] - z[i]) < 1e-5f);
    /* Real, along the last dimension of [lines, n]. */
    if (inner == 1) {
        char real[80], cut[80];
        int64_t half = n / 2 + 1;
        snprintf(real, sizeof real, "%dx%dxf32", (int)lines, (int)n);
        snprintf(cut, sizeof cut, "%dx%dxcomplex<f32>", (int)lines, (int)half);
        for (size_t i = 0; i < size / 2; i++) x[i] = x[2 * i];
        RUN(fft_op(real, cut, TN_fft_type_RFFT, 1, &n), IN(x), OUT(z));
        for (int64_t l = 0; l < lines; l++)
            for (int64_t k = 0; k < 2 * half; k++)
                assert_true(fabs(z[l * 2 * half + k] - out[l * 2 * n + k]) <= most);
        RUN(fft_op(cut, real, TN_fft_type_IRFFT, 1, &n), IN(z), OUT(y));
        for (size_t i = 0; i < size / 2; i++) assert_true(fabsf(x[i] - y[i]) < 1e-5f);
    }
    free(x), free(y), free(z), free(wide), free(out);
}

TEST(narrow_as_wide)
{
    static const int64_t lengths[] = {
        2, 3, 7, 16, 30, 64, 127, 131, 254, 262, 256, 1000, 4096, 1009, 2018, 510, 514, 999, 12288,
        /* One at a time, of whole and other blocks, and halves of such. */
        272, 512, 544, 672, 1344, 1536, 2048};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        check_narrow(1, lengths[i], 1);
        check_narrow(3, lengths[i], 1);
        check_narrow(17, lengths[i] > 3000 ? 8 : lengths[i], 1);
        check_narrow(2, lengths[i] > 3000 ? 8 : lengths[i], 5);
        check_narrow(1, 6, lengths[i]);
    }
}

/* RFFT is FFT cut off; IRFFT brings it back. */
TEST(real_transforms_in_three_dimensions)
{
    static const int64_t shapes[][3] = {{2, 3, 4}, {3, 4, 5}, {1, 1, 1}, {4, 2, 7}};
    for (int s = 0; s < 4; s++) {
        const int64_t *d = shapes[s];
        int64_t half = d[2] / 2 + 1, n = d[0] * d[1] * d[2];
        float x[120], full[240], out[240], spectrum[240], back[120];
        char real[64], whole[64], cut[64];
        snprintf(real, sizeof real, "%dx%dx%dxf32", (int)d[0], (int)d[1], (int)d[2]);
        snprintf(whole, sizeof whole, "%dx%dx%dxcomplex<f32>", (int)d[0], (int)d[1], (int)d[2]);
        snprintf(cut, sizeof cut, "%dx%dx%dxcomplex<f32>", (int)d[0], (int)d[1], (int)half);
        for (int64_t i = 0; i < n; i++) {
            x[i] = (float)random_below(100) / 10;
            full[2 * i] = x[i];
            full[2 * i + 1] = 0;
        }
        for (uint32_t rank = 1; rank <= 3; rank++) {
            const int64_t *length = d + 3 - rank;
            RUN(fft_op(whole, whole, TN_fft_type_FFT, rank, length), IN(full), OUT(spectrum));
            RUN(fft_op(real, cut, TN_fft_type_RFFT, rank, length), IN(x), OUT(out));
            for (int64_t i = 0; i < d[0] * d[1]; i++)
                for (int64_t k = 0; k < 2 * half; k++)
                    assert_true(fabsf(out[i * 2 * half + k] - spectrum[i * 2 * d[2] + k]) < 1e-4f);
            RUN(fft_op(cut, real, TN_fft_type_IRFFT, rank, length), IN(out), OUT(back));
            for (int64_t i = 0; i < n; i++) assert_true(fabsf(back[i] - x[i]) < 1e-5f);
        }
    }
}

TEST(lengths_are_checked)
{
    EXPECT_INVALID(fft_op("4xf32", "3xcomplex<f32>", TN_fft_type_RFFT, 1, (int64_t[]){5}),
                   "dimension 0 of the operand should be 5 by fft_length and is 4");
    EXPECT_INVALID(fft_op("4xf32", "4xcomplex<f32>", TN_fft_type_FFT, 1, (int64_t[]){4}),
                   "should be of complex<f32> or complex<f64>");
    EXPECT_INVALID(
        fft_op("4xcomplex<f32>", "4xcomplex<f32>", TN_fft_type_FFT, 2, (int64_t[]){4, 4}),
        "fft_length should have 1 to 3 values");
    float none;
    RUN(fft_op("0x4xcomplex<f32>", "0x4xcomplex<f32>", TN_fft_type_FFT, 1, (int64_t[]){4}),
        IN(&none), OUT(&none));
}

TEST(large_transforms_are_quick)
{
    enum { N = 1 << 20 };
    float *x = malloc(N * 8), *out = malloc(N * 8);
    for (int i = 0; i < 2 * N; i++) x[i] = (float)(i % 7);
    double t = seconds();
    RUN(fft_op("1048576xcomplex<f32>", "1048576xcomplex<f32>", TN_fft_type_FFT, 1, (int64_t[]){N}),
        IN(x), OUT(out));
    print_message("1 of 1048576: %.1f ms\n", (seconds() - t) * 1e3);
    t = seconds();
    RUN(fft_op("1024x1024xcomplex<f32>", "1024x1024xcomplex<f32>", TN_fft_type_FFT, 2,
               (int64_t[]){1024, 1024}),
        IN(x), OUT(out));
    print_message("1024 x 1024 in two dimensions: %.1f ms\n", (seconds() - t) * 1e3);
    free(x);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_impulse_is_flat),
        cmocka_unit_test(every_length_is_right),
        cmocka_unit_test(narrow_as_wide),
        cmocka_unit_test(real_transforms_in_three_dimensions),
        cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(large_transforms_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
