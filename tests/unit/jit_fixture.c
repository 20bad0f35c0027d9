/*
 * Compiled to an object as LLVM makes one of Julia's JIT: two specialisations of a function, an adapter, an inlined
 * one. The tests load it: they give its sections addresses. "B" stands for "!", which no C name has.
 */
void *jl_gc_pool_alloc(int size);

volatile int fixture_calls;

static inline __attribute__((always_inline)) void *grow(int size)
{
	fixture_calls++;
	return jl_gc_pool_alloc(size); /* line 12 */
}

__attribute__((noinline)) void *julia_train_stepB_40(int size)
{
	void *first = grow(size); /* line 17 */

	fixture_calls++;
	return first;
}

__attribute__((noinline)) void *japi1_train_stepB_52(void **args)
{
	fixture_calls += 2;
	return julia_train_stepB_40(args != 0);
}

__attribute__((noinline)) void *jfptr_train_stepB_53(void **args)
{
	fixture_calls += 3;
	return japi1_train_stepB_52(args);
}
