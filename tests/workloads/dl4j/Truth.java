import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;

/**
 * What a training says about itself, to check a tracer against, in the form of truth.py:
 * the times of its steps as DL4J's own listener reports them, its evaluations, the JVM's count of
 * collections. System.nanoTime() is CLOCK_MONOTONIC. Notes go into arrays that were made before,
 * and into a file at the end.
 */
class Truth extends BaseTrainingListener {
	private final long[] begin, end;
	private final List<String> facts = new ArrayList<>();
	private final long pid = ProcessHandle.current().pid();
	private int steps;
	private long last, tid;

	Truth(int most) {
		begin = new long[most];
		end = new long[most];
	}

	/** Says READY and waits for a line, so that a tracer can attach before there is a step. */
	void waitForTracer() throws IOException {
		System.out.println("READY " + pid);
		System.out.flush();
		while (true) {
			int read = System.in.read();
			if (read < 0 || read == '\n')
				return;
		}
	}

	void start() {
		tid = PeriodicManager.nativeThread();
		books("begin");
		last = System.nanoTime();
	}

	/** DL4J calls this at the end of each step; the next one begins here. */
	@Override
	public void iterationDone(Model model, int iteration, int epoch) {
		long now = System.nanoTime();
		if (steps < end.length) {
			begin[steps] = last;
			end[steps] = now;
		}
		steps++;
		last = now;
	}

	/** A time that is not a step; the next step begins after it. */
	void phase(String name, Runnable work) {
		long before = System.nanoTime();
		work.run();
		last = System.nanoTime();
		facts.add(String.format("{\"type\":\"%s\",\"begin_ns\":%d,\"end_ns\":%d}", name,
			before, last));
	}

	/** Collections so far and the time in them, by collector, as the JVM's beans count them. */
	void books(String when) {
		List<GarbageCollectorMXBean> beans = ManagementFactory.getGarbageCollectorMXBeans();
		StringBuilder told = new StringBuilder();
		long[] counts;
		long now;
		do { // the time and the counts must belong together
			counts = collections(beans);
			now = System.nanoTime();
		} while (!Arrays.equals(counts, collections(beans)));
		for (int i = 0; i < counts.length; i++)
			told.append(String.format("%s\"%s\":[%d,%d]", i > 0 ? "," : "",
				beans.get(i).getName(), counts[i], beans.get(i).getCollectionTime()));
		facts.add(String.format(
			"{\"type\":\"books\",\"when\":\"%s\",\"before_ns\":%d,\"after_ns\":%d,"
			+ "\"collectors\":{%s}}", when, now, now, told));
	}

	private static long[] collections(List<GarbageCollectorMXBean> beans) {
		long[] counts = new long[beans.size()];
		for (int i = 0; i < counts.length; i++)
			counts[i] = beans.get(i).getCollectionCount();
		return counts;
	}

	int steps() {
		return steps;
	}

	/** @manager may be null: then none of our code calls System.gc(). */
	void write(String path, PeriodicManager manager) throws IOException {
		try (PrintWriter out = new PrintWriter(path, "UTF-8")) {
			out.printf("{\"type\":\"process\",\"pid\":%d,\"tid\":%d,\"java\":\"%s\"}%n",
				pid, tid, System.getProperty("java.version"));
			for (int i = 0; i < Math.min(steps, end.length); i++)
				out.printf("{\"type\":\"step\",\"index\":%d,\"begin_ns\":%d,"
					+ "\"end_ns\":%d}%n", i, begin[i], end[i]);
			for (int i = 0; manager != null && i < manager.calls; i++)
				out.printf("{\"type\":\"gc_call\",\"begin_ns\":%d,\"end_ns\":%d}%n",
					manager.begin[i], manager.end[i]);
			if (manager != null)
				out.printf("{\"type\":\"note\",\"what\":\"gc_caller\",\"tid\":%d,"
					+ "\"thread\":\"%s\"}%n", manager.tid, manager.thread);
			for (String fact : facts)
				out.println(fact);
		}
	}
}
