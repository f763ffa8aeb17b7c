/* Stackless code that reads like a sequence.
 *
 *     struct blinker { struct ao ao; struct ao_seq seq; int left; };
 *
 *     static enum ao_verdict blink(struct ao *self)
 *     {
 *         struct blinker *b = ao_of(self, struct blinker, ao);
 *
 *         AO_BEGIN(&b->seq);
 *         for (b->left = 3; b->left > 0; b->left--) {
 *             toggle_lamp();
 *             AO_SLEEP(self, &b->seq, AO_MS(500));
 *         }
 *         AO_END(&b->seq);
 *     }
 *
 * Between AO_BEGIN and AO_END the step is a switch; each macro that can leave the step is one of
 * its labels, and the next step goes on there.  When the end is reached, the step returns AO_DONE
 * and the sequence stands at its beginning again.
 *
 * Limits:
 *   - Local variables do not live across a macro that leaves the step: keep state in the object.
 *     Those with an initial value are refused when such a macro stands in their scope ("switch
 *     jumps over variable initialization"); so is a for loop that declares its variable.
 *   - Such a macro may stand in loops and ifs, but not in a switch of one's own: the compiler says
 *     that the case value overflows, a warning of its default set.  A switch over a 64-bit type is
 *     not caught.
 *   - One such macro a line ("duplicate case value").
 *   - `break` outside a loop of one's own ends the sequence; `return AO_DONE` inside leaves the
 *     object inactive without moving the sequence, which then goes on from its last macro.
 *   - After a fault and ao_reset(), zero the sequences before the object is activated again.
 * AO_BEGIN without AO_END, or the reverse, does not compile.
 *
 * `self` is the object being stepped, `seq` a pointer to its struct ao_seq; both are evaluated
 * several times.
 *
 * Thread: the home activator of the object, within its step.  The sequence belongs to the object.
 */
#ifndef ERGON_SEQ_H
#define ERGON_SEQ_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a sequence stands; zeroed is its beginning. */
struct ao_seq {
    uint32_t at; /* line of the macro where it goes on; 0 at the beginning */
};

/* Labels are wider than any int or enum, so that one that lands in a switch of the user's own is
 * out of that switch's range. */
#define AO_SEQ_LABEL(line) (0x5e90000000000000u | (uint64_t)(line))

/* With gcc: a label in the scope of a local variable with an initial value is an error, as in C++
 * anyway; clang's -Wall finds the same.  Behind a sequence the check is off again, but gcc then
 * prints a note where a goto passes such a variable. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define AO_SEQ_STRICT     _Pragma("GCC diagnostic error \"-Wjump-misses-init\"")
#define AO_SEQ_STRICT_END _Pragma("GCC diagnostic ignored \"-Wjump-misses-init\"")
#else
#define AO_SEQ_STRICT
#define AO_SEQ_STRICT_END
#endif

#define AO_BEGIN(seq)                                                                              \
    AO_SEQ_STRICT                                                                                  \
    switch (AO_SEQ_LABEL((seq)->at)) {                                                             \
    default: /* not zeroed before its first use, or overwritten */                                 \
        __builtin_trap();                                                                          \
    case AO_SEQ_LABEL(0):;

#define AO_END(seq)                                                                                \
    }                                                                                              \
    (seq)->at = 0;                                                                                 \
    AO_SEQ_STRICT_END                                                                              \
    return AO_DONE

/* Leaves the step with `verdict`; goes on behind it. */
#define AO_LEAVE(seq, verdict)                                                                     \
    do {                                                                                           \
        (seq)->at = __LINE__;                                                                      \
        return (verdict);                                                                          \
    case AO_SEQ_LABEL(__LINE__):;                                                                  \
    } while (0)

/* Lets the others run; goes on in the next round. */
#define AO_YIELD(seq) AO_LEAVE(seq, AO_AGAIN)

/* Sleeps for `duration` (ao_time; AO_NEVER: until a wake).  A wake ends it early: ao_why() tells.
 * Faults when the object cannot sleep (it called ao_sleep_for() itself in this step). */
#define AO_SLEEP(self, seq, duration) AO_LEAVE(seq, ao_seq_sleep((self), (duration)))

/* Waits for one thing.  `w` points to a zeroed or used struct ao_wait of the object; `start` is a
 * start function called with it:
 *
 *     AO_AWAIT(self, &c->seq, &c->wait, ao_mailbox_receive(&c->box, &c->wait));
 *     if (c->wait.outcome != AO_WAIT_READY) ...
 *
 * Does not leave the step when the thing is there already. */
#define AO_AWAIT(self, seq, w, start) AO_AWAIT_UNTIL(self, seq, w, AO_NEVER, start)

/* With a deadline, a time of the activator's clock; it is evaluated once. */
#define AO_AWAIT_UNTIL(self, seq, w, deadline, start)                                              \
    do {                                                                                           \
        ao_wait_prepare((self), (w));                                                              \
        (void)(start);                                                                             \
        if (ao_wait_park((self), (w), (deadline))) {                                               \
            (seq)->at = __LINE__;                                                                  \
            return AO_PARK;                                                                        \
        case AO_SEQ_LABEL(__LINE__):                                                               \
            ao_wait_resume((self), (w));                                                           \
        }                                                                                          \
    } while (0)

/* With a deadline so long after now. */
#define AO_AWAIT_FOR(self, seq, w, duration, start)                                                \
    AO_AWAIT_UNTIL(self, seq, w, ao_seq_after((self), (duration)), start)

/* Runs a sub-sequence to its end: `call` is a call of a function that returns enum ao_verdict and
 * has a sequence and state of its own, `enum ao_verdict sub(struct ao *self, struct sub_state *s)`.
 * Its AO_DONE ends it; every other verdict is the verdict of this step, so a fault ends the whole.
 * `call` is evaluated again in each step. */
#define AO_CALL(self, seq, call)                                                                   \
    do {                                                                                           \
        (seq)->at = __LINE__;                                                                      \
        __attribute__((fallthrough));                                                              \
    case AO_SEQ_LABEL(__LINE__): {                                                                 \
        enum ao_verdict ao_seq_verdict_ = (call);                                                  \
        if (ao_seq_verdict_ != AO_DONE)                                                            \
            return ao_seq_verdict_;                                                                \
    }                                                                                              \
        (void)(self);                                                                              \
    } while (0)

/* Private to the macros. */
enum ao_verdict ao_seq_sleep(struct ao *self, ao_time duration);
ao_time ao_seq_after(const struct ao *self, ao_time duration); /* AO_NEVER stays AO_NEVER */

#ifdef __cplusplus
}
#endif

#endif
