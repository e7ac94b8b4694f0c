// Values of both kernels against the same in plain C++, for numbers of tokens that fill no block, and what happens
// where no variant fits. Prints the first thing that is wrong.
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tile_ascend/device_memory.h"
#include "wrappers.h"

using tile_ascend::DeviceMemory;
using tile_ascend::TilelangDType;

namespace {

std::mt19937 generator(0);

std::vector<float> numbers(size_t count)
{
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) {
        value = normal(generator);
    }
    return values;
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected, const std::string& what)
{
    for (size_t i = 0; i < expected.size(); ++i) {
        if (!(std::abs(found[i] - expected[i]) <= 1e-5f + 1e-5f * std::abs(expected[i]))) {
            throw std::runtime_error(what + "[" + std::to_string(i) + "] is " + std::to_string(found[i]) +
                                     ", expected " + std::to_string(expected[i]));
        }
    }
}

void test_rope(size_t tokens, size_t dim)
{
    const size_t half = dim / 2;
    const auto x = numbers(tokens * dim);
    const auto cos = numbers(tokens * half);
    const auto sin = numbers(tokens * half);
    DeviceMemory<float> dx(x, "x"), dcos(cos, "cos"), dsin(sin, "sin"), dy(tokens * dim, "y");
    example::rope(dx.handle(), dcos.handle(), dsin.handle(), dy.handle(), static_cast<int64_t>(tokens),
        static_cast<int32_t>(dim), TilelangDType::kFloat32, nullptr);
    tile_ascend::synchronize(nullptr);
    std::vector<float> y(tokens * dim);
    for (size_t t = 0; t < tokens; ++t) {
        for (size_t j = 0; j < half; ++j) {
            const float left = x[t * dim + j], right = x[t * dim + half + j];
            const float c = cos[t * half + j], s = sin[t * half + j];
            y[t * dim + j] = left * c - right * s;
            y[t * dim + half + j] = right * c + left * s;
        }
    }
    expect_close(dy.to_host(), y, "y");
}

void test_gating(size_t tokens, size_t heads)
{
    const auto a_log = numbers(heads), bias = numbers(heads);
    const auto a = numbers(tokens * heads), b = numbers(tokens * heads);
    DeviceMemory<float> da_log(a_log, "a_log"), dbias(bias, "bias"), da(a, "a"), db(b, "b");
    DeviceMemory<float> dg(tokens * heads, "g"), dbeta(tokens * heads, "beta");
    example::fused_gating({da_log.handle(), dbias.handle(), da.handle(), db.handle()}, dg.handle(), dbeta.handle(),
        static_cast<int64_t>(tokens), static_cast<int32_t>(heads), nullptr);
    tile_ascend::synchronize(nullptr);
    std::vector<float> g(tokens * heads), beta(tokens * heads);
    for (size_t i = 0; i < tokens * heads; ++i) {
        const double x = static_cast<double>(a[i]) + static_cast<double>(bias[i % heads]);
        g[i] = static_cast<float>(-std::exp(static_cast<double>(a_log[i % heads])) * std::log1p(std::exp(x)));
        beta[i] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(b[i]))));
    }
    expect_close(dg.to_host(), g, "g");
    expect_close(dbeta.to_host(), beta, "beta");
}

void test_miss()
{
    for (const auto dtype : {TilelangDType::kFloat32, TilelangDType::kBF16}) {
        try {
            example::rope(nullptr, nullptr, nullptr, nullptr, 1, dtype == TilelangDType::kBF16 ? 64 : 96, dtype,
                nullptr);
        } catch (const std::invalid_argument& error) {
            if (std::string(error.what()).find("rd64_fp32") != std::string::npos) {
                continue;
            }
        }
        throw std::runtime_error("a variant that is not there is an error that names those there are");
    }
}

#ifdef TILE_ASCEND_SIMULATOR
// A tensor that is too small is told as what it is.
void test_short_memory()
{
    DeviceMemory<float> x(64, "x"), y(64, "y"), cos(32, "cos"), sin(32, "sin");
    example::rope(x.handle(), cos.handle(), sin.handle(), y.handle(), 2, 64, TilelangDType::kFloat32, nullptr);
    try {
        tile_ascend::synchronize(nullptr);
    } catch (const std::runtime_error& error) {
        if (std::string(error.what()).find("out-of-bounds") != std::string::npos) {
            return;
        }
    }
    throw std::runtime_error("two rows of a tensor of one row are out of bounds");
}
#endif

}  // namespace

int main(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "all";
    try {
        for (const size_t tokens : {1, 15, 16, 17, 400, 1000}) {
            if (what != "gating" && what != "miss") {
                test_rope(tokens, 64);
                test_rope(tokens, 128);
            }
            if (what != "rope" && what != "miss") {
                test_gating(tokens, 8);
                test_gating(tokens, 32);
            }
        }
        if (what == "miss" || what == "all") {
            test_miss();
#ifdef TILE_ASCEND_SIMULATOR
            test_short_memory();
#endif
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    std::printf("%s: passed\n", what.c_str());
    return 0;
}
