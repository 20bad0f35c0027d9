import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** A storm of tiny safepoints: --count thread dumps one after the other, each a VM operation. */
final class Dump {
	static volatile Object sink;

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int count = talk.number("count", 997);
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		sink = threads.dumpAllThreads(false, false);
		while (talk.go()) {
			long start = System.nanoTime();
			for (int i = 0; i < count; i++)
				sink = threads.dumpAllThreads(false, false); // mark: dump
			talk.tell(Talk.event("dumps", "count", count, "start_ns", start, "end_ns",
					System.nanoTime()));
		}
	}
}
