/* Says whether the system takes it for a program with more rights than its caller, and opens a scope. */
#include <stdio.h>
#include <sys/auxv.h>

#include <hotloop.h>

int main(void) {
    HOTLOOP_SCOPE("privileged");
    puts(getauxval(AT_SECURE) ? "secure" : "plain");
    return 0;
}
