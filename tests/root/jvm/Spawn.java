import java.util.ArrayList;
import java.util.List;

/**
 * Starts --children processes one after the other and collects after each: "true", or with --jvm 1
 * this program again in a JVM of its own, which collects --collect times. With --exit N a round ends
 * in System.exit(N). Truth: a "child" each, with its status.
 */
final class Spawn {
	private static List<String> command(Talk talk) {
		List<String> words = new ArrayList<>();
		if (talk.number("jvm", 0) == 0) {
			words.add("true");
			return words;
		}
		words.add(System.getProperty("java.home") + "/bin/java");
		words.add("-XX:+UseSerialGC");
		words.add("-Xmx32m");
		words.add("-cp");
		words.add(System.getProperty("java.class.path"));
		words.add("Spawn");
		words.add("--collect");
		words.add(talk.text("collect", "3"));
		return words;
	}

	private static void collect(int times) {
		for (int i = 0; i < times; i++)
			System.gc(); // mark: spawn-gc
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		if (talk.text("children", null) == null) {
			collect(talk.number("collect", 3));
			System.exit(talk.number("exit", 0));
		}
		while (talk.go()) {
			StringBuilder lines = new StringBuilder();
			for (int i = 0; i < talk.number("children", 1); i++) {
				Process child = new ProcessBuilder(command(talk)).start();
				lines.append(Talk.event("child", "status", child.waitFor()));
				collect(1);
			}
			talk.tell(lines);
			if (talk.text("exit", null) != null)
				System.exit(talk.number("exit", 0));
		}
	}
}
