/**
 * A thread "counted-loop" in int-indexed loops, which Serial and Parallel compile without a poll
 * for safepoints, while the main thread allocates until it has seen --rounds loops. Truth: a "loop"
 * for each.
 */
final class Loop {
	private static volatile int done;
	private static volatile int result;
	private static volatile byte[] garbage;

	static int count(int n, int x) {
		for (int i = 0; i < n; i++) // mark: counted-loop
			x = x * 31 + (i ^ x >>> 7); // mark: loop-body
		return x;
	}

	private static void loops(int rounds, int n, Spans spans) {
		for (int i = 0; i < rounds; i++) { // mark: loops
			long start = System.nanoTime();
			result = count(n, result); // mark: loop-call
			spans.add(start, System.nanoTime());
			done++;
		}
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int rounds = talk.number("rounds", 53);
		int iterations = talk.number("iterations", 20000000);
		Spans spans = new Spans("loop", "counted-loop", 1 << 12);
		// Long calls come after the method is compiled as a whole, by the best compiler.
		for (int i = 0; i < 30000; i++)
			result = count(1009, result);
		while (talk.go()) {
			done = 0;
			Thread thread = new Thread(() -> loops(rounds, iterations, spans), "counted-loop");
			thread.start();
			while (done < rounds)
				garbage = new byte[64 << 10]; // mark: allocation
			thread.join();
			StringBuilder lines = new StringBuilder();
			spans.tell(lines);
			talk.tell(lines);
		}
	}
}
