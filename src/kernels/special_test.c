/* SPDX-License-Identifier: Apache-2.0 */
/* Values from mpmath, 20 digits, of the f64 that the argument is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/special.h"

static const struct {
    const char *name;
    double x, y;
    long double want;
} values[] = {
    // clang-format off
    {"digamma", 36.716241733235336, 0, 3.58953944806194646692L},
    {"digamma", 4049.887691622393, 0, 8.30632096395794124106L},
    {"digamma", 8222417.985341284, 0, 1.59223748217674238869e+1L},
    {"digamma", -17.725008164085164, 0, 2.19607141797895715413e-1L},
    {"lgamma", 18.9303755404512, 0, 3.61924196736957905739e+1L},
    {"lgamma", 0.8788904774084614, 0, 8.27458423902640176853e-2L},
    {"lgamma", -9.605473497703784, 0, -1.29834217214435545872e+1L},
    {"lgamma", -2.390630337759937, 0, 1.22636436389621043542e-1L},
    {"erf_inv", 0.456495689573587, 0, 4.29583178168598659527e-1L},
    {"erf_inv", -0.47603193731022597, 0, -4.50597228817661128317e-1L},
    {"erf_inv", -0.281155936029692, 0, -2.54561343701839576058e-1L},
    {"erf_inv", -0.765126564614327, 0, -8.39971022553291377561e-1L},
    {"bessel_i1e", -35.836364321458476, 0, -6.5938417911244737017e-2L},
    {"bessel_i1e", 1.5272710155420758e-07, 0, 7.63635391143211287183e-8L},
    {"bessel_i1e", 31.159477493366666, 0, 7.05995577546959016789e-2L},
    {"bessel_i1e", 25.941592834999497, 0, 7.71806585973684240685e-2L},
    {"zeta", 18.18528787113074, 36.914944294051935, 8.50263435587067782669e-29L},
    {"zeta", 29.06480313663245, 46.13603594169992, 9.47622108573573462997e-49L},
    {"zeta", 29.59732379507594, 42.45440589878817, 1.34254508496200475978e-48L},
    {"zeta", 50.85069353366935, 1320.2236988908087, 5.54702305311396693218e-158L},
    {"polygamma", 8.0, 44.07862726735226, -3.86862587059630297763e-10L},
    {"polygamma", 11.0, 55.998547225704094, 2.35445508048475629027e-13L},
    {"polygamma", 1.0, 9.859877277919148, 1.06737783233042565829e-1L},
    {"polygamma", 2.0, 6.692930979590909, -2.59065421227142965132e-2L},
    {"erf", 1.8504178754278247, 0, 9.9112640428373234112e-1L},
    {"erf", 0.5388195769349418, 0, 5.53943549017886475418e-1L},
    {"erf", -5.221779014143381, 0, -9.99999999999847214774e-1L},
    {"erf", -0.7589586719117722, 0, -7.16876762217045960041e-1L},
    {"erfc", 3.695548567423451, 0, 1.72940451890591065244e-7L},
    {"erfc", 22.566681889485817, 0, 1.70152566722801597023e-223L},
    {"erfc", 18.569610042324125, 0, 5.29721347694441820467e-152L},
    {"erfc", 21.394902371409003, 0, 4.22554914813946191995e-201L},
    // clang-format on
};

static void values_are_right(void **state)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const tn_special_function *f = tn_special_find(values[i].name);
        assert_non_null(f);
        long double got = f->real((long double[]){values[i].x, values[i].y});
        if (fabsl(got - values[i].want) > 1e-17L * fabsl(values[i].want))
            fail_msg("%s(%.17g, %.17g): expected %.20Lg, got %.20Lg", values[i].name, values[i].x,
                     values[i].y, values[i].want, got);
    }
}

static void edges(void **state)
{
    const struct {
        const char *name;
        double x, y, want;
    } cases[] = {
        {"lgamma", 0, 0, INFINITY},
        {"lgamma", -INFINITY, 0, INFINITY},
        {"digamma", 0, 0, NAN},
        {"digamma", -3, 0, NAN},
        {"digamma", INFINITY, 0, INFINITY},
        {"erf_inv", 1, 0, INFINITY},
        {"erf_inv", -1, 0, -INFINITY},
        {"erf_inv", 1.5, 0, NAN},
        {"erf", INFINITY, 0, 1},
        {"erfc", -INFINITY, 0, 2},
        {"bessel_i1e", INFINITY, 0, 0},
        {"bessel_i1e", NAN, 0, NAN},
        {"zeta", 1, 2, INFINITY},
        {"zeta", 0.5, 2, NAN},
        {"zeta", 2, 0, INFINITY},
        {"zeta", 3, -1, NAN},
        {"zeta", 2.5, -0.5, NAN},
        {"polygamma", 1.5, 2, NAN},
        {"polygamma", -1, 2, NAN},
        {"acosh", 0.5, 0, NAN},
        {"atanh", 1, 0, INFINITY},
        {"acos", 2, 0, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tn_special_function *f = tn_special_find(cases[i].name);
        double got = (double)f->real((long double[]){cases[i].x, cases[i].y});
        if (!(got == cases[i].want || (isnan(got) && isnan(cases[i].want))))
            fail_msg("%s(%g, %g): expected %g, got %g", cases[i].name, cases[i].x, cases[i].y,
                     cases[i].want, got);
    }
    assert_null(tn_special_find("erfinv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_right), cmocka_unit_test(edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
