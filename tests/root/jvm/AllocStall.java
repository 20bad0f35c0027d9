/**
 * Threads that allocate faster than a concurrent collector frees, in a heap that is small for what
 * they keep: stalls under ZGC, pacing under Shenandoah. Truth: a "slow" for each allocation of 1 ms
 * or more; a run takes --ms.
 */
final class AllocStall {
	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int threads = talk.number("threads", 3);
		int kb = talk.number("kb", 128);
		int kept = (talk.number("live-mb", 24) << 10) / kb / threads;
		Allocators allocators = new Allocators(threads, kb << 10, kept);
		while (talk.go()) {
			long start = System.nanoTime();
			allocators.start();
			Thread.sleep(talk.number("ms", 2000));
			StringBuilder lines = new StringBuilder();
			allocators.stop(lines);
			lines.append(Talk.event("run", "start_ns", start, "end_ns", System.nanoTime()));
			talk.tell(lines);
		}
	}
}
