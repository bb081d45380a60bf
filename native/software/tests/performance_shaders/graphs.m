/* MPSGraph's operations against float64, but convolutions. */
#include "graph_test.h"

static void test_arithmetic(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        const MPSDataType type = types[t];
        MPSGraph *graph = [[MPSGraph new] autorelease];
        MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(2, 3, 5) dataType:type name:@"a"];
        MPSGraphTensor *b = [graph placeholderWithShape:SHAPE(3, 1) dataType:type name:@"b"];
        MPSGraphTensor *sum = [graph additionWithPrimaryTensor:a secondaryTensor:b name:nil];
        MPSGraphTensor *half = [graph constantWithScalar:-0.5 dataType:type];
        MPSGraphTensor *product = [graph multiplicationWithPrimaryTensor:sum secondaryTensor:half name:nil];
        MPSGraphTensor *relu = [graph reLUWithTensor:product name:@"relu"];
        CHECK([[relu shape] isEqual:SHAPE(2, 3, 5)] && [relu dataType] == type);
        CHECK([[graph placeholderTensors] isEqual:[NSArray arrayWithObjects:a, b, nil]]);
        CHECK([[[relu operation] name] isEqual:@"relu"] && [[relu operation] graph] == graph);
        CHECK([[[relu operation] inputTensors] isEqual:[NSArray arrayWithObject:product]]);
        MPSGraphTensorData *x = random_data(SHAPE(2, 3, 5), type), *y = random_data(SHAPE(3, 1), type);
        NSDictionary *results = run_graph(graph, feeds(a, x, b, y, nil), [NSArray arrayWithObjects:relu, sum, nil]);
        double *p = values(x), *q = values(y), *r = values([results objectForKey:relu]);
        double *s = values([results objectForKey:sum]);
        NSUInteger wrong = 0;
        for (int i = 0; i < 30; i++) {
            const double expected = p[i] + q[i / 5 % 3];
            wrong += !is_close(s[i], expected, rounding(type, expected));
            wrong += !is_close(r[i], fmax(-0.5 * s[i], 0), 0x1p-24 + 2 * rounding(type, s[i]));
        }
        CHECK(wrong == 0);
        release_values(p, q, r, s);
    }
}

static void test_shapes(void) {
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(-1, 6) dataType:MPSDataTypeFloat32 name:@"a"];
    MPSGraphTensor *transposed = [graph transposeTensor:a dimension:0 withDimension:1 name:nil];
    MPSGraphTensor *flat = [graph reshapeTensor:transposed withShape:SHAPE(3, -1) name:nil];
    MPSGraphTensor *again = [graph reshapeTensor:flat withShape:SHAPE(2, 3, -1) name:nil];
    MPSGraphTensor *cast = [graph castTensor:again toType:MPSDataTypeFloat16 name:nil];
    CHECK([transposed shape] == nil && [cast dataType] == MPSDataTypeFloat16);
    MPSGraphTensorData *x = random_data(SHAPE(4, 6), MPSDataTypeFloat32);
    /* Results that are views, what was fed, and one twice. */
    NSDictionary *results =
        run_graph(graph, feeds(a, x, nil), [NSArray arrayWithObjects:transposed, flat, again, cast, a, nil]);
    CHECK([[[results objectForKey:again] shape] isEqual:SHAPE(2, 3, 4)]);
    double *p = values(x), *t = values([results objectForKey:transposed]), *f = values([results objectForKey:flat]);
    double *g = values([results objectForKey:again]), *c = values([results objectForKey:cast]);
    double *same = values([results objectForKey:a]);
    NSUInteger wrong = 0;
    for (int i = 0; i < 24; i++) {
        const double expected = p[i % 4 * 6 + i / 4];
        wrong += t[i] != expected || f[i] != expected || g[i] != expected || same[i] != p[i];
        wrong += !is_close(c[i], expected, 0x1p-11 * fabs(expected));
    }
    CHECK(wrong == 0);
    release_values(p, t, f, g);
    release_values(c, same, NULL, NULL);
}

