import java.io.BufferedReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.util.HashMap;
import java.util.Map;

/**
 * What the programs share. In: options as "--name value", then lines "go" on stdin. Out: "ready",
 * and "done" after each round, on stdout; truth lines in JSON, appended to the file --truth.
 */
final class Talk {
	private final Map<String, String> options = new HashMap<>();
	private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
	private boolean said;

	Talk(String[] args) {
		if (args.length % 2 != 0)
			throw new IllegalArgumentException("options are pairs");
		for (int i = 0; i < args.length; i += 2)
			options.put(args[i].substring(2), args[i + 1]);
	}

	String text(String name, String otherwise) {
		return options.containsKey(name) ? options.get(name) : otherwise;
	}

	int number(String name, int otherwise) {
		return options.containsKey(name) ? Integer.parseInt(options.get(name)) : otherwise;
	}

	/** Prints that the program is waiting; true once told to go, false at the end of stdin. */
	boolean go() throws IOException {
		System.out.println(said ? "done" : "ready");
		System.out.flush();
		said = true;
		return "go".equals(input.readLine());
	}

	/** A line of truth: an event and its keys and values; long arrays are written as they are. */
	static String event(String name, Object... pairs) {
		StringBuilder line = new StringBuilder("{\"event\":\"" + name + "\"");
		for (int i = 0; i < pairs.length; i += 2) {
			line.append(",\"").append(pairs[i]).append("\":");
			if (pairs[i + 1] instanceof Number)
				line.append(pairs[i + 1]);
			else
				line.append('"').append(pairs[i + 1]).append('"');
		}
		return line.append("}\n").toString();
	}

	void tell(CharSequence lines) throws IOException {
		String path = text("truth", null);
		if (path == null)
			return;
		try (Writer file = new FileWriter(path, true)) {
			file.append(lines);
		}
	}
}
