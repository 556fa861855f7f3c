/* Cortex-M4: vectors, the floating-point unit on, then newlib's start (semihosting). */
#include <stdint.h>
extern uint32_t _stack_top;
void _start(void);
void reset(void);
void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\nisb");
    _start();
    for (;;) {
    }
}
static void fault(void) {
    for (;;) {
    }
}
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &_stack_top,   (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault};
