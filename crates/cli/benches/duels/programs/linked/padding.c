/* A function that nobody calls. It moves what is linked behind it by BYTES. */
#define JOIN(a, b) a##b
#define NAME(number) JOIN(padding_, number)
#define TEXT(bytes) #bytes
#define FILL(bytes) ".fill " TEXT(bytes) ", 1, 0"

void NAME(PADDING)(void) {
    __asm__ volatile(FILL(BYTES));
}
