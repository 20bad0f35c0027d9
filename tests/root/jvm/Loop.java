import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread "counted-loop" in --rounds int-indexed loops, which Serial and Parallel compile without a
 * poll for safepoints. The main thread asks for a collection when one has begun a while ago: however
 * fast the machine is, each waits for the rest of a loop. With --hold 1 a round is done twice: once the
 * thread waits for its first loop, and at the end. Truth: a "loop" for each.
 */
final class Loop {
	private static final long LOOK_NS = 1000000, UNDER_WAY_NS = 2000000;

	private static volatile int begun;
	private static volatile int result;

	static int count(int n, int x) {
		for (int i = 0; i < n; i++) // mark: counted-loop
			x = x * 31 + (i ^ x >>> 7); // mark: loop-body
		return x;
	}

	private static void loops(int rounds, int n, Spans spans) {
		for (int i = 0; i < rounds; i++) { // mark: loops
			begun = i + 1; // mark: loop-begins
			long start = System.nanoTime(); // mark: loop-start
			result = count(n, result); // mark: loop-call
			spans.add(start, System.nanoTime()); // mark: loop-end
		}
	}

	private static void await(CountDownLatch latch) {
		try {
			latch.await();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int rounds = talk.number("rounds", 53);
		boolean hold = talk.number("hold", 0) > 0;
		int iterations = talk.number("iterations", 20000000);
		Spans spans = new Spans("loop", "counted-loop", 1 << 12);
		// Long calls come after the method is compiled as a whole, by the best compiler.
		for (int i = 0; i < 30000; i++)
			result = count(1009, result);
		while (talk.go()) {
			begun = 0;
			CountDownLatch held = new CountDownLatch(1);
			Thread thread = new Thread(() -> {
				await(held);
				loops(rounds, iterations, spans);
			}, "counted-loop");
			thread.start();
			if (hold)
				talk.go();
			held.countDown();
			for (int seen = 0; seen < rounds;) {
				LockSupport.parkNanos(LOOK_NS);
				if (seen == begun)
					continue;
				seen = begun;
				LockSupport.parkNanos(UNDER_WAY_NS);
				System.gc(); // mark: request
			}
			thread.join();
			StringBuilder lines = new StringBuilder();
			spans.tell(lines);
			talk.tell(lines);
		}
	}
}
