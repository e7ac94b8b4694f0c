// Functions of floats that the vector unit computes in many steps, for the scalar unit: off by at most 3 ulp of the
// result, or of a result of 1/2 where a sine or cosine is small. Sines and cosines take numbers up to 65504, as the
// vector unit's do; above, the error grows with the number.
#ifndef TILE_SCALAR_FUNCTIONS_H
#define TILE_SCALAR_FUNCTIONS_H

namespace tile {

// sin(x + quarters * pi / 2).
__aicore__ inline float turned_sine(float x, float quarters)
{
    // x = k pi/2 + r; pi/2 is taken off in four parts, of which the first three times k are exact.
    const float k = round_nearest(x * 0.636619772f);
    const float first = (x - k * 1.5703125f) - k * 4.825592041015625e-4f;
    const float r = (first - k * 1.2665987014770508e-6f) - k * 9.920935797e-10f;
    const float z = r * r;
    const float turns = k + quarters;
    const float quarter = turns - 4.0f * round_down(turns * 0.25f);
    float value = 0.0f;
    if (quarter == 1.0f || quarter == 3.0f) {
        const float tail = (2.44331571e-5f * z - 1.38873163e-3f) * z + 4.16666457e-2f;
        value = 1.0f - 0.5f * z + z * z * tail;
    } else {
        const float tail = (-1.95152959e-4f * z + 8.33216087e-3f) * z - 1.66666546e-1f;
        value = r + r * z * tail;
    }
    return quarter >= 2.0f ? -value : value;
}

__aicore__ inline float sine(float x) { return turned_sine(x, 0.0f); }

__aicore__ inline float cosine(float x) { return turned_sine(x, 1.0f); }

__aicore__ inline float hyperbolic_tangent(float x)
{
    const float size = absolute(x);
    if (size < 0.625f) {
        const float z = x * x;
        float sum = -5.70498873e-3f;
        sum = sum * z + 2.06390888e-2f;
        sum = sum * z - 5.37397155e-2f;
        sum = sum * z + 1.33314422e-1f;
        sum = sum * z - 3.33332819e-1f;
        return x + x * z * sum;
    }
    const float value = 1.0f - 2.0f / (exponential(2.0f * size) + 1.0f);
    return x < 0.0f ? -value : value;
}

__aicore__ inline float error_function(float x)
{
    const float size = absolute(x);
    if (size < 1.0f) {
        const float z = x * x;
        float sum = 7.85386115e-5f;
        sum = sum * z - 8.01019363e-4f;
        sum = sum * z + 5.18832769e-3f;
        sum = sum * z - 2.68538119e-2f;
        sum = sum * z + 1.12835851e-1f;
        sum = sum * z - 3.76126258e-1f;
        return x * (sum * z + 1.12837917f);
    }
    const float t = 1.0f / (1.0f + 0.3275911f * size);
    float sum = 1.061405429f;
    sum = sum * t - 1.453152027f;
    sum = sum * t + 1.421413741f;
    sum = sum * t - 0.284496736f;
    sum = sum * t + 0.254829592f;
    const float value = 1.0f - sum * t * exponential(-size * size);
    return x < 0.0f ? -value : value;
}

}  // namespace tile

#endif
