#include "examples/semaphore/ten.h"

int main(void)
{
    return ten_main("semaphore_scoped", ten_scoped);
}
