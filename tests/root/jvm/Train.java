import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;

/**
 * Trains as DL4J does: steps that allocate and compute, with helpers beside the training thread
 * and System.gc() from a service thread (--gc-ms) or from the training thread (--gc-every steps). With
 * --gc-calls as many steps as that many calls of the service thread take, instead of --steps.
 * Truth: a "step" each, a "system-gc" for each call, and what the JVM's own beans count.
 */
final class Train {
	private static final int CHUNK_BYTES = 16 << 10;

	private final int steps;
	private final int chunks;
	private final int liveChunks;
	private final int passes;
	private final int gcEvery;
	private final long gcNanos;
	private final int gcCalls;
	private final Spans stepSpans;
	private final Spans ownCalls;
	private final Spans serviceCalls;
	private final CyclicBarrier barrier;
	private volatile boolean running, served;
	static volatile float sink;

	private Train(Talk talk) {
		steps = talk.number("steps", 101);
		chunks = (talk.number("alloc-mb", 8) << 20) / CHUNK_BYTES;
		liveChunks = (talk.number("live-mb", 16) << 20) / CHUNK_BYTES;
		passes = talk.number("passes", 20);
		gcEvery = talk.number("gc-every", 0);
		gcNanos = talk.number("gc-ms", 0) * 1000000L;
		gcCalls = talk.number("gc-calls", 0);
		barrier = new CyclicBarrier(talk.number("threads", 1));
		stepSpans = new Spans("step", "trainer", 1 << 16);
		ownCalls = new Spans("system-gc", "trainer", 1 << 12);
		serviceCalls = new Spans("system-gc", "DeallocatorThread", 1 << 12);
	}

	/** What one thread keeps alive and computes with. */
	private final class Worker {
		private final float[][] live = new float[Math.max(liveChunks, 1)][];
		private final float[] weights = new float[1 << 12];
		private int turn;

		void step() {
			for (int i = 0; i < chunks; i++) {
				float[] chunk = new float[CHUNK_BYTES / 4];
				chunk[i % chunk.length] = i;
				if (i % 4 == 0)
					live[turn++ % live.length] = chunk;
			}
			for (int pass = 0; pass < passes; pass++)
				for (int i = 1; i < weights.length; i++)
					weights[i] = weights[i - 1] * 0.5f + weights[i] * 0.25f + pass;
			sink = weights[weights.length - 1];
		}
	}

	private void collectFromTraining() {
		long start = System.nanoTime();
		System.gc(); // mark: training-gc
		ownCalls.add(start, System.nanoTime());
	}

	private void collectFromService() {
		long start = System.nanoTime();
		System.gc(); // mark: service-gc
		serviceCalls.add(start, System.nanoTime());
	}

	private void serve() {
		long next = System.nanoTime() + gcNanos;
		int calls = 0;
		while (gcCalls > 0 ? calls < gcCalls : running) {
			long left = next - System.nanoTime();
			if (left > 0) {
				java.util.concurrent.locks.LockSupport.parkNanos(Math.min(left, 10000000L));
				continue;
			}
			collectFromService();
			next += gcNanos;
			calls++;
		}
		served = true;
	}

	private void help(Worker worker) {
		try {
			for (int step = 0; step < steps; step++) {
				barrier.await();
				worker.step();
				barrier.await();
			}
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	private void train(Worker worker) throws Exception {
		for (int step = 0; gcCalls > 0 ? !served : step < steps; step++) {
			long start = System.nanoTime();
			barrier.await();
			worker.step();
			barrier.await();
			if (gcEvery > 0 && (step + 1) % gcEvery == 0)
				collectFromTraining();
			stepSpans.add(start, System.nanoTime());
		}
	}

	private void round(List<Worker> workers) throws Exception {
		List<Thread> threads = new ArrayList<>();
		running = true;
		served = false;
		for (int i = 1; i < barrier.getParties(); i++) {
			Worker worker = workers.get(i);
			threads.add(new Thread(() -> help(worker), "helper-" + i));
		}
		Thread service = gcNanos > 0 ? new Thread(this::serve, "DeallocatorThread") : null;
		if (service != null)
			threads.add(service);
		for (Thread thread : threads)
			thread.start();
		train(workers.get(0));
		running = false;
		for (Thread thread : threads)
			thread.join();
	}

	private CharSequence truth() {
		StringBuilder lines = new StringBuilder();
		stepSpans.tell(lines);
		ownCalls.tell(lines);
		serviceCalls.tell(lines);
		for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
			lines.append(Talk.event("bean", "name", bean.getName(), "count",
					bean.getCollectionCount(), "ms", bean.getCollectionTime()));
		return lines;
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		Train train = new Train(talk);
		List<Worker> workers = new ArrayList<>();
		for (int i = 0; i < train.barrier.getParties(); i++)
			workers.add(train.new Worker());
		while (talk.go()) {
			train.round(workers);
			talk.tell(train.truth());
		}
	}
}
