import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Takes commands from safepoint.py: "find N" and "dump N" make N safepoints as short as possible, "work N" N
 * rounds of allocation under the collector. Answers each with the nanoseconds that it took, in JSON.
 */
final class Storm {
	private static final int CHUNK_BYTES = 4 << 10, LIVE = 4096, ROUND = 20000;
	private static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	private static final byte[][] live = new byte[LIVE][];
	static volatile int sink;

	private static void work(int rounds) {
		for (int round = 0; round < rounds; round++)
			for (int i = 0; i < ROUND; i++) {
				byte[] chunk = new byte[CHUNK_BYTES];
				for (int at = 0; at < chunk.length; at += 64)
					chunk[at] = (byte)(i + at);
				if (i % 8 == 0)
					live[(round * ROUND + i) / 8 % LIVE] = chunk;
				sink += chunk[i % CHUNK_BYTES];
			}
	}

	private static void obey(String what, int count) {
		if (what.equals("work")) {
			work(count);
			return;
		}
		for (int i = 0; i < count; i++)
			if (what.equals("find"))
				threads.findDeadlockedThreads();
			else
				Thread.getAllStackTraces();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		String line;

		System.out.println("\"ready\"");
		while ((line = in.readLine()) != null) {
			String[] words = line.split(" ");
			long start = System.nanoTime();
			obey(words[0], Integer.parseInt(words[1]));
			System.out.println(System.nanoTime() - start);
		}
	}
}
