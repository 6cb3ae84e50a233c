/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that StableHLO defines on quantized types as: dequantize, compute, quantize. */
#include "executable/compile_options.h"
#include "executable/program_test.h"

#define Q "!quant.uniform<i8:f32, 0.5:-1>"
#define R "!quant.uniform<i8:f32, 0.25:3>"

/* x = [1, 3], scale 2, offset 1, mean 2, variance 4: 2 * (x - 2) / 2 + 1 = [0, 2]. */
static void batch_norm_inference(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<2x1x" Q ">, %s: tensor<1x" Q ">, %o: tensor<1x" Q
        ">, %m: tensor<1x" R ">, %v: tensor<1x" Q ">) -> tensor<2x1x" R "> {\n"
        "%r = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %m, %v) <{epsilon = 0.0 : f32, "
        "feature_index = 1 : i64}> : (tensor<2x1x" Q ">, tensor<1x" Q ">, tensor<1x" Q
        ">, tensor<1x" R ">, tensor<1x" Q ">) -> tensor<2x1x" R ">\n"
        "return %r : tensor<2x1x" R ">\n}";
    tn_compile_options *options;
    tn_executable *e = NULL;
    assert_null(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, &e);
    tn_compile_options_free(options);
    if (s) fail_msg("%s", tn_status_message(s));
    /* stored = real / 0.5 - 1, of the mean real / 0.25 + 3 */
    _Alignas(64) int8_t x[64] = {1, 5}, scale[64] = {3}, offset[64] = {1}, mean[64] = {11},
                        variance[64] = {7}, out[64];
    void *args[] = {x, scale, offset, mean, variance}, *results[] = {out};
    assert_null(run_executable(e, args, results));
    assert_int_equal(out[0], 0 / 0.25 + 3);
    assert_int_equal(out[1], 2 / 0.25 + 3);
    tn_executable_release(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_norm_inference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
