/* PAMIR as the paper has it: draw a query, a picture that fits it and one that does not; one step.
   The weights of a word lie side by side, as ours do; the other order takes half as long again. */
#include <stdint.h>

static uint64_t following(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return *state = x;
}

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(((following(state) >> 32) * n) >> 32);
}

static int holds(const int32_t *fit, int64_t begin, int64_t end, int32_t picture) {
    for (int64_t i = begin; i < end; i++)
        if (fit[i] == picture) return 1;
    return 0;
}

int64_t pamir(float *W, int64_t n_features, const int64_t *start, const int32_t *column,
              const float *value, int64_t n_pictures, const int64_t *q_start, const int32_t *term,
              const float *weight, int64_t n_queries, const int64_t *fit_start, const int32_t *fit,
              int64_t n_iter, float C, uint64_t seed, float *difference) {
    int64_t updates = 0;
    for (int64_t i = 0; i < n_iter; i++) {
        uint32_t q = below(&seed, n_queries);
        int64_t first = fit_start[q], last = fit_start[q + 1];
        int32_t p = fit[first + below(&seed, last - first)], m;
        do m = below(&seed, n_pictures); while (holds(fit, first, last, m));

        float margin = 0, q2 = 0;
        for (int64_t k = q_start[q]; k < q_start[q + 1]; k++) {
            const float *w = W + term[k] * n_features;
            float sum = 0;
            for (int64_t j = start[p]; j < start[p + 1]; j++) sum += w[column[j]] * value[j];
            for (int64_t j = start[m]; j < start[m + 1]; j++) sum -= w[column[j]] * value[j];
            margin += weight[k] * sum;
            q2 += weight[k] * weight[k];
        }
        if (margin >= 1) continue;

        float d2 = 0;
        for (int64_t j = start[p]; j < start[p + 1]; j++) difference[column[j]] += value[j];
        for (int64_t j = start[m]; j < start[m + 1]; j++) difference[column[j]] -= value[j];
        for (int64_t j = start[p]; j < start[p + 1]; j++) {
            d2 += difference[column[j]] * difference[column[j]];
            difference[column[j]] = 0;
        }
        for (int64_t j = start[m]; j < start[m + 1]; j++) {
            d2 += difference[column[j]] * difference[column[j]];
            difference[column[j]] = 0;
        }
        if (q2 * d2 <= 1e-12f) continue;
        float tau = (1 - margin) / (q2 * d2);
        if (tau > C) tau = C;
        updates++;
        for (int64_t k = q_start[q]; k < q_start[q + 1]; k++) {
            float *w = W + term[k] * n_features;
            float step = tau * weight[k];
            for (int64_t j = start[p]; j < start[p + 1]; j++) w[column[j]] += step * value[j];
            for (int64_t j = start[m]; j < start[m + 1]; j++) w[column[j]] -= step * value[j];
        }
    }
    return updates;
}
