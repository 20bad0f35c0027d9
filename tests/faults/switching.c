/*
 * Two C stacks in one thread, as greenlets have them: on the lower one a collection runs a
 * destructor that goes over to the higher one, where the collector is called again; then the first
 * goes on. For ctypes.PyDLL, of any CPython: no header of it is needed.
 */
#include <stddef.h>
#include <ucontext.h>

typedef struct _object PyObject;

extern PyObject *PyList_New(ptrdiff_t size);
extern int PyList_Append(PyObject *list, PyObject *item);
extern PyObject *PyCapsule_New(void *pointer, const char *name, void (*destructor)(PyObject *));
extern ptrdiff_t PyGC_Collect(void);
extern void Py_DecRef(PyObject *object);

#define STACK (256 << 10)

static ucontext_t home, collecting, other;
static ptrdiff_t refused; /* what the calls on the other stack returned */

/* What another tracer probes at its return. */
__attribute__((noinline)) ptrdiff_t switching_call(void)
{
	return PyGC_Collect();
}

static void leave(PyObject *capsule)
{
	(void)capsule;
	swapcontext(&collecting, &other);
}

static void collect(void)
{
	PyGC_Collect();
}

static void collect_again(void)
{
	refused += switching_call();
	setcontext(&collecting);
}

/* A list that holds itself, and what must be told of its end. */
static void make_garbage(void)
{
	PyObject *list = PyList_New(0), *capsule = PyCapsule_New(&home, NULL, leave);

	PyList_Append(list, list);
	PyList_Append(list, capsule);
	Py_DecRef(capsule);
	Py_DecRef(list);
}

static void prepare(ucontext_t *context, char *stack, void (*body)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = &home;
	makecontext(context, body, 0);
}

/* That many full collections, each with another call within. Returns what those found: nothing. */
ptrdiff_t switching(int rounds)
{
	/* On this thread's own stack: CPython 3.14 and later know its bounds. */
	char stacks[2 * STACK];

	refused = 0;
	for (int i = 0; i < rounds; i++) {
		make_garbage();
		prepare(&collecting, stacks, collect);
		prepare(&other, stacks + STACK, collect_again);
		swapcontext(&home, &collecting);
	}
	return refused;
}
