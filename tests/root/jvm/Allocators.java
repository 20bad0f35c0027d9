import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads "allocator-N" that allocate until stopped and note each allocation of 1 ms or more. What was
 * stopped stays until the next start, or the JVM's end: the name of a thread that is gone cannot be read.
 */
final class Allocators {
	private static final long SLOW_NS = 1000000, LOOK_NS = 1000000;

	private final int bytes;
	private final byte[][][] live;
	private final List<Spans> spans = new ArrayList<>();
	private final List<Thread> threads = new ArrayList<>();
	private final AtomicInteger failed = new AtomicInteger();
	private CountDownLatch stopped;
	private volatile int rounds;
	private volatile boolean running;
	static volatile byte[] garbage;

	/** Each of @threads allocates @bytes at a time and keeps the latest @kept alive. */
	Allocators(int threads, int bytes, int kept) {
		this.bytes = bytes;
		live = new byte[threads][kept + 1][];
		for (int i = 0; i < threads; i++)
			spans.add(new Spans("slow", "allocator-" + i, 1 << 14));
		work(new byte[1][], spans.get(0), -1, new CountDownLatch(1)); // all that it calls
	}

	private void allocate(byte[][] kept, Spans slow) {
		for (int turn = 0; running; turn++) {
			long start = System.nanoTime();
			try {
				garbage = new byte[bytes]; // mark: stalled
			} catch (OutOfMemoryError e) {
				failed.incrementAndGet();
				Arrays.fill(kept, null);
			}
			long end = System.nanoTime();
			if (end - start >= SLOW_NS)
				slow.add(start, end);
			kept[turn % kept.length] = garbage;
		}
	}

	/** Waits for the round's end. Allocates nothing, for it might stall: linked by the constructor. */
	private void rest(int round) {
		do
			LockSupport.parkNanos(LOOK_NS);
		while (rounds == round);
	}

	private void work(byte[][] kept, Spans slow, int round, CountDownLatch stopped) {
		allocate(kept, slow);
		stopped.countDown();
		rest(round);
	}

	void start() throws InterruptedException {
		int round = ++rounds;
		for (Thread thread : threads)
			thread.join();
		threads.clear();
		stopped = new CountDownLatch(live.length);
		running = true;
		for (int i = 0; i < live.length; i++) {
			int n = i;
			threads.add(new Thread(() -> work(live[n], spans.get(n), round, stopped), "allocator-" + n));
			threads.get(n).setDaemon(true);
			threads.get(n).start();
		}
	}

	/** Stops the threads and appends what they noted. */
	void stop(StringBuilder lines) throws InterruptedException {
		running = false;
		stopped.await();
		for (Spans slow : spans)
			slow.tell(lines);
		if (failed.get() > 0)
			lines.append(Talk.event("out-of-memory", "count", failed.getAndSet(0)));
	}
}
