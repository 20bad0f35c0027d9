import java.io.PrintStream;
import java.util.Arrays;

/** What all servers here answer, and the log that they say when a line comes on stdin: [path, after it was read, before its response]. */
final class Answers {
	static final byte[] BODY = new byte[37];
	private static final StringBuilder log = new StringBuilder();

	static {
		Arrays.fill(BODY, (byte) 'x');
	}

	static byte[] answer(String path) {
		long read = System.nanoTime();

		if (path.equals("/collect"))
			System.gc();
		synchronized (log) {
			log.append(log.length() > 0 ? "," : "")
					.append(String.format("[\"%s\",%d,%d]", path, read, System.nanoTime()));
		}
		return BODY;
	}

	/** Until the end of stdin. @accesses: how many requests the server itself has logged. */
	static void say(int port, java.util.function.IntSupplier accesses) throws java.io.IOException {
		PrintStream out = System.out;

		out.println("{\"port\":" + port + "}");
		while (System.in.read() >= 0) {
			if (System.in.available() > 0)
				continue;
			synchronized (log) {
				out.println("{\"log\":[" + log + "],\"accesses\":" + accesses.getAsInt() + "}");
			}
		}
		System.exit(0);
	}
}
