/** Intervals noted by one thread without allocating, written at the end of a round. */
final class Spans {
	private final String event;
	private final String thread;
	private final long[] starts;
	private final long[] ends;
	private int count;
	private long lost;
	private int told;

	Spans(String event, String thread, int size) {
		this.event = event;
		this.thread = thread;
		starts = new long[size];
		ends = new long[size];
	}

	void add(long start, long end) {
		if (count == starts.length) {
			lost++;
			return;
		}
		starts[count] = start;
		ends[count++] = end;
	}

	/** Appends what was not written yet. */
	void tell(StringBuilder lines) {
		for (; told < count; told++)
			lines.append(Talk.event(event, "thread", thread, "index", told, "start_ns", starts[told],
					"end_ns", ends[told]));
		if (lost > 0)
			lines.append(Talk.event("lost", "what", event, "thread", thread, "count", lost));
		lost = 0;
	}
}
