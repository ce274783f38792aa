/* llm.c's steps of training on weights and tokens from a seed: forward, backward, AdamW, as its own loop does them.
 *
 * It is compiled with llm.c's `train_gpt2.c`, which `-include` puts before it and which leaves its own `main` out where TESTING is defined. See
 * ../../README.md for the command.
 *
 * llmc VOCABULARY CONTEXT WIDTH LAYERS HEADS BATCH LENGTH
 *
 * It prints {"parameters":P} when it is warm. Then each line of its input is a number of steps, answered with {"seconds":S,"loss":L}.
 */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint32_t drawn(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}

static float weight(void) {
    float sum = 0.0f; /* of twelve uniform values: near enough to a normal one */
    for (int i = 0; i < 12; i++) {
        sum += (float)drawn() / 2147483648.0f;
    }
    return 0.02f * (sum - 6.0f);
}

static void build(GPT2 *model, GPT2Config config) {
    memset(model, 0, sizeof *model);
    model->config = config;
    model->mean_loss = -1.0f;
    fill_in_parameter_sizes(model->param_sizes, config);
    for (int i = 0; i < NUM_PARAMETER_TENSORS; i++) {
        model->num_parameters += model->param_sizes[i];
    }
    model->params_memory = malloc_and_point_parameters(&model->params, model->param_sizes);
    for (size_t i = 0; i < model->num_parameters; i++) {
        model->params_memory[i] = weight();
    }
    int norms[] = {2, 8, 14}; /* the weights of the norms are ones */
    float *tensors[] = {model->params.ln1w, model->params.ln2w, model->params.lnfw};
    for (int norm = 0; norm < 3; norm++) {
        for (size_t i = 0; i < model->param_sizes[norms[norm]]; i++) {
            tensors[norm][i] = 1.0f;
        }
    }
}

int main(int count, char **arguments) {
    int sizes[7];
    for (int i = 0; i < 7; i++) {
        sizes[i] = count == 8 ? atoi(arguments[i + 1]) : 0;
        if (sizes[i] < 1) {
            fprintf(stderr, "usage: llmc VOCABULARY CONTEXT WIDTH LAYERS HEADS BATCH LENGTH\n");
            return 2;
        }
    }
    FILE *answers = fdopen(dup(1), "w"); /* llm.c itself writes to the standard output */
    dup2(2, 1);
    GPT2Config config = {.max_seq_len = sizes[1],
                         .vocab_size = sizes[0],
                         .padded_vocab_size = (sizes[0] + 127) / 128 * 128,
                         .num_layers = sizes[3],
                         .num_heads = sizes[4],
                         .channels = sizes[2]};
    int batch = sizes[5], length = sizes[6];
    int *tokens = malloc(sizeof(int) * (batch * length + 1));
    for (int i = 0; i <= batch * length; i++) {
        tokens[i] = (int)(drawn() % (uint32_t)config.vocab_size);
    }
    GPT2 model;
    build(&model, config);
    char line[64] = "1";
    int warm = 0, step = 0;
    do {
        int steps = atoi(line);
        double start = seconds();
        for (int i = 0; i < steps; i++) {
            gpt2_forward(&model, tokens, tokens + 1, batch, length);
            gpt2_zero_grad(&model);
            gpt2_backward(&model);
            gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.01f, ++step);
        }
        double spent = seconds() - start;
        if (warm++) {
            fprintf(answers, "{\"seconds\":%.6f,\"loss\":%.6f}\n", spent, model.mean_loss);
        } else {
            fprintf(answers, "{\"parameters\":%zu}\n", model.num_parameters);
        }
        fflush(answers);
    } while (fgets(line, sizeof line, stdin));
    gpt2_free(&model);
    free(tokens);
    return 0;
}
