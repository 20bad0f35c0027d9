import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** The JDK's own HTTP server; a line on stdin makes it say its log: [path, after it was read, before its response]. */
public class Serve {
	static final StringBuilder log = new StringBuilder();

	static synchronized void note(String path, long read) {
		log.append(log.length() > 0 ? "," : "")
				.append(String.format("[\"%s\",%d,%d]", path, read, System.nanoTime()));
	}

	static synchronized String said() {
		return log.toString();
	}

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		byte[] body = new byte[37];

		java.util.Arrays.fill(body, (byte) 'x');
		server.createContext("/", exchange -> {
			long read = System.nanoTime();
			String path = exchange.getRequestURI().getPath();

			if (path.equals("/collect"))
				System.gc();
			note(path, read);
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.setExecutor(Executors.newFixedThreadPool(3));
		server.start();
		System.out.println("{\"port\":" + server.getAddress().getPort() + "}");
		while (System.in.read() >= 0)
			if (System.in.available() == 0)
				System.out.println("{\"log\":[" + said() + "]}");
	}
}
