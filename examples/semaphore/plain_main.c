#include "examples/semaphore/ten.h"

int main(void)
{
    return ten_main("semaphore_plain", ten_plain);
}
