/*
 * The limits of one thread, measured another way than the library does: in C, with other loops, whole passes timed one by
 * one, the shortest taken. Prints one number: operations or bytes per second, or 0 where the CPU lacks the instructions.
 *
 *   limits f32|int8 MILLISECONDS
 *   limits read BYTES MILLISECONDS
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define STEPS 4000
#define AVX2 __attribute__((target("avx2,fma"), noinline))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"), noinline))

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile float float_sink;
static volatile int64_t integer_sink;

/* Ten sums, spelled out: the library has twelve in an array. Each step is 10 multiplications and additions of a vector. */
#define TEN(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9)

AVX2 static double f32_avx2(void) {
    __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
#define SUM(i) __m256 s##i = _mm256_set1_ps((float)i);
    TEN(SUM)
#undef SUM
    for (int step = 0; step < STEPS; step++) {
#define ADD(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(s##i) : "x"(a), "x"(b));
        TEN(ADD)
#undef ADD
    }
#define SINK(i) float_sink = _mm256_cvtss_f32(s##i);
    TEN(SINK)
#undef SINK
    return 10.0 * 8 * 2 * STEPS;
}

AVX512 static double f32_avx512(void) {
    __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
#define SUM(i) __m512 s##i = _mm512_set1_ps((float)i);
    TEN(SUM)
#undef SUM
    for (int step = 0; step < STEPS; step++) {
#define ADD(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(s##i) : "v"(a), "v"(b));
        TEN(ADD)
#undef ADD
    }
#define SINK(i) float_sink = _mm512_cvtss_f32(s##i);
    TEN(SINK)
#undef SINK
    return 10.0 * 16 * 2 * STEPS;
}

AVX2 static double int8_avx2(void) {
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5), ones = _mm256_set1_epi16(1);
#define SUM(i) __m256i s##i = _mm256_set1_epi32(i);
    TEN(SUM)
#undef SUM
    for (int step = 0; step < STEPS; step++) {
#define ADD(i)                                                            \
    {                                                                     \
        __m256i product;                                                  \
        __asm__ volatile("vpmaddubsw %1, %2, %0\n\tvpmaddwd %3, %0, %0" \
                         : "=&x"(product)                                 \
                         : "x"(b), "x"(a), "x"(ones));                    \
        s##i = _mm256_add_epi32(s##i, product);                           \
    }
        TEN(ADD)
#undef ADD
    }
#define SINK(i) integer_sink = _mm256_extract_epi32(s##i, 0);
    TEN(SINK)
#undef SINK
    return 10.0 * 32 * 2 * STEPS;
}

AVX512 static double int8_avx512(void) {
    __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5);
#define SUM(i) __m512i s##i = _mm512_set1_epi32(i);
    TEN(SUM)
#undef SUM
    for (int step = 0; step < STEPS; step++) {
#define ADD(i) __asm__ volatile("vpdpbusd %1, %2, %0" : "+v"(s##i) : "v"(b), "v"(a));
        TEN(ADD)
#undef ADD
    }
#define SINK(i) integer_sink = _mm_cvtsi128_si32(_mm512_castsi512_si128(s##i));
    TEN(SINK)
#undef SINK
    return 10.0 * 64 * 2 * STEPS;
}

/* Sums of 64-bit numbers of four streams, two lines of each at a time, where the library takes the exclusive or. */
#define EIGHT(step) step(0, 0) step(1, 0) step(2, 0) step(3, 0) step(0, 1) step(1, 1) step(2, 1) step(3, 1)