static void check_normalization(MPSDataType type, NSArray *axes, int given) {
    enum {
        N = 3,
        C = 4,
        S = 70
    };
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:nil dataType:type name:@"a"];
    MPSGraphTensor *gamma = [graph placeholderWithShape:SHAPE(C, 1) dataType:type name:@"gamma"];
    MPSGraphTensor *beta = [graph placeholderWithShape:SHAPE(1, C, 1) dataType:type name:@"beta"];
    MPSGraphTensor *mean = [graph meanOfTensor:a axes:axes name:nil];
    MPSGraphTensor *variance = given & 1 ? [graph varianceOfTensor:a meanTensor:mean axes:axes name:nil]
                                         : [graph varianceOfTensor:a axes:axes name:nil];
    MPSGraphTensor *result = [graph normalizationWithTensor:a meanTensor:mean varianceTensor:variance
                                                gammaTensor:given & 2 ? gamma : nil
                                                 betaTensor:given & 1 ? beta : nil
                                                    epsilon:0.01f
                                                       name:nil];
    MPSGraphTensorData *x = random_data(SHAPE(N, C, S), type), *g = random_data(SHAPE(C, 1), type);
    MPSGraphTensorData *b = random_data(SHAPE(1, C, 1), type);
    NSDictionary *results =
        run_graph(graph, feeds(a, x, gamma, g, beta, b, nil), [NSArray arrayWithObjects:mean, variance, result, nil]);
    double *p = values(x), *q = values(g), *r = values(b), *m = values([results objectForKey:mean]);
    double *v = values([results objectForKey:variance]), *y = values([results objectForKey:result]);
    NSUInteger wrong = 0;
    const BOOL batch = [axes count] == 2, last = !batch;
    for (int c = 0; c < (batch ? C : N * C); c++) {
        double sum = 0, squares = 0;
        const int rows = batch ? N * S : S;
#define AT(i) (batch ? ((i) / S * C + c) * S + (i) % S : c * S + (i))
        for (int i = 0; i < rows; i++) sum += p[AT(i)];
        wrong += !is_close(m[c], sum / rows, rounding(type, sum / rows) + 0x1p-24);
        /* From here on with the mean and variance as the type holds them. */
        const double middle = given & 1 ? m[c] : sum / rows;
        for (int i = 0; i < rows; i++) squares += (p[AT(i)] - middle) * (p[AT(i)] - middle);
        wrong += !is_close(v[c], squares / rows, rounding(type, v[c]) + 0x1p-20);
        for (int i = 0; i < rows; i++) {
            const int channel = batch ? c : c % C;
            double expected = (p[AT(i)] - m[c]) / sqrt(v[c] + 0.01f);
            expected *= given & 2 ? q[channel] : 1;
            expected += given & 1 ? r[channel] : 0;
            wrong += !is_close(y[AT(i)], expected, rounding(type, expected) + 0x1p-20);
        }
#undef AT
    }
    CHECK(wrong == 0 && (batch || last));
    release_values(p, q, r, m);
    release_values(v, y, NULL, NULL);
}

static void test_normalization(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        for (int given = 0; given < 4; given++) {
            check_normalization(types[t], SHAPE(0, 2), given);
            check_normalization(types[t], SHAPE(-1), given);
        }
    }
}

static void test_softmax(void) {
    for (int axis = -1; axis < 2; axis++) {
        MPSGraph *graph = [[MPSGraph new] autorelease];
        MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(5, 7, 3) dataType:MPSDataTypeFloat32 name:@"a"];
        MPSGraphTensor *result = [graph softMaxWithTensor:a axis:axis name:nil];
        MPSGraphTensorData *x = random_data(SHAPE(5, 7, 3), MPSDataTypeFloat32);
        NSDictionary *results = run_graph(graph, feeds(a, x, nil), [NSArray arrayWithObject:result]);
        double *p = values(x), *y = values([results objectForKey:result]);
        const int strides[] = {21, 3, 1}, lengths[] = {5, 7, 3}, d = axis < 0 ? 2 : axis;
        NSUInteger wrong = 0;
        for (int i = 0; i < 105; i++) {
            const int first = i - i / strides[d] % lengths[d] * strides[d];
            double sum = 0;
            for (int j = 0; j < lengths[d]; j++) sum += exp(p[first + j * strides[d]]);
            wrong += !is_close(y[i], exp(p[i]) / sum, 0x1p-20 * y[i]);
        }
        CHECK(wrong == 0);
        release_values(p, y, NULL, NULL);
    }
}

