/* llama2.c without its sampling and printing: as many tokens per second as its forward pass allows.
 *
 * It is compiled once with each of llama2.c's two sources, which `-include` puts before it; they leave their own `main` out
 * where TESTING is defined. See ../../README.md for the command.
 *
 * forward MODEL.bin TOKENS REPEATS    prints {"load_s":S,"prefill_tps":[],"decode_tps":[R,...]}
 */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The same tokens for every contender would change nothing: no step depends on what the tokens are. */
static int token_at(int position, int vocabulary) { return (position * 31 + 7) % vocabulary; }

static double rate(Transformer *transformer, int tokens) {
    double start = seconds();
    for (int position = 0; position < tokens; position++) {
        forward(transformer, token_at(position, transformer->config.vocab_size), position);
    }
    return (double)tokens / (seconds() - start);
}

int main(int count, char **arguments) {
    int tokens = count == 4 ? atoi(arguments[2]) : 0, repeats = count == 4 ? atoi(arguments[3]) : -1;
    if (tokens < 1 || repeats < 0) {
        fprintf(stderr, "usage: forward MODEL.bin TOKENS REPEATS\n");
        return 2;
    }
    double start = seconds();
    Transformer transformer;
    build_transformer(&transformer, arguments[1]);
    if (tokens > transformer.config.seq_len) {
        fprintf(stderr, "error: %s has room for %d tokens\n", arguments[1], transformer.config.seq_len);
        return 2;
    }
    double loaded = seconds() - start;
    rate(&transformer, 1);
    printf("{\"load_s\":%.6f,\"prefill_tps\":[],\"decode_tps\":[", loaded);
    for (int repeat = 0; repeat < repeats; repeat++) {
        printf("%s%.3f", repeat ? "," : "", rate(&transformer, tokens));
    }
    printf("]}\n");
    free_transformer(&transformer);
    return 0;
}