AVX2 static void sum_avx2(const char *from, size_t stride, size_t bytes, size_t repeats) {
#define SUM(stream, half) __m256i s##stream##half = _mm256_setzero_si256();
    EIGHT(SUM)
#undef SUM
    while (repeats--) {
        const char *line = from;
        for (size_t at = 0; at < bytes; at += 128, line += 128) {
#define ADD(stream, half)                                                                                     \
    s##stream##half = _mm256_add_epi64(s##stream##half, *(const __m256i *)(line + stream * stride + half * 32)); \
    s##stream##half = _mm256_add_epi64(s##stream##half, *(const __m256i *)(line + stream * stride + half * 32 + 64));
            EIGHT(ADD)
#undef ADD
        }
        __asm__ volatile("" ::: "memory");
    }
#define SINK(stream, half) integer_sink = _mm256_extract_epi64(s##stream##half, 0);
    EIGHT(SINK)
#undef SINK
}

AVX512 static void sum_avx512(const char *from, size_t stride, size_t bytes, size_t repeats) {
#define SUM(stream, half) __m512i s##stream##half = _mm512_setzero_si512();
    EIGHT(SUM)
#undef SUM
    while (repeats--) {
        const char *line = from;
        for (size_t at = 0; at < bytes; at += 128, line += 128) {
#define ADD(stream, half) \
    s##stream##half = _mm512_add_epi64(s##stream##half, *(const __m512i *)(line + stream * stride + half * 64));
            EIGHT(ADD)
#undef ADD
        }
        __asm__ volatile("" ::: "memory");
    }
#define SINK(stream, half) integer_sink = _mm_cvtsi128_si64(_mm512_castsi512_si128(s##stream##half));
    EIGHT(SINK)
#undef SINK
}

static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

/* The best rate of passes that follow one another for so long. */
static double best_arithmetic(double (*pass)(void), double duration) {
    double best = 0, end = seconds() + duration;
    while (seconds() < end) {
        double start = seconds(), work = pass(), rate = work / (seconds() - start);
        if (rate > best) best = rate;
    }
    return best;
}

/* Passes over all of a small buffer, or over piece after piece of a large one. */
static double best_read(void (*sum)(const char *, size_t, size_t, size_t), const char *buffer, size_t bytes, double duration) {
    double best = 0, end = seconds() + duration;
    size_t quarter = bytes / 4, most = (size_t)10 << 20, piece = quarter < most ? quarter : most, at = 0;
    size_t repeats = 1 + ((size_t)2 << 20) / bytes;
    while (seconds() < end) {
        double start = seconds();
        sum(buffer + at, quarter, piece, repeats);
        double rate = 4.0 * (double)piece * (double)repeats / (seconds() - start);
        if (rate > best) best = rate;
        at = at + 2 * piece <= quarter ? at + piece : 0;
    }
    return best;
}

static double read_rate(size_t bytes, double duration) {
    const size_t huge = (size_t)2 << 20;
    size_t whole = (bytes + huge - 1) / huge * huge;
    char *buffer = aligned_alloc(huge, whole);
    if (!buffer) return 0;
    madvise(buffer, whole, MADV_HUGEPAGE);
    memset(buffer, 1, whole);
    double best = has_avx2() ? best_read(sum_avx2, buffer, bytes, duration / 2) : 0;
    double wide = has_avx512() ? best_read(sum_avx512, buffer, bytes, duration / 2) : 0;
    free(buffer);
    return wide > best ? wide : best;
}

int main(int count, char **arguments) {
    __builtin_cpu_init();
    double best = 0, wide = 0;
    if (count == 4 && !strcmp(arguments[1], "read")) {
        best = read_rate(strtoull(arguments[2], NULL, 10), atof(arguments[3]) / 1e3);
    } else if (count == 3) {
        double duration = atof(arguments[2]) / 2e3;
        int is_float = !strcmp(arguments[1], "f32");
        if (has_avx2()) best = best_arithmetic(is_float ? f32_avx2 : int8_avx2, duration);
        if (has_avx512()) wide = best_arithmetic(is_float ? f32_avx512 : int8_avx512, duration);
    } else {
        fprintf(stderr, "usage: limits f32|int8 MILLISECONDS | limits read BYTES MILLISECONDS\n");
        return 2;
    }
    printf("%.0f\n", wide > best ? wide : best);
    return 0;
}
