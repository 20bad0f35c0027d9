import java.util.zip.Deflater;

/**
 * A thread "critical-holder" that deflates arrays of the heap, which holds a JNI critical section
 * for as long as each call takes, while --threads others allocate. Truth: a "critical" for each
 * call and a "slow" for each allocation of 1 ms or more.
 */
final class Critical {
	private static final int OUTPUT_BYTES = 64 << 10;

	private static void hold(int rounds, int bytes, Spans spans) {
		byte[] input = new byte[bytes];
		for (int i = 0; i < bytes; i++)
			input[i] = (byte)(i * 2654435761L >>> 13);
		byte[] output = new byte[bytes + OUTPUT_BYTES];
		for (int i = 0; i < rounds; i++) {
			Deflater deflater = new Deflater(6);
			deflater.setInput(input);
			deflater.finish();
			long start = System.nanoTime();
			int written = deflater.deflate(output, 0, output.length); // mark: critical
			spans.add(start, System.nanoTime());
			deflater.end();
			if (written == 0)
				throw new IllegalStateException("deflated nothing");
		}
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int rounds = talk.number("rounds", 23);
		int bytes = talk.number("hold-kb", 4096) << 10;
		Spans held = new Spans("critical", "critical-holder", 1 << 12);
		Allocators allocators = new Allocators(talk.number("threads", 2), 32 << 10, 0);
		while (talk.go()) {
			Thread holder = new Thread(() -> hold(rounds, bytes, held), "critical-holder");
			allocators.start();
			holder.start();
			holder.join();
			StringBuilder lines = new StringBuilder();
			held.tell(lines);
			allocators.stop(lines);
			talk.tell(lines);
		}
	}
}
