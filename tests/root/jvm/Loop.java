import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread "counted-loop" in --rounds int-indexed loops, which Serial and Parallel compile without a
 * poll for safepoints. The main thread asks for a collection when one has begun a while ago: however
 * fast the machine is, each waits for the rest of a loop. With --hold 1 a round is done twice: once the
 * thread waits for its first loop, and at the end. With --rest-ms the main thread asks so long after the last
 * collection, as long as there are loops, and every second loop is LONGER times as long. Truth: a "loop" for each, and
 * for how long their thread waited for a processor meanwhile, by the kernel's book.
 */
final class Loop {
	private static final long LOOK_NS = 1000000, UNDER_WAY_NS = 2000000;
	private static final int LONGER = 4;

	private static volatile int begun;
	private static volatile int result;
	private static volatile long waited;

	static int count(int n, int x) {
		for (int i = 0; i < n; i++) // mark: counted-loop
			x = x * 31 + (i ^ x >>> 7); // mark: loop-body
		return x;
	}

	private static void loops(int rounds, int n, int longer, Spans spans) {
		for (int i = 0; i < rounds; i++) { // mark: loops
			begun = i + 1; // mark: loop-begins
			long start = System.nanoTime(); // mark: loop-start
			result = count(i % 2 == 0 ? n : n * longer, result); // mark: loop-call
			spans.add(start, System.nanoTime()); // mark: loop-end
		}
	}

	/** For how long this thread has waited for a processor: Documentation/scheduler/sched-stats.rst. */
	private static long waitedNs() {
		try {
			byte[] text = Files.readAllBytes(Paths.get("/proc/thread-self/schedstat"));
			return Long.parseLong(new String(text).split(" ")[1]);
		} catch (IOException e) {
			throw new IllegalStateException(e);
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
		int restMs = talk.number("rest-ms", 0);
		Spans spans = new Spans("loop", "counted-loop", 1 << 12);
		// Long calls come after the method is compiled as a whole, by the best compiler.
		for (int i = 0; i < 30000; i++)
			result = count(1009, result);
		while (talk.go()) {
			begun = 0;
			CountDownLatch held = new CountDownLatch(1);
			Thread thread = new Thread(() -> {
				await(held);
				long before = waitedNs();
				loops(rounds, iterations, restMs > 0 ? LONGER : 1, spans);
				waited = waitedNs() - before;
			}, "counted-loop");
			thread.start();
			if (hold)
				talk.go();
			held.countDown();
			while (restMs > 0 && thread.isAlive()) {
				LockSupport.parkNanos(restMs * 1000000L);
				System.gc(); // mark: rested-request
			}
			for (int seen = 0; restMs == 0 && seen < rounds;) {
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
			lines.append(Talk.event("waited", "thread", "counted-loop", "waited_ns", waited));
			talk.tell(lines);
		}
	}
}