static void test_products(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        MPSGraph *graph = [[MPSGraph new] autorelease];
        MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(2, 1, 9, 31) dataType:types[t] name:@"a"];
        MPSGraphTensor *b = [graph placeholderWithShape:SHAPE(3, 6, 31) dataType:types[t] name:@"b"];
        MPSGraphTensor *turned = [graph transposeTensor:b dimension:1 withDimension:2 name:nil];
        MPSGraphTensor *product = [graph matrixMultiplicationWithPrimaryTensor:a secondaryTensor:turned name:nil];
        CHECK([[product shape] isEqual:SHAPE(2, 3, 9, 6)]);
        MPSGraphTensorData *x = random_data(SHAPE(2, 1, 9, 31), types[t]), *y = random_data(SHAPE(3, 6, 31), types[t]);
        NSDictionary *results = run_graph(graph, feeds(a, x, b, y, nil), [NSArray arrayWithObject:product]);
        double *p = values(x), *q = values(y), *r = values([results objectForKey:product]);
        NSUInteger wrong = 0;
        for (int i = 0; i < 2 * 3 * 9 * 6; i++) {
            double sum = 0;
            for (int k = 0; k < 31; k++)
                sum += p[(i / 162 * 9 + i / 6 % 9) * 31 + k] * q[(i / 54 % 3 * 6 + i % 6) * 31 + k];
            wrong += !is_close(r[i], sum, rounding(types[t], sum) + 0x1p-18);
        }
        CHECK(wrong == 0);
        release_values(p, q, r, NULL);
    }
}

static void check_attention(MPSDataType type, int heads, int groups, BOOL masked) {
    enum {
        B = 2,
        Q = 11,
        K = 23,
        F = 16,
        V = 5
    };
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *q = [graph placeholderWithShape:SHAPE(B, heads, Q, F) dataType:type name:@"q"];
    MPSGraphTensor *k = [graph placeholderWithShape:SHAPE(B, groups, K, F) dataType:type name:@"k"];
    MPSGraphTensor *v = [graph placeholderWithShape:SHAPE(B, groups, K, V) dataType:type name:@"v"];
    MPSGraphTensor *m = [graph placeholderWithShape:SHAPE(1, Q, K) dataType:type name:@"m"];
    MPSGraphTensor *result = masked ? [graph scaledDotProductAttentionWithQueryTensor:q keyTensor:k valueTensor:v
                                                                           maskTensor:m
                                                                                scale:0.25f
                                                                                 name:nil]
                                    : [graph scaledDotProductAttentionWithQueryTensor:q keyTensor:k valueTensor:v
                                                                                scale:0.25f
                                                                                 name:nil];
    CHECK([[result shape] isEqual:SHAPE(B, heads, Q, V)]);
    MPSGraphTensorData *qd = random_data(SHAPE(B, heads, Q, F), type), *kd = random_data(SHAPE(B, groups, K, F), type);
    MPSGraphTensorData *vd = random_data(SHAPE(B, groups, K, V), type), *md = random_data(SHAPE(1, Q, K), type);
    /* Causal, as far as it goes. */
    for (int i = 0; i < Q; i++)
        for (int j = i + 13; j < K; j++)
            store([[[md mpsndarray] userBuffer] contents], type, (size_t)(i * K + j), -INFINITY);
    NSDictionary *results = run_graph(graph, feeds(q, qd, k, kd, v, vd, m, md, nil), [NSArray arrayWithObject:result]);
    double *x = values(qd), *y = values(kd), *z = values(vd), *mask = values(md),
           *r = values([results objectForKey:result]);
    NSUInteger wrong = 0;
    for (int row = 0; row < B * heads * Q; row++) {
        const int group = row / Q / heads * groups + row / Q % heads / (heads / groups);
        double scores[K], sum = 0;
        for (int j = 0; j < K; j++) {
            double score = 0;
            for (int f = 0; f < F; f++) score += x[row * F + f] * y[(group * K + j) * F + f];
            scores[j] = exp(0.25 * score + (masked ? mask[row % Q * K + j] : 0));
            sum += scores[j];
        }
        for (int f = 0; f < V; f++) {
            double value = 0;
            for (int j = 0; j < K; j++) value += scores[j] / sum * z[(group * K + j) * V + f];
            wrong += !is_close(r[row * V + f], value, rounding(type, value) + 0x1p-19);
        }
    }
    CHECK(wrong == 0);
    release_values(x, y, z, mask);
    release_values(r, NULL, NULL, NULL);
}

static void test_attention(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        check_attention(types[t], 4, 4, NO);
        check_attention(types[t], 6, 2, YES);
        check_attention(types[t], 3, 1, YES);
    }
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_arithmetic);
        RUN(test_shapes);
        RUN(test_normalization);
        RUN(test_softmax);
        RUN(test_products);
        RUN(test_attention);
        return end_tests();
    }
}
