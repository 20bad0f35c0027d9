import java.lang.reflect.Method;
import java.util.function.IntUnaryOperator;

/**
 * A stack of known frames that ends in System.gc() (--end gc), in an allocation that collects
 * (--end allocation), both under compiled, inlined, lambda, interface and reflection frames. Truth:
 * a "frame" each, innermost first, as the JVM's own stack trace has them at the same line; a
 * "round" at the end of each.
 */
final class Frames {
	static final int WARM = 0, GC = 1, ALLOCATION = 2;
	static volatile Object garbage;
	static volatile Throwable trace;
	static Method method;
	// What differs between the warm rounds and the others is data, so that compiled code stays.
	static int size;
	static int allocations;

	interface Layer {
		int pass(int end) throws Exception;
	}

	static final class Upper implements Layer {
		public int pass(int end) throws Exception {
			return 3 * Frames.middle(end); // mark: pass
		}
	}

	/** Not inlined, by the harness: the first call with GC leaves compiled code for this one alone. */
	static void collect(int end) {
		if (end == GC) {
			trace = new Throwable(); System.gc(); // mark: collect
		}
	}

	static int leaf(int end, int count) {
		collect(end); // mark: leaf-gc
		for (int i = 0; i < count; i++) {
			if (i == 0) trace = new Throwable(); garbage = new byte[size]; // mark: leaf-allocation
		}
		return end;
	}

	public static int reflected(int end) {
		return leaf(end, allocations); // mark: reflected
	}

	static int call(int end) throws Exception {
		return (Integer)method.invoke(null, end); // mark: call
	}

	static int inlinedInner(int end) throws Exception {
		int got = call(end); // mark: inlined-inner
		return got + end;
	}

	static int inlinedOuter(int end) throws Exception {
		int got = inlinedInner(end); // mark: inlined-outer
		return got * 31;
	}

	static int middle(int end) throws Exception {
		IntUnaryOperator operator = x -> {
			try {
				return inlinedOuter(x) + 1; // mark: lambda
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		};
		return operator.applyAsInt(end); // mark: middle
	}

	/** Kept from the compilers by the harness: an interpreted frame under compiled ones. */
	static int interpreted(Layer layer, int end) throws Exception {
		return layer.pass(end) + 1; // mark: interpreted
	}

	static void run(int end) throws Exception {
		interpreted(new Upper(), end); // mark: run
	}

	private static void tellTrace(StringBuilder lines) {
		int depth = 0;
		for (StackTraceElement frame : trace.getStackTrace())
			lines.append(Talk.event("frame", "depth", depth++, "class", frame.getClassName(),
					"method", frame.getMethodName(), "file", frame.getFileName(), "line",
					frame.getLineNumber()));
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int end = talk.text("end", "gc").equals("gc") ? GC : ALLOCATION;
		method = Frames.class.getMethod("reflected", int.class);
		size = 16;
		allocations = 3;
		for (int i = 0; i < talk.number("warm", 12000); i++)
			run(WARM);
		size = 16 << 10;
		allocations = end == ALLOCATION ? talk.number("allocations", 40000) : 0;
		while (talk.go()) {
			long start = System.nanoTime();
			Thread thread = new Thread(() -> {
				try {
					run(end); // mark: thread
				} catch (Exception e) {
					throw new IllegalStateException(e);
				}
			}, "frames");
			thread.start();
			thread.join();
			StringBuilder lines = new StringBuilder();
			tellTrace(lines);
			lines.append(Talk.event("round", "start_ns", start, "end_ns", System.nanoTime()));
			talk.tell(lines);
		}
	}
}
