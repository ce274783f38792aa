// A small training program in the manner of LoopOS: OpenMP over the sequences of a batch, same-named methods in several
// classes, one shared matmul and softmax. Its work is known, so every call count is checked, for any number of threads.
#include <cmath>

#include <omp.h>

#include "check.hpp"

namespace {
constexpr int kEpochs = 2, kBatches = 8, kSequences = 8, kLayers = 3, kHeads = 2, kTokens = 16, kWidth = 16;

struct Matrix {
    int rows, columns;
    std::vector<float> values;
    Matrix(int r, int c, float fill = 0.01f)
        : rows(r), columns(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c), fill) {}
    float& at(int r, int c) { return values[static_cast<std::size_t>(r * columns + c)]; }
    float at(int r, int c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
};

Matrix matmul(const Matrix& a, const Matrix& b) {
    PROFILE_SCOPE_WORK("matmul", 2LL * a.rows * a.columns * b.columns, 4LL * (a.rows + b.rows) * a.columns, 0);
    Matrix out(a.rows, b.columns, 0);
    for (int i = 0; i < a.rows; ++i)
        for (int k = 0; k < a.columns; ++k)
            for (int j = 0; j < b.columns; ++j) out.at(i, j) += a.at(i, k) * b.at(k, j);
    return out;
}

void softmax(Matrix& m) {
    PROFILE_FUNCTION();
    for (int i = 0; i < m.rows; ++i) {
        float sum = 0;
        for (int j = 0; j < m.columns; ++j) sum += m.at(i, j) = std::exp(m.at(i, j));
        for (int j = 0; j < m.columns; ++j) m.at(i, j) /= sum;
    }
}
}  // namespace

namespace loop {
class FeedForward {
public:
    Matrix forward_cached(const Matrix& x) const {
        PROFILE_FUNCTION();
        return matmul(matmul(x, weight_), weight_);
    }
    Matrix backward(const Matrix& gradient) const {
        PROFILE_FUNCTION();
        return matmul(gradient, weight_);
    }

private:
    Matrix weight_{kWidth, kWidth};
};

class Attention {
public:
    Matrix forward_cached(const Matrix& x) const {
        PROFILE_FUNCTION();
        Matrix out = x;
        for (int head = 0; head < kHeads; ++head) {
            PROFILE_SCOPE_INDEX("head", head);
            Matrix scores = matmul(x, weight_);
            softmax(scores);
            out = matmul(scores, out);
        }
        return out;
    }

private:
    Matrix weight_{kWidth, kTokens};
};

class Layer {
public:
    Matrix forward_cached(const Matrix& x) const {
        PROFILE_FUNCTION();
        return feed_forward_.forward_cached(attention_.forward_cached(x));
    }
    Matrix backward(const Matrix& gradient) const {
        PROFILE_FUNCTION();
        return feed_forward_.backward(gradient);
    }

private:
    Attention attention_;
    FeedForward feed_forward_;
};

class Transformer {
public:
    Matrix forward_cached(Matrix x) const {
        PROFILE_FUNCTION();
        for (const Layer& layer : layers_) x = layer.forward_cached(x);
        return x;
    }
    void backward(Matrix gradient) const {
        PROFILE_FUNCTION();
        for (const Layer& layer : layers_) gradient = layer.backward(gradient);
    }

private:
    std::vector<Layer> layers_ = std::vector<Layer>(kLayers);
};

template <class Model>
class Trainer {
public:
    void train_epoch() {
        PROFILE_FUNCTION();
        for (int batch = 0; batch < kBatches; ++batch) train_batch();
    }

private:
    void train_batch() {
        PROFILE_FUNCTION();
        const hotloop::Link link = hotloop::current();
#pragma omp parallel for schedule(dynamic)
        for (int sequence = 0; sequence < kSequences; ++sequence) {
            auto attached = link.attach();
            PROFILE_SCOPE("sequence");
            Matrix out = model_.forward_cached(Matrix(kTokens, kWidth));
            {
                PROFILE_SCOPE("loss");
                softmax(out);
            }
            model_.backward(out);
        }
    }

    Model model_;
};
}  // namespace loop

static std::uint64_t calls(const char* name) { return hotloop::find(name).calls; }

int main() {
    hotloop::start();
    const Clock::time_point began = Clock::now();
    loop::Trainer<loop::Transformer> trainer;
    for (int epoch = 0; epoch < kEpochs; ++epoch) trainer.train_epoch();
    const std::uint64_t wall = ns_since(began);
    hotloop::stop();
    hotloop::print_report(15);

    const std::uint64_t sequences = kEpochs * kBatches * kSequences, layers = sequences * kLayers;
    CHECK_EQ(calls("loop::Trainer::train_epoch"), kEpochs);
    CHECK_EQ(calls("loop::Trainer::train_batch"), kEpochs * kBatches);
    CHECK_EQ(calls("sequence"), sequences);
    CHECK_EQ(calls("loop::Transformer::forward_cached"), sequences);
    CHECK_EQ(calls("loop::Transformer::backward"), sequences);
    CHECK_EQ(calls("loop::Layer::forward_cached"), layers);
    CHECK_EQ(calls("loop::Layer::backward"), layers);
    CHECK_EQ(calls("loop::Attention::forward_cached"), layers);
    CHECK_EQ(calls("loop::FeedForward::forward_cached"), layers);
    CHECK_EQ(calls("loop::FeedForward::backward"), layers);
    CHECK_EQ(calls("head"), layers * kHeads);
    CHECK_EQ(calls("matmul"), layers * (2 * kHeads + 3));
    CHECK_EQ(calls("(anonymous)::softmax"), layers * kHeads + sequences);
    CHECK_EQ(hotloop::find("matmul").flops, layers * (2 * kHeads + 3) * 2 * 16 * 16 * 16);

    const hotloop::Entry epoch = hotloop::find("loop::Trainer::train_epoch");
    // What the attached threads did counts for the epoch too, so its total is at most that of all threads.
    CHECK(epoch.total_ns <= wall * static_cast<std::uint64_t>(omp_get_max_threads()));
    CHECK(epoch.total_ns + epoch.waiting_ns >= wall / 2);
    for (const hotloop::Entry& e : hotloop::results()) {
        CHECK(e.min_ns <= e.max_ns);
        CHECK(e.self_ns <= e.total_ns);
        if (e.name == "sequence") CHECK_EQ(e.depth, 2);
    }
}
