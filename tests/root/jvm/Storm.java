import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Classes that come and go: --threads threads define Made0000 --classes times, each time under a
 * new number, run it until it is compiled and collects, and drop it. None is left at a
 * round's end, if the JVM unloads classes. Truth: a "made" for each thread with the numbers it used.
 */
final class Storm {
	private static final int LAST_CALLS = 2;
	private static byte[] template;

	/** A loader of a single class, which is unloaded with it. */
	private static final class Loader extends ClassLoader {
		Class<?> define(int number) {
			String name = String.format("Made%04d", number);
			byte[] code = renumber(template.clone(), String.format("%04d", number));
			return defineClass(name, code, 0, code.length);
		}
	}

	/** Replaces the digits of Made0000, inner0000 and work0000, which leaves all lengths as they are. */
	private static byte[] renumber(byte[] code, String number) {
		byte[] digits = number.getBytes(StandardCharsets.US_ASCII);
		for (int i = 0; i + 4 < code.length; i++) {
			boolean named = code[i] == 'e' || code[i] == 'r' || code[i] == 'k';
			for (int j = 1; j <= 4; j++)
				named &= code[i + j] == '0';
			if (named)
				System.arraycopy(digits, 0, code, i + 1, 4);
		}
		return code;
	}

	private static byte[] read() throws Exception {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (InputStream stream = Storm.class.getResourceAsStream("Made0000.class")) {
			for (int b = stream.read(); b >= 0; b = stream.read())
				bytes.write(b);
		}
		return bytes.toByteArray();
	}

	private static void make(int first, int classes, int rounds) {
		try {
			for (int i = first; i < first + classes; i++) {
				Class<?> made = new Loader().define(i);
				Method work = made.getMethod(String.format("work%04d", i), int.class, int.class,
						int.class);
				work.setAccessible(true);
				for (int j = 0; j < 3; j++)
					work.invoke(null, rounds, 4096, i % 3 == 0 && j == 2 ? 1 : 0);
			}
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int classes = talk.number("classes", 101);
		int rounds = talk.number("rounds", 2000);
		int count = talk.number("threads", 2);
		template = read();
		for (int round = 0; talk.go(); round++) {
			StringBuilder lines = new StringBuilder();
			Thread[] threads = new Thread[count];
			for (int i = 0; i < count; i++) {
				int first = 1 + (round * count + i) * classes;
				threads[i] = new Thread(() -> make(first, classes, rounds), "storm-" + i);
				threads[i].start();
				lines.append(Talk.event("made", "first", first, "count", classes));
			}
			for (Thread thread : threads)
				thread.join();
			for (int i = 0; i < LAST_CALLS; i++) // what the first frees may hold more
				System.gc();
			talk.tell(lines);
		}
	}
}
